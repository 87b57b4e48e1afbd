"""The webhooks of the key's owner: what was sent, once more, and the secret that signs them."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from accounts.key_check import with_api_key
from accounts.models import Account, ApiKey
from accounts.rate_limits import spend
from accounts.webhook_secrets import webhook_secret
from queries import deliveries
from queries.api.answers import answer, moment
from queries.api.parameters import CURSOR, LIMIT, cursor, number
from queries.deliveries import AttemptView, DeliveryView
from queries.errors import DeliveryUnknown, TooManyReplays
from queries.schema.wording import quoted

SHOWN, MOST = 50, 100
# Of an account: each has a prover ask a stranger's server, which may take its time, ten times.
REPLAYS_AN_HOUR, HOUR = 100, 3_600


@csrf_exempt
@require_safe
@with_api_key
def webhook_deliveries(request: HttpRequest, key: ApiKey) -> HttpResponse:
    page = deliveries.deliveries_of(
        key.owner,
        before=cursor(request),
        most=number(request, LIMIT, SHOWN, least=1, most=MOST),
    )
    return answer({"deliveries": [_delivery(each) for each in page.deliveries], CURSOR: page.next})


@csrf_exempt
@require_POST
@with_api_key
def replay_webhook(_request: HttpRequest, key: ApiKey, event: str) -> HttpResponse:
    _spend(key.owner)
    # A database refuses some texts that no id is.
    shown = deliveries.replay(key.owner, event) if deliveries.is_event(event) else None
    if shown is None:
        raise DeliveryUnknown(f"None of your batches has a delivery {quoted(event)}.", path="event")
    return answer(_delivery(shown))


@csrf_exempt
@require_safe
@with_api_key
def own_webhook_secret(_request: HttpRequest, key: ApiKey) -> HttpResponse:
    return answer({"secret": webhook_secret(key.owner)})


def _spend(owner: Account) -> None:
    spent = spend(f"replays of {owner.pk}", REPLAYS_AN_HOUR, HOUR)
    if not spent.allowed:
        raise TooManyReplays(
            f"An account has {REPLAYS_AN_HOUR} webhooks an hour sent again, and these are used up. "
            f"There are more in {spent.seconds_left} seconds.",
            headers={"Retry-After": str(spent.seconds_left)},
        )


def _delivery(shown: DeliveryView) -> dict[str, object]:
    return {
        "event": shown.event,
        "batchQueryId": shown.batch,
        "url": shown.url,
        "state": shown.state.value,
        "created": moment(shown.created),
        "delivered": moment(shown.delivered),
        "nextAttempt": moment(shown.next_attempt),
        "attempts": [_attempt(each) for each in shown.attempts],
    }


def _attempt(shown: AttemptView) -> dict[str, object]:
    return {
        "made": moment(shown.made),
        "answered": shown.answered,
        "fault": shown.fault or None,
        "milliseconds": shown.milliseconds,
    }
