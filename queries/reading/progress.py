"""The progress of a batch by block and step."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, Self

from django.db.models import Count, Max, Min, Q

from queries.models import Query
from queries.reading.batches import query_rows, query_views
from queries.reading.view_models import BatchView, QueryPage
from queries.reading.waits import JOB_REASON, parse_reason
from queries.statuses import StepName
from queries.wait_reasons import Reason


@dataclass(frozen=True, slots=True)
class StepCounts:
    """How many queries have begun a step, and how many have completed it."""

    name: StepName
    begun: int
    completed: int
    total: int  # queries that have the step

    @property
    def mark(self) -> str:
        """CSS class; steps without queries are hidden."""
        if self.total and self.completed == self.total:
            return "proven"
        return "moving" if self.begun else "waiting"

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.name,
            self.begun + other.begun,
            self.completed + other.completed,
            self.total + other.total,
        )


@dataclass(frozen=True, slots=True)
class BlockProgress:
    source: int
    block: int | None  # None before a timestamp is resolved
    timestamp: int | None
    first_position: int
    query_count: int
    steps: tuple[StepCounts, ...]
    waits_for: Reason | None
    lost_queries: int  # whose facts a reorg removed; they are proven again
    failed_queries: int

    @property
    def key(self) -> str:
        """Identifies the block within the batch, in URLs and on the page."""
        return f"{self.source}-{self.block if self.timestamp is None else f't{self.timestamp}'}"


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of all blocks, and their sums."""

    blocks: tuple[BlockProgress, ...]

    @property
    def query_count(self) -> int:
        return sum(block.query_count for block in self.blocks)

    @property
    def lost_queries(self) -> int:
        return sum(block.lost_queries for block in self.blocks)

    @property
    def failed_queries(self) -> int:
        return sum(block.failed_queries for block in self.blocks)

    @property
    def steps(self) -> tuple[StepCounts, ...]:
        return tuple(
            reduce(StepCounts.__add__, counts)
            for counts in zip(*(block.steps for block in self.blocks), strict=True)
        )


def batch_progress(batch: BatchView) -> Progress:
    """Read the progress of all blocks in one statement."""
    counts = {
        column: Count(column)
        for step in StepName
        for column in (step.began_column, step.completed_column)
    }
    rows = (
        Query.objects.filter(batch=batch.id)
        .values("source", "block", "timestamp")
        .annotate(
            first=Min("position"),
            queries=Count("pk"),
            account_queries=Count("pk", filter=Q(header_fields=0)),
            lost=Count("pk", filter=Q(has_ended=False, values__isnull=False)),
            failed_count=Count("pk", filter=Q(failed=True)),
            waits=Max(JOB_REASON, filter=Q(has_ended=False)),
            **{f"{column}_count": count for column, count in counts.items()},
        )
        .order_by("first")
    )
    return Progress(tuple(map(_block_progress, rows)))


def block_query_pages(
    batch: BatchView, first_positions: Mapping[BlockProgress, int], *, limit: int
) -> Mapping[str, QueryPage]:
    """A page of each block's queries, by block key; `first_positions` says where each begins.

    The queries of a block have consecutive positions, so all pages are read together.
    """
    ranges = {block: _positions(block, first, limit) for block, first in first_positions.items()}
    conditions = [Q(position__range=(span[0], span[-1])) for span in ranges.values() if span]
    if not conditions:
        return {}
    rows = query_rows(batch).filter(reduce(or_, conditions))
    queries = {query.position: query for query in query_views(rows, batch)}
    return {
        block.key: QueryPage(
            tuple(queries[position] for position in positions if position in queries),
            positions.stop if positions.stop < block.first_position + block.query_count else None,
        )
        for block, positions in ranges.items()
        if positions
    }


def _positions(block: BlockProgress, first: int, limit: int) -> range:
    first = max(first, block.first_position)
    return range(first, min(first + limit, block.first_position + block.query_count))


def _block_progress(row: Mapping[str, Any]) -> BlockProgress:
    return BlockProgress(
        row["source"],
        row["block"],
        row["timestamp"],
        row["first"],
        row["queries"],
        tuple(_step_progress(row, step) for step in StepName),
        parse_reason(row["waits"]),
        row["lost"],
        row["failed_count"],
    )


def _step_progress(row: Mapping[str, Any], step: StepName) -> StepCounts:
    queries = "account_queries" if step is StepName.ACCOUNT_ACCUMULATED else "queries"
    return StepCounts(
        step, row[f"{step.began_column}_count"], row[f"{step.completed_column}_count"], row[queries]
    )
