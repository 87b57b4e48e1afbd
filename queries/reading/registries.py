"""What is on record of chains and of the registries between them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from queries.models import BlockJob, Head, RouteRecord
from queries.reading.slices import Cursor, Slice, slice_of

# Rows are counted so far and no further: beyond it a page says "more than".
MOST_COUNTED = 10_000


@dataclass(frozen=True, slots=True)
class HeadView:
    """The last head of a chain that a worker saw."""

    number: int
    timestamp: int
    final: int
    seen: datetime


@dataclass(frozen=True, slots=True)
class RecordView:
    """How much a route has proven."""

    facts: int
    blocks: int
    more_blocks: bool  # than were counted


@dataclass(frozen=True, slots=True)
class JobLine:
    """A block that was asked for, as a registry's list shows it."""

    source: int
    number: int
    block_hash: str  # empty before it is final, and where nothing of it was proven
    is_open: bool  # somebody waits for a fact of it


def heads(chains: Iterable[int]) -> Mapping[int, HeadView]:
    rows = Head.objects.in_bulk(set(chains))
    return {
        chain: HeadView(row.number, row.timestamp, row.final_number, row.recorded)
        for chain, row in rows.items()
    }


def record_of(source: int, destination: int) -> RecordView:
    """In two statements; of blocks of which nothing is proven no hash is kept."""
    facts = RouteRecord.objects.filter(source=source, destination=destination)
    rows = BlockJob.objects.filter(source=source, destination=destination).exclude(block_hash="")
    blocks = rows.order_by("-block")[: MOST_COUNTED + 1].count()
    return RecordView(
        facts=facts.values_list("facts", flat=True).first() or 0,
        blocks=min(blocks, MOST_COUNTED),
        more_blocks=blocks > MOST_COUNTED,
    )


def facts_by_route() -> Mapping[tuple[int, int], int]:
    rows = RouteRecord.objects.values_list("source", "destination", "facts")
    return {(source, destination): facts for source, destination, facts in rows}


def blocks_of_registry(
    source: int, destination: int, cursor: Cursor | None, most: int
) -> Slice[JobLine]:
    rows = BlockJob.objects.filter(source=source, destination=destination)
    return slice_of(
        rows.only("source", "block", "block_hash", "look_again"), ("block",), cursor, most, _line
    )


def _line(row: BlockJob) -> JobLine:
    block_hash = f"0x{row.block_hash}" if row.block_hash else ""
    return JobLine(row.source, row.block, block_hash, row.look_again is not None)
