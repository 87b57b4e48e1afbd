"""Queries as one line each, in the lists of a block, an account or a transaction."""

from dataclasses import dataclass

from queries.asked_fields import account_fields, header_fields
from queries.fact_names import shown_values
from queries.models import Query
from queries.reading.views import ValueView
from queries.statuses import StepName

COLUMNS = (
    "batch_id", "place", "source", "block", "account", "name", "props", "slots", "header_fields",
    "values", "ended", *(step.completed for step in StepName),
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
    asked: tuple[str, ...]  # fields
    slots: int
    values: tuple[ValueView, ...]  # once they are read back
    ended: bool

    @property
    def status(self) -> str:
        """In the words of a step's status."""
        if self.values:
            return "COMPLETED"
        return "ended unproven" if self.ended else "IN_PROGRESS"

    def word(self, name: str) -> int | None:
        """A proven value as a number."""
        found = next((each.word for each in self.values if each.name == name), None)
        return None if found is None else int(found, 16)


def line_of(row: Query) -> QueryLine:
    fields = (*account_fields(row.props), *header_fields(row.header_fields))
    return QueryLine(
        batch=row.batch_id,
        place=row.place,
        source=row.source,
        destination=row.job.destination if row.job else None,
        block=row.block,
        account=row.account,
        name=row.name,
        asked=tuple(each.name for each in fields),
        slots=len(row.slots),
        values=tuple(ValueView(name, word) for name, word in shown_values(row.values).items()),
        ended=row.ended,
    )
