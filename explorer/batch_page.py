"""The batch page's parts, each with a mark of what it shows: what has not changed is not sent."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2s

from queries.reading import batches, progress
from queries.reading.progress import BlockProgress, Progress
from queries.reading.views import BatchView, QueryPage, QueryView
from queries.wait_reasons import Reason

ROWS = 50  # of a block, on one page of it
BLOCKS = 50  # of a batch, on one page of it
OPEN_AT_FIRST = 12  # queries, in all blocks together: more are opened on demand
SHOWN_AT_FIRST = 3  # queries: where there are no more, each is open


@dataclass(frozen=True, slots=True)
class BlockPart:
    """One block with its queries, where it is open."""

    progress: BlockProgress
    rows: QueryPage | None
    waits_for: Reason | None  # where the batch as a whole does not say the same
    mark: str

    @property
    def before(self) -> int | None:
        """The place that the rows before these begin with."""
        first = self.rows.queries[0].place if self.rows and self.rows.queries else 0
        return max(first - ROWS, self.progress.first) if first > self.progress.first else None

    @property
    def key(self) -> str:
        return self.progress.key


@dataclass(frozen=True, slots=True)
class BatchParts:
    """All that the page shows of a batch."""

    batch: BatchView
    progress: Progress
    blocks: tuple[BlockPart, ...]
    mark: str  # of what is not in a block
    shown: frozenset[int] | None  # places of queries whose rows are open; None at first
    first_block: int  # which of all blocks the page begins with

    @property
    def next_block(self) -> int | None:
        """Which the next page begins with."""
        following = self.first_block + BLOCKS
        return following if following < len(self.progress.blocks) else None

    @property
    def few(self) -> bool:
        return self.progress.queries <= SHOWN_AT_FIRST

    def shows(self, place: int) -> bool:
        return self.few if self.shown is None else place in self.shown

    @property
    def ended(self) -> bool:
        return self.batch.ended is not None


@dataclass(frozen=True, slots=True)
class QueryAlone:
    """A query on a page of its own."""

    batch: BatchView
    query: QueryView


def alone(batch_id: str, place: int) -> QueryAlone | None:
    batch = batches.batch(batch_id)
    query = batches.query_at(batch, place) if batch else None
    return QueryAlone(batch, query) if batch and query else None


def parts_of(
    batch_id: str,
    opened: Mapping[str, int] | None,
    shown_queries: frozenset[int] | None = None,
    first_block: int = 0,
    wanted: int | None = None,
) -> BatchParts | None:
    """`opened`: the keys of blocks, each with the place it is shown from; None at first.

    `wanted`: the place of a query which is shown open, wherever in the batch it is.
    """
    shown = batches.batch(batch_id)
    if shown is None:
        return None
    whole = progress.progress_of(shown)
    if opened is None:
        opened = dict(_opened_at_first(whole))
    for number, block in enumerate(whole.blocks):
        if wanted is not None and 0 <= wanted - block.first < block.queries:
            first_block = number - number % BLOCKS
            opened = {**opened, block.key: wanted - (wanted - block.first) % ROWS}
            shown_queries = frozenset({wanted})
    on_page = whole.blocks[first_block : first_block + BLOCKS]
    firsts = {block: opened[block.key] for block in on_page if block.key in opened}
    rows = progress.queries_of_blocks(shown, firsts, most=ROWS)
    blocks = tuple(_part(shown, block, rows.get(block.key)) for block in on_page)
    mark = _mark(shown, whole.steps, whole.lost)
    return BatchParts(shown, whole, blocks, mark, shown_queries, first_block)


def _opened_at_first(whole: Progress) -> Iterator[tuple[str, int]]:
    if whole.queries <= OPEN_AT_FIRST:
        yield from ((block.key, block.first) for block in whole.blocks)


def _part(shown: BatchView, block: BlockProgress, rows: QueryPage | None) -> BlockPart:
    waits_for = None if block.waits_for == shown.waits_for else block.waits_for
    return BlockPart(block, rows, waits_for, _mark(block, rows, waits_for, shown.ended))


def _mark(*shown: object) -> str:
    return blake2s(repr(shown).encode(), digest_size=3).hexdigest()
