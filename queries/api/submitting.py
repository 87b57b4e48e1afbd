"""A batch is taken in, for whoever asks over the API and for a page that asks for them."""

from django.conf import settings

from accounts.errors import Refusal
from accounts.models import ApiKey
from queries import intake
from queries.errors import WEBHOOK_MALFORMED
from queries.models import Batch
from queries.routes import Routes
from queries.schema.batch_rules import BatchLimits, rules_from
from queries.schema.batch_schema import read_batch
from queries.webhooks import is_private


def submitted(
    key: ApiKey, content: object, idempotency_key: str | None, routes: Routes, limits: BatchLimits
) -> Batch:
    asked = read_batch(content, rules_from(routes, limits))
    if asked.webhook and not settings.WEBHOOKS_TO_PRIVATE and is_private(asked.webhook.url):
        raise Refusal(
            WEBHOOK_MALFORMED,
            "webhook.url names this machine or a private network, where no webhook is sent. The "
            "operator can allow it with WEBHOOKS_TO_PRIVATE.",
            path="webhook.url",
        )
    return intake.accept(key.owner, asked, idempotency_key, routes)
