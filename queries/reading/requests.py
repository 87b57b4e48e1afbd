"""What a stored batch asked for, to edit it and submit it again."""

from dataclasses import dataclass
from typing import Any

from accounts.models import Account
from queries.facts import account_fields, header_names
from queries.ids import is_ulid
from queries.models import Batch, Query

_COLUMNS = ("source", "block", "timestamp", "account", "name", "props", "header_fields", "slots")


@dataclass(frozen=True, slots=True)
class StoredRequest:
    content: dict[str, Any]  # the JSON of a request, as it named things, without headers
    has_webhook_headers: bool


def stored_request(owner: Account, batch_id: str) -> StoredRequest | None:
    """The request of one of the account's own batches."""
    rows = Batch.objects.filter(owner=owner, pk=batch_id) if is_ulid(batch_id) else []
    for batch in rows:
        data: dict[str, Any] = {}
        for query in Query.objects.filter(batch=batch).order_by("position").only(*_COLUMNS):
            _add(query, data)
        content = {
            "destinationChainId": str(batch.destination),
            "fee": str(int(batch.fee, 16)),
            "data": data,
        }
        if batch.webhook_url:
            content["webhook"] = {"url": batch.webhook_url}
        return StoredRequest(content, bool(batch.webhook_headers))
    return None


def _add(query: Query, data: dict[str, Any]) -> None:
    """Add one account of a block, or fields of its header."""
    is_block = query.timestamp is None
    selector = f"block:{query.block}" if is_block else f"timestamp:{query.timestamp}"
    block = data.setdefault(str(query.source), {}).setdefault(selector, {})
    if query.header_fields:
        block["header"] = header_names(query.header_fields)
        return
    asked = {
        "props": [prop.name for prop in account_fields(query.props)],
        "slots": [hex(int(slot, 16)) for slot in query.slots],
    }
    entry = {name: values for name, values in asked.items() if values}
    block.setdefault("accounts", {})[query.name or query.account] = entry
