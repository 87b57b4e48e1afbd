"""What batches asked for, as their requests spelled it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from accounts.models import Account
from queries.models import Batch
from queries.reading.batches import batch_view, query_page
from queries.reading.view_models import QueryView


@dataclass(frozen=True, slots=True)
class StoredRequest:
    content: dict[str, Any]  # the JSON of a request, with chains by their ids, without headers
    has_webhook_headers: bool


def stored_request(owner: Account, batch_id: str) -> StoredRequest | None:
    """The request of one of the account's own batches, to edit it and submit it again."""
    view = batch_view(batch_id)
    batch = Batch.objects.filter(owner=owner, pk=batch_id).first() if view else None
    if view is None or batch is None:
        return None
    queries = query_page(view, first=0, limit=batch.query_count).queries
    data = requested_data(replace(query, chain_key=str(query.source)) for query in queries)
    content = {
        "destinationChainId": str(view.destination),
        "fee": str(view.fee),
        "data": _without_empty_members(data),
    }
    if batch.webhook_url:
        content["webhook"] = {"url": batch.webhook_url}
    return StoredRequest(content, bool(batch.webhook_headers))


def _without_empty_members(content: Any) -> Any:
    if not isinstance(content, dict):
        return content
    members = ((name, _without_empty_members(member)) for name, member in content.items())
    return {name: member for name, member in members if member}


def requested_data(queries: Iterable[QueryView]) -> dict[str, Any]:
    """The `data` of a request for these queries."""
    data: dict[str, Any] = {}
    for query in queries:
        block = data.setdefault(query.chain_key, {}).setdefault(query.selector, {"accounts": {}})
        if query.header:
            block["header"] = list(query.header)
        block |= query.event_request
        props = [prop.name for prop in query.props]
        for key, slots in query.account_keys.items():
            block["accounts"][key] = {"props": props, "slots": list(slots)}
    return data
