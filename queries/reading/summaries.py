"""What batches ask for, short enough for a line of a list."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields

from django.db.models import Case, JSONField, When

from queries.models import Query
from queries.reading.batches import query_view
from queries.reading.view_models import QueryView

_UNUSED_COLUMNS = (
    "slots", "slot_values", "spelling", "events",
    "batch__warnings", "batch__webhook_url", "batch__webhook_headers",
)  # fmt: skip
# Columns that are read if the query has one entry in them.
_SINGLE = {"slots": "slot_count", "slot_values": "slot_count", "events": "event_count"}


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
    event_count: int
    first: QueryView  # without its slots and events, unless it asks for a single one


def batch_summaries(batch_ids: Collection[str]) -> Mapping[str, BatchSummary]:
    """The summaries of these batches, read in one statement."""
    single = {
        f"single_{column}": Case(When(**{count: 1}, then=column), output_field=JSONField())
        for column, count in _SINGLE.items()
    }
    rows = Query.objects.filter(batch__in=batch_ids, position=0).select_related("batch")
    rows = rows.defer(*_UNUSED_COLUMNS).annotate(**single)
    return {row.batch_id: _batch_summary(row) for row in rows}


def _batch_summary(row: Query) -> BatchSummary:
    counts = {
        field.name: getattr(row.batch, field.name)
        for field in fields(BatchSummary)
        if field.name != "first"
    }
    row.slots, row.slot_values = vars(row)["single_slots"] or [], vars(row)["single_slot_values"]
    row.spelling, row.events = None, vars(row)["single_events"] or []
    return BatchSummary(**counts, first=query_view(row, {}, is_done=True))
