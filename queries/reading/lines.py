"""Queries as one line each, in the lists of a block, an account or a transaction."""

from dataclasses import dataclass

from django.db.models import Case, JSONField, QuerySet, When

from queries.fact_names import shown_values
from queries.models import Query
from queries.reading.slices import MOST_OF_NARROW
from queries.reading.views import ValueView

COLUMNS = (
    "batch_id", "place", "source", "block", "account", "name", "slot_count", "values", "ended",
    "job__destination",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class QueryLine:
    """What was asked, for which batch, and what was proven of it."""

    batch: str
    place: int
    source: int
    destination: int | None  # not known before the batch is settled
    block: int | None
    account: str
    name: str
    proven: bool  # and read back
    values: tuple[ValueView, ...]
    slots_apart: int  # asked for too, and too many for a list: their values are left out
    ended: bool


def with_lines(rows: QuerySet[Query]) -> QuerySet[Query]:
    """With what `line_of` takes: the database reads nothing of a wide query's slots."""
    narrow = When(slot_count__lte=MOST_OF_NARROW, then="slot_values")
    few = Case(narrow, output_field=JSONField())
    return rows.select_related("job").only(*COLUMNS).annotate(few_slot_values=few)


def line_of(row: Query) -> QueryLine:
    words = shown_values({**(row.values or {}), **(vars(row)["few_slot_values"] or {})})
    return QueryLine(
        batch=row.batch_id,
        place=row.place,
        source=row.source,
        destination=row.job.destination if row.job else None,
        block=row.block,
        account=row.account,
        name=row.name,
        proven=row.values is not None,
        values=tuple(ValueView(name, word) for name, word in words.items()),
        slots_apart=row.slot_count if row.slot_count > MOST_OF_NARROW else 0,
        ended=row.ended,
    )
