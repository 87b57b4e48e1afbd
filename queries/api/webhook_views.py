"""The webhooks of the key's owner: what was sent, once more, and the secret that signs them."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from accounts.errors import Refusal
from accounts.key_check import with_api_key
from accounts.models import ApiKey
from accounts.webhook_secrets import webhook_secret
from queries.api.answers import Deliveries, WebhookSecret, answer, delivery
from queries.api.parameters import LIMIT, cursor, number
from queries.errors import DELIVERY_UNKNOWN
from queries.reading.deliveries import deliveries_of
from queries.schema.wording import quoted
from queries.webhooks import replay

SHOWN, MOST = 50, 100


@csrf_exempt
@require_safe
@with_api_key
def webhook_deliveries(request: HttpRequest, key: ApiKey) -> HttpResponse:
    page = deliveries_of(
        key.owner,
        before=cursor(request),
        most=number(request, LIMIT, SHOWN, least=1, most=MOST),
    )
    return answer(
        Deliveries(deliveries=[delivery(each) for each in page.deliveries], cursor=page.next)
    )


@csrf_exempt
@require_POST
@with_api_key
def replay_webhook(_request: HttpRequest, key: ApiKey, event: str) -> HttpResponse:
    shown = replay(key.owner, event)
    if shown is None:
        raise Refusal(
            DELIVERY_UNKNOWN, f"None of your batches has a delivery {quoted(event)}.", path="event"
        )
    return answer(delivery(shown))


@csrf_exempt
@require_safe
@with_api_key
def own_webhook_secret(_request: HttpRequest, key: ApiKey) -> HttpResponse:
    return answer(WebhookSecret(secret=webhook_secret(key.owner)))
