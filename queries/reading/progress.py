"""How far a batch is as a whole: block for block, step for step."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Count, Max, Min, Q

from queries.models import Query
from queries.reading.batches import OF_A_JOB, reason_of, rows_of, views_of
from queries.reading.view_models import BatchView, QueryPage
from queries.statuses import StepName
from queries.wait_reasons import Reason


@dataclass(frozen=True, slots=True)
class StepCount:
    """How many of some queries have begun a step, and how many have completed it."""

    name: StepName
    begun: int
    completed: int
    whole: int  # of those that have the step at all

    @property
    def mark(self) -> str:
        """How it is shown; a step that none of them has is not."""
        if self.whole and self.completed == self.whole:
            return "proven"
        return "moving" if self.begun else "waiting"

    def __add__(self, other: "StepCount") -> "StepCount":
        return StepCount(
            self.name,
            self.begun + other.begun,
            self.completed + other.completed,
            self.whole + other.whole,
        )


@dataclass(frozen=True, slots=True)
class BlockProgress:
    """The queries of a batch that are of one block."""

    source: int
    block: int | None  # not known before a timestamp is settled
    timestamp: int | None
    first: int  # the place of the first of them
    queries: int
    steps: tuple[StepCount, ...]
    waits_for: Reason | None
    lost: int  # queries that were proven, and whose facts a reorg removed

    @property
    def key(self) -> str:
        """Names the block within the batch, in addresses and on the page."""
        return f"{self.source}-{self.block if self.timestamp is None else f't{self.timestamp}'}"


@dataclass(frozen=True, slots=True)
class Progress:
    """Each block, and all of them together."""

    blocks: tuple[BlockProgress, ...]

    @property
    def queries(self) -> int:
        return sum(each.queries for each in self.blocks)

    @property
    def lost(self) -> int:
        return sum(each.lost for each in self.blocks)

    @property
    def steps(self) -> tuple[StepCount, ...]:
        return tuple(
            reduce(StepCount.__add__, counts)
            for counts in zip(*(each.steps for each in self.blocks), strict=True)
        )


def progress_of(shown: BatchView) -> Progress:
    """In one statement."""
    counts = {column: Count(column) for step in StepName for column in (step.began, step.completed)}
    rows = (
        Query.objects.filter(batch=shown.id)
        .values("source", "block", "timestamp")
        .annotate(
            first=Min("place"),
            queries=Count("pk"),
            of_accounts=Count("pk", filter=Q(header_fields=0)),
            lost=Count("pk", filter=Q(ended=False, values__isnull=False)),
            waits=Max(OF_A_JOB, filter=Q(ended=False)),
            **{f"{column}_count": count for column, count in counts.items()},
        )
        .order_by("first")
    )
    return Progress(tuple(_block(row) for row in rows))


def queries_of_blocks(
    shown: BatchView, firsts: Mapping[BlockProgress, int], *, most: int
) -> Mapping[str, QueryPage]:
    """A page of each block's queries, by block key; `firsts` gives the place where it begins.

    The queries of a block have consecutive places, so all pages are read together.
    """
    ranges = {block: _places(block, first, most) for block, first in firsts.items()}
    chosen = [Q(place__range=(places[0], places[-1])) for places in ranges.values() if places]
    if not chosen:
        return {}
    found = {
        view.place: view for view in views_of(rows_of(shown).filter(reduce(or_, chosen)), shown)
    }
    return {
        block.key: QueryPage(
            tuple(found[place] for place in places if place in found),
            places.stop if places.stop < block.first + block.queries else None,
        )
        for block, places in ranges.items()
        if places
    }


def _places(block: BlockProgress, first: int, most: int) -> range:
    first = max(first, block.first)
    return range(first, min(first + most, block.first + block.queries))


def _block(row: Mapping[str, Any]) -> BlockProgress:
    return BlockProgress(
        row["source"],
        row["block"],
        row["timestamp"],
        row["first"],
        row["queries"],
        tuple(_count(row, step) for step in StepName),
        reason_of(row["waits"]),
        row["lost"],
    )


def _count(row: Mapping[str, Any], step: StepName) -> StepCount:
    last = step is StepName.ACCOUNT_ACCUMULATED
    return StepCount(
        step,
        row[f"{step.began}_count"],
        row[f"{step.completed}_count"],
        row["of_accounts" if last else "queries"],
    )
