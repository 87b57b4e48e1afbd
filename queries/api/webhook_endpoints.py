"""The endpoints for whoever gets webhooks."""

from queries import errors
from queries.api import webhook_views
from queries.api.endpoint import ID_PATTERN, OF_THE_KEY, Endpoint, Link, Parameter, pages
from queries.reading.deliveries import ATTEMPTS_SHOWN
from queries.webhooks import REPLAYS_AN_HOUR

OF_REPLAYING = (errors.DELIVERY_UNKNOWN, errors.TOO_MANY_REPLAYS)

WEBHOOK_ENDPOINTS = (
    Endpoint(
        "GET",
        "/webhook-deliveries",
        "webhookDeliveries",
        "The webhooks of your batches, newest first, each with its last "
        f"{ATTEMPTS_SHOWN} attempts.",
        "Deliveries",
        pages(webhook_views.SHOWN, webhook_views.MOST),
        refusals=(*OF_THE_KEY, errors.PARAMETER_MALFORMED),
        links=(Link("replayWebhook", "event", "/deliveries/0/event"),),
    ),
    Endpoint(
        "POST",
        "/webhook-deliveries/{event}/replay",
        "replayWebhook",
        "Send one of your webhooks again, at once; one still to be sent is brought forward. "
        f"{REPLAYS_AN_HOUR} an hour are yours.",
        "Delivery",
        (
            Parameter(
                "event",
                "The event of a delivery; in the address.",
                {"type": "string", "pattern": ID_PATTERN},
                place="path",
                required=True,
            ),
        ),
        refusals=(*OF_THE_KEY, *OF_REPLAYING),
        links=(Link("batchQueryStatus", "batchQueryId", "/batchQueryId"),),
    ),
    Endpoint(
        "GET",
        "/webhook-secret",
        "webhookSecret",
        "The secret that signs your webhooks.",
        "WebhookSecret",
        refusals=OF_THE_KEY,
    ),
)
