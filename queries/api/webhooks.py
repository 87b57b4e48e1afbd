"""Webhooks of the key's owner: deliveries, replay, the secret, and their headers."""

from django.http import HttpRequest, HttpResponse

from accounts.models import ApiKey
from accounts.shared.errors import Refusal
from accounts.shared.wording import quoted
from queries.api.answers import Deliveries, Delivery, WebhookSecret, answer
from queries.api.request_parts import LIMIT, cursor, number
from queries.refusals import DELIVERY_UNKNOWN
from queries.webhooks import payload
from queries.webhooks.deliver import PAUSES, replay
from queries.webhooks.log import deliveries_of
from queries.webhooks.payload import ID_HEADER, SIGNATURE_HEADER, TIME_HEADER

SHOWN, MOST = 50, 100
SENT_HEADERS = {
    ID_HEADER: "The event's id, the same at each attempt: compare it to ignore repetitions.",
    TIME_HEADER: "The Unix seconds of this attempt.",
    SIGNATURE_HEADER: (
        "v1, and the HMAC-SHA256 in base64 of id, timestamp and body with full stops between, "
        "under the secret that GET /webhook-secret answers. After the server's key has changed, "
        "signatures under the former secrets follow, separated by spaces."
    ),
}


def webhook_deliveries(request: HttpRequest, key: ApiKey) -> HttpResponse:
    page = deliveries_of(
        key.owner, before=cursor(request), most=number(request, LIMIT, SHOWN, least=1, most=MOST)
    )
    deliveries = [Delivery.model_validate(each) for each in page.rows]
    return answer(Deliveries(deliveries=deliveries, cursor=page.older or None))


def replay_webhook(_request: HttpRequest, key: ApiKey, event: str) -> HttpResponse:
    shown = replay(key.owner, event)
    if shown is None:
        raise Refusal(
            DELIVERY_UNKNOWN, f"You have no webhook delivery {quoted(event)}.", path="event"
        )
    return answer(Delivery.model_validate(shown))


def webhook_secret(_request: HttpRequest, key: ApiKey) -> HttpResponse:
    return answer(WebhookSecret(secret=payload.webhook_secret(key.owner)))


def pauses() -> list[str]:
    """The pause after each failed attempt, as people say it."""
    intervals = []
    for pause in PAUSES:
        seconds = int(pause.total_seconds())
        for unit, size in (("h", 3_600), ("min", 60), ("s", 1)):
            if seconds % size == 0:
                intervals.append(f"{seconds // size} {unit}")
                break
    return intervals
