"""A batch is taken in, for whoever asks over the API and for a page that asks for them."""

from accounts.models import ApiKey
from queries import intake
from queries.models import Batch
from queries.routes import Routes
from queries.rules_from_routes import rules_from
from queries.schema.batch_rules import BatchLimits
from queries.schema.batch_schema import read_batch


def submitted(
    key: ApiKey, content: object, idempotency_key: str | None, routes: Routes, limits: BatchLimits
) -> Batch:
    asked = read_batch(content, rules_from(routes, limits))
    return intake.accept(key.owner, asked, idempotency_key, routes)
