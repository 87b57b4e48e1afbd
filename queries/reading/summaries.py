"""What batches ask for, short enough for a line of a list."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db.models import Case, JSONField, When

from queries.facts import account_fields, display_values, header_names
from queries.models import Query
from queries.proving.witnesses import AccountField
from queries.reading.view_models import ValueView

_COUNTS = (
    "query_count", "block_count", "source_count", "account_count", "fact_count",
    "header_field_count", "is_uniform",
)  # fmt: skip
_COLUMNS = (
    "source", "block", "timestamp", "account", "name", "props", "slot_count", "header_fields",
    "values",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class QuerySummary:
    """A query without its slots, unless it asks for a single one."""

    source: int
    block: int | None  # None before a timestamp is resolved
    timestamp: int | None
    account: str  # empty for header fields, and before a name is resolved
    name: str
    props: tuple[AccountField, ...]
    slot_count: int
    slot: str  # if it is the only one
    header: tuple[str, ...]  # field names
    value: ValueView | None  # if it is the only one, and proven


@dataclass(frozen=True, slots=True)
class BatchSummary:
    """What a batch asks for, in counts, and its first query."""

    query_count: int
    block_count: int
    source_count: int
    account_count: int
    fact_count: int
    header_field_count: int
    is_uniform: bool  # all its queries ask for the same fields and slots
    first: QuerySummary


def batch_summaries(batch_ids: Collection[str]) -> Mapping[str, BatchSummary]:
    """The summaries of these batches, read in one statement."""
    single = {
        name: Case(When(slot_count=1, then=column), output_field=JSONField())
        for name, column in {"single_slots": "slots", "single_slot_values": "slot_values"}.items()
    }
    rows = Query.objects.filter(batch__in=batch_ids, position=0).select_related("batch")
    rows = rows.only(*_COLUMNS, *(f"batch__{column}" for column in _COUNTS)).annotate(**single)
    return {row.batch_id: _batch_summary(row) for row in rows}


def _batch_summary(row: Query) -> BatchSummary:
    counts = {column: getattr(row.batch, column) for column in _COUNTS}
    return BatchSummary(**counts, first=_query_summary(row))


def _query_summary(row: Query) -> QuerySummary:
    slots, slot_values = vars(row)["single_slots"], vars(row)["single_slot_values"]
    words = display_values({**(row.values or {}), **(slot_values or {})})
    return QuerySummary(
        source=row.source,
        block=row.block,
        timestamp=row.timestamp,
        account=row.account,
        name=row.name,
        props=account_fields(row.props),
        slot_count=row.slot_count,
        slot=f"0x{slots[0]}" if slots else "",
        header=header_names(row.header_fields),
        value=ValueView(*next(iter(words.items()))) if len(words) == 1 else None,
    )
