"""Webhooks of the key's owner: deliveries, replay, the secret, and what OpenAPI says of them."""

from django.http import HttpRequest, HttpResponse

from accounts.errors import Refusal
from accounts.models import ApiKey
from queries import webhooks
from queries.api.answers import Deliveries, Delivery, WebhookSecret, answer
from queries.api.request_parts import LIMIT, cursor, number
from queries.errors import DELIVERY_UNKNOWN
from queries.reading.deliveries import deliveries_of
from queries.schema.json_schema import Schema
from queries.schema.wording import quoted
from queries.webhooks import (
    ID_HEADER,
    MOST_FACTS,
    PAUSES,
    SIGNATURE_HEADER,
    TAKEN,
    TIME_HEADER,
    replay,
)

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
    deliveries = [Delivery.model_validate(each) for each in page.deliveries]
    return answer(Deliveries(deliveries=deliveries, cursor=page.next))


def replay_webhook(_request: HttpRequest, key: ApiKey, event: str) -> HttpResponse:
    shown = replay(key.owner, event)
    if shown is None:
        raise Refusal(
            DELIVERY_UNKNOWN, f"You have no webhook delivery {quoted(event)}.", path="event"
        )
    return answer(Delivery.model_validate(shown))


def webhook_secret(_request: HttpRequest, key: ApiKey) -> HttpResponse:
    return answer(WebhookSecret(secret=webhooks.webhook_secret(key.owner)))


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


def webhook_event() -> Schema:
    """What a webhook brings, for OpenAPI."""
    return {
        "batchEnded": {
            "post": {
                "operationId": "batchEnded",
                "summary": "A batch is DONE or REJECTED: sent to the webhook that it came with.",
                "description": (
                    f"Any status from {TAKEN.start} to {TAKEN.stop - 1} accepts it. Otherwise it "
                    f"is sent again after {', '.join(pauses())}; then it is given up. Redirects "
                    "are not followed. "
                    f"It lists at most {MOST_FACTS:,} queries; where a batch has more, its "
                    "status lists those from nextQuery on."
                ),
                "parameters": [
                    {
                        "name": name,
                        "in": "header",
                        "required": True,
                        "description": meaning,
                        "schema": {"type": "string"},
                    }
                    for name, meaning in SENT_HEADERS.items()
                ],
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {"schema": {"$ref": "#/components/schemas/Event"}}
                    },
                },
                "responses": {"2XX": {"description": "It is accepted."}},
            }
        }
    }
