"""Everybody's batches, newest first. Whose they are is not told."""

from dataclasses import dataclass
from datetime import datetime

from queries.models import Batch
from queries.reading.slices import Cursor, Slice, slice_of
from queries.statuses import BatchStatus

STATUSES = tuple(BatchStatus.values)
_COLUMNS = (
    "id", "status", "destination", "fee", "spent", "submitted", "ended", "asked_queries",
    "asked_blocks",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ListedBatch:
    """One line of the list."""

    id: str
    status: BatchStatus
    destination: int
    queries: int
    blocks: int
    fee: int
    spent: int
    submitted: datetime
    ended: datetime | None


def batches(
    *, status: str, destination: int | None, cursor: Cursor | None, most: int
) -> Slice[ListedBatch]:
    """Those of a status and to a chain, or all; each way has its index."""
    rows = Batch.objects.only(*_COLUMNS)
    if status:
        rows = rows.filter(status=status)
    if destination is not None:
        rows = rows.filter(destination=destination)
    return slice_of(rows, ("id",), cursor, most, _listed)


def _listed(row: Batch) -> ListedBatch:
    return ListedBatch(
        row.id,
        BatchStatus(row.status),
        row.destination,
        row.asked_queries,
        row.asked_blocks,
        int(row.fee, 16),
        int(row.spent, 16),
        row.submitted,
        row.ended,
    )
