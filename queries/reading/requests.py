"""What a stored batch asked for, to edit it and submit it again."""

from dataclasses import dataclass

from accounts.models import Account
from queries.facts import account_fields, header_names
from queries.ids import is_ulid
from queries.models import Batch, Query


@dataclass(frozen=True, slots=True)
class StoredQuery:
    """One account of a block, or fields of its header, as the request named them."""

    source: int
    selector: str  # block:N or timestamp:N
    account: str  # an address or a name; empty for header fields
    props: tuple[str, ...]
    slots: tuple[str, ...]
    header: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoredRequest:
    destination: int
    fee: int
    webhook_url: str
    has_webhook_headers: bool
    queries: tuple[StoredQuery, ...]  # those of a block in sequence, its header fields first


_COLUMNS = ("source", "block", "timestamp", "account", "name", "props", "header_fields", "slots")


def stored_request(owner: Account, batch_id: str) -> StoredRequest | None:
    """The request of one of the account's own batches."""
    rows = Batch.objects.filter(owner=owner, pk=batch_id) if is_ulid(batch_id) else []
    for batch in rows:
        queries = Query.objects.filter(batch=batch).order_by("position").only(*_COLUMNS)
        return StoredRequest(
            destination=batch.destination,
            fee=int(batch.fee, 16),
            webhook_url=batch.webhook_url,
            has_webhook_headers=bool(batch.webhook_headers),
            queries=tuple(map(_stored_query, queries)),
        )
    return None


def _stored_query(row: Query) -> StoredQuery:
    return StoredQuery(
        source=row.source,
        selector=f"block:{row.block}" if row.timestamp is None else f"timestamp:{row.timestamp}",
        account=row.name or row.account,
        props=tuple(prop.name for prop in account_fields(row.props)),
        slots=tuple(hex(int(slot, 16)) for slot in row.slots),
        header=header_names(row.header_fields),
    )
