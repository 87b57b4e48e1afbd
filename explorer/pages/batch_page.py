"""The page of a batch: its answer, where its time went, what it cost, and its facts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from hashlib import blake2s

from django.utils import timezone

from accounts.wording import datetime_from_unix
from explorer.pages.decoding import DecodedValue, proves_no_account
from explorer.pages.deliveries import (
    DeliveryList,
    DeliverySummary,
    delivery_list,
    summarize_deliveries,
)
from explorer.pages.fact_kinds import decode_fact, fact_picture, requested_events
from explorer.pages.links import PageLinks
from explorer.pages.proof_picture import ProofPicture
from explorer.pages.sentences import Sentence, batch_sentence, field_name
from explorer.pages.snippets import fact_call
from explorer.pages.time_line import (
    Segment,
    Stage,
    batch_segments,
    batch_stages,
    delivery_stage,
    query_segments,
)
from explorer.pages.vouchers import Vouching, read_vouching
from explorer.pages.wait_hints import WaitHint, wait_hint
from queries import reading
from queries.intake.cancel import CANCELLED
from queries.reading import (
    BatchSummary,
    BatchView,
    DeliveryView,
    FactProof,
    FactView,
    Progress,
    QueryView,
    TransactionShare,
    batch_progress,
    batch_summaries,
    feed_of_batch,
    read_deliveries,
    read_fact_proof,
    route_figures,
    transaction_shares,
)
from queries.sources import Registry
from queries.statuses import OPEN_DELIVERIES, BatchStatus, StepName, StepStatus
from queries.webhooks.log import BatchWebhook

ROWS_PER_PAGE = 50
MAX_COLUMNS = 3  # of values; queries with more facts have a row for each
MAX_LISTED_TRANSACTIONS = 10


@dataclass(frozen=True, slots=True)
class Cost:
    """The batch's shares of transactions: paid, or reserved."""

    transactions: tuple[TransactionShare, ...]  # oldest first
    is_free: bool  # the operator pays

    @property
    def gas(self) -> int:
        return sum(share.gas or 0 for share in self.transactions)

    @property
    def paid_fee(self) -> int:
        return sum(share.paid_fee or 0 for share in self.transactions)

    @property
    def deliveries(self) -> "Cost | None":
        """The part that deliveries cost; None if nothing was sent for them."""
        shares = tuple(share for share in self.transactions if share.is_delivery)
        return replace(self, transactions=shares) if shares else None

    @property
    def reserved_fee(self) -> int:
        """The sum for transactions that are not confirmed yet."""
        return sum(share.reserved_fee for share in self.transactions if share.paid_fee is None)

    @property
    def first_transactions(self) -> tuple[TransactionShare, ...]:
        return self.transactions[:MAX_LISTED_TRANSACTIONS]


@dataclass(frozen=True, slots=True)
class TableCell:
    """A fact in the table; without its value before it is proven."""

    name: str  # for people
    slot: str  # in full; empty if it is a field
    fact: FactView | None = None
    value: DecodedValue | None = None


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of facts of one query."""

    query: QueryView
    cells: tuple[TableCell, ...]
    mark: str  # CSS class
    label: str  # what the mark means
    row_span: int  # rows of the query on this page; 0 after its first row
    is_account_absent: bool  # there is proof that the account does not exist
    shows_reason: bool = False  # why its query waits


@dataclass(frozen=True, slots=True)
class History:
    """A fact in several blocks."""

    name: str
    value_count: int  # different ones
    # Lowest and highest if numbers, otherwise of the first and last block.
    start: TableCell
    end: TableCell
    is_number: bool


@dataclass(frozen=True, slots=True)
class TableRange:
    """The part of a batch's facts that the table shows."""

    position: int = 0  # of the first query, or of one on the page if `is_linked`
    index: int = 0  # of the first fact in it
    is_linked: bool = False
    order: str = ""  # of the blocks, ascending or descending; empty: as requested


@dataclass(frozen=True, slots=True)
class ValueTable:
    columns: tuple[TableCell, ...]  # names of facts; empty if each row names its fact
    rows: tuple[TableRow, ...]
    has_several_blocks: bool
    has_several_accounts: bool
    is_proven: bool  # all facts of the batch are
    has_previous_page: bool
    next: str  # cursor of the next page; empty on the last one
    order: str  # as in `TableRange`

    @property
    def can_be_sorted(self) -> bool:
        return self.has_several_blocks and not (self.has_previous_page or self.next)

    @property
    def block_range(self) -> tuple[int, int]:
        """The first and last block."""
        blocks = [row.query.block for row in self.rows if row.query.block is not None]
        return min(blocks), max(blocks)

    @property
    def histories(self) -> tuple[History, ...]:
        """Each fact's history from block to block, if this page has all facts of one account."""
        is_whole = not (self.has_several_accounts or self.has_previous_page or self.next)
        is_one_chain = len({row.query.source for row in self.rows}) == 1
        if not (self.columns and self.has_several_blocks and is_whole and is_one_chain):
            return ()
        return tuple(
            _history(self.columns[index].name, cells)
            for index, cells in enumerate(zip(*(row.cells for row in self.rows), strict=True))
            if all(cell.fact for cell in cells)
        )

    @property
    def first_fact(self) -> FactView | None:
        """The first proven fact, or None."""
        return next((cell.fact for row in self.rows for cell in row.cells if cell.fact), None)


@dataclass(frozen=True)
class BatchState:
    """What a refresh may change. A poll reads it alone, in a few statements."""

    batch: BatchView
    progress: Progress
    shares: tuple[TransactionShare, ...]
    hint: WaitHint | None
    is_owner: bool
    webhook: BatchWebhook | None  # for the owner alone
    deliveries: tuple[DeliveryView, ...]

    @property
    def digest(self) -> str:
        if not self.is_live:  # no page polls it any more
            return self.batch.status
        state = [getattr(self, field.name) for field in fields(BatchState)]  # also of a page
        return blake2s(repr(state).encode(), digest_size=6).hexdigest()

    @property
    def has_ended(self) -> bool:
        return self.batch.ended_at is not None

    @property
    def is_live(self) -> bool:
        """Whether the page polls: until the batch and its deliveries have ended, and until the
        owner's webhook was tried.
        """
        is_delivering = any(delivery.state in OPEN_DELIVERIES for delivery in self.deliveries)
        awaits_webhook = bool(self.webhook and self.webhook.awaits_first_attempt)
        return not self.has_ended or is_delivering or awaits_webhook


@dataclass(frozen=True)
class BatchPage(BatchState):
    sentence: Sentence
    summary: BatchSummary
    registries: tuple[tuple[Registry, Vouching], ...]
    segments: tuple[Segment, ...]
    segments_position: int | None  # of the query that has these; None: of all queries
    delivery_stage: Stage | None
    cost: Cost
    # The least and most wei, of a batch without a transaction; None: not known.
    expected_costs: tuple[int, int] | None
    table: ValueTable
    block_time: datetime | None  # if there is a single block, once it is known
    proof: FactProof | None  # of the first fact, if there is a single query
    picture: ProofPicture | None  # of the proof, if there is a single fact
    delivery_list: DeliveryList
    feed: str  # the id of the feed of which it is a run, or empty

    @property
    def seconds_so_far(self) -> float:
        """Since it was submitted."""
        return (timezone.now() - self.batch.submitted_at).total_seconds()

    @property
    def can_be_cancelled(self) -> bool:
        return self.is_owner and not self.has_ended and not self.cost.transactions

    @property
    def delivery_summary(self) -> DeliverySummary | None:
        """What became of the deliveries of a batch that is DONE."""
        if self.batch.status != BatchStatus.DONE:
            return None
        states = [delivery.state for delivery in self.deliveries]
        return summarize_deliveries(
            states, sum(delivery.is_refused for delivery in self.deliveries)
        )

    @property
    def has_failed_partly(self) -> bool:
        """Whether only some of the queries have failed."""
        return 0 < self.progress.failed_queries < self.summary.query_count

    @property
    def only_fact(self) -> FactView | None:
        """The fact, if the batch asks for one alone."""
        return self.table.first_fact if self.summary.fact_count == 1 else None

    @property
    def read_call(self) -> str:
        """The call that reads the only fact; empty before it is proven."""
        return fact_call(self.only_fact).expression if self.only_fact else ""

    @property
    def has_table(self) -> bool:
        return self.summary.fact_count != 1 or self.summary.query_count > 1

    @property
    def is_account_absent(self) -> bool:
        """Whether the account of the only query is proven not to exist."""
        return self.summary.query_count == 1 and self.table.rows[0].is_account_absent


def read_batch_state(
    batch: BatchView, links: PageLinks, *, is_owner: bool, webhook: BatchWebhook | None
) -> BatchState:
    progress, shares = batch_progress(batch), tuple(transaction_shares([batch.id])[batch.id])
    hint = wait_hint(batch, progress, links, timezone.now())
    deliveries = tuple(read_deliveries([batch.id])[batch.id]) if batch.delivery_count else ()
    return BatchState(batch, progress, shares, hint, is_owner, webhook, deliveries)


def batch_page(state: BatchState, links: PageLinks, table_range: TableRange) -> BatchPage:
    batch, progress = state.batch, state.progress
    summary = batch_summaries([batch.id])[batch.id]
    chain = links.routes.chains.get(batch.destination)
    sources = [summary.first.source]
    if summary.source_count > 1:
        sources = reading.batch_sources(batch)
    routes = (links.registry(source, batch.destination) for source in sources if batch.proves)
    registries = list(filter(None, routes))
    linked_position = table_range.position if table_range.is_linked else None
    if table_range.is_linked:
        table_range = TableRange(_table_start(summary, table_range.position))
    table = _fact_table(batch, summary, progress, table_range, links)
    linked_query = _linked_query(table, linked_position) if summary.query_count > 1 else None
    block_time = proof = picture = registry = None
    if summary.block_count == 1:
        key, block_time = reading.first_query_key_and_time(batch)
        if table.first_fact and summary.query_count == 1:
            registry = links.registry(summary.first.source, batch.destination)
            proof = read_fact_proof(key, table.first_fact, registry)
    if proof and table.first_fact and summary.fact_count == 1:
        value = decode_fact(table.first_fact, links.currency(summary.first.source)).short
        picture = fact_picture(proof, table.first_fact, value, registry)
    awaits_transaction = batch.proves and not (state.has_ended or state.shares)
    vouching = [read_vouching(batch, progress, registry, links, proof) for registry in registries]
    now = timezone.now()
    if linked_query:
        segments = query_segments(batch, linked_query)
    else:
        stages = batch_stages(batch, progress, state.shares, now)
        segments = batch_segments(batch, progress, stages, reading.step_transactions(batch))
    return BatchPage(
        **vars(state),
        sentence=batch_sentence(summary, links),
        summary=summary,
        registries=tuple(zip(registries, vouching, strict=True)),
        segments=tuple(segments),
        segments_position=linked_query.position if linked_query else None,
        delivery_stage=delivery_stage(batch, state.deliveries, now),
        cost=Cost(state.shares, is_free=bool(chain and chain.free)),
        expected_costs=_expected_costs(summary, batch) if awaits_transaction else None,
        table=table,
        block_time=datetime_from_unix(block_time) if block_time else None,
        proof=proof,
        picture=picture,
        delivery_list=delivery_list(batch, state.deliveries, links),
        feed=feed_of_batch(batch.id),
    )


def _expected_costs(summary: BatchSummary, batch: BatchView) -> tuple[int, int] | None:
    route = summary.first.source, batch.destination
    figures = route_figures([route], timezone.now().date())[route]
    return figures.expected_costs(summary.fact_count)


def _linked_query(table: ValueTable, position: int | None) -> QueryView | None:
    queries = (row.query for row in table.rows)
    return next((query for query in queries if query.position == position), None)


def _history(name: str, cells: Sequence[TableCell]) -> History:
    """The history of a column whose `cells` are all proven."""
    facts = [(cell.fact, cell) for cell in cells if cell.fact]
    facts.sort(key=lambda pair: pair[0].block)
    value_count = len({fact.word for fact, _ in facts})
    if is_number := bool(facts[0][0].account) and name in {"balance", "nonce"}:
        facts.sort(key=lambda pair: pair[0].word)
    return History(name, value_count, facts[0][1], facts[-1][1], is_number=is_number)


def _table_start(summary: BatchSummary, position: int) -> int:
    """The position of the first query on the table's page that has this query."""
    if summary.fact_count <= ROWS_PER_PAGE:
        return 0
    return position - position % ROWS_PER_PAGE if _has_columns(summary) else position


def _has_columns(summary: BatchSummary) -> bool:
    """Whether the facts of each query fit in one row."""
    facts = summary.fact_count // summary.query_count
    is_regular = summary.is_uniform and not summary.event_count
    return is_regular and summary.query_count > 1 and facts <= MAX_COLUMNS


def _fact_table(
    batch: BatchView,
    summary: BatchSummary,
    progress: Progress,
    table_range: TableRange,
    links: PageLinks,
) -> ValueTable:
    position, index, limit = table_range.position, table_range.index, ROWS_PER_PAGE
    if not _has_columns(summary):
        # Queries may have thousands of facts, so only those of this page are read.
        limit, count = 1, -index
        for fact_count in reading.query_fact_counts(batch, first=position, limit=ROWS_PER_PAGE):
            count += fact_count
            if count >= ROWS_PER_PAGE:
                break
            limit += 1
    page = reading.query_page(batch, first=position, limit=limit)
    columns, rows, next_cursor = tuple[TableCell, ...](), list[TableRow](), ""
    for query in page.queries:
        cells, is_absent = _cells(query, links)
        mark, label = _mark(query, batch)
        if _has_columns(summary):
            columns = cells
            rows.append(TableRow(query, cells, mark, label, 1, is_absent))
            continue
        start = index if query.position == position else 0
        part = cells[start : start + ROWS_PER_PAGE - len(rows)]
        for number, cell in enumerate(part):
            rows.append(
                TableRow(query, (cell,), mark, label, 0 if number else len(part), is_absent)
            )
        if start + len(part) < len(cells):
            next_cursor = f"{query.position}.{start + len(part)}"
    rows = list(_with_reasons(rows, batch, progress))
    if not next_cursor and page.next is not None:
        next_cursor = str(page.next)
    has_previous_page = (position, index) != (0, 0)
    order = "" if next_cursor or has_previous_page else table_range.order
    if order:
        # The rows of a query stay together, because sorting is stable in both directions.
        is_descending = order == "descending"
        rows.sort(key=lambda row: (row.query.source, row.query.block or 0), reverse=is_descending)
    return ValueTable(
        columns,
        tuple(rows),
        has_several_blocks=summary.block_count > 1 or summary.source_count > 1,
        has_several_accounts=len({query.account or query.name for query in page.queries}) > 1,
        is_proven=batch.status == BatchStatus.DONE
        and not (batch.error or progress.lost_queries or progress.failed_queries),
        has_previous_page=has_previous_page,
        next=next_cursor,
        order=order,
    )


def _with_reasons(
    rows: Iterable[TableRow], batch: BatchView, progress: Progress
) -> Iterator[TableRow]:
    """The rows, of which the first one that waits for a reason shows it. That of the whole batch is
    above the table; a row shows it if others are proven.
    """
    known = set() if progress.ended_queries else {batch.waits_for}
    for row in rows:
        reason = row.query.waits_for
        is_new = bool(reason and row.row_span and reason not in known)
        known.add(reason)
        yield replace(row, shows_reason=is_new)


def _cells(query: QueryView, links: PageLinks) -> tuple[tuple[TableCell, ...], bool]:
    """The facts that the query asks for, except that its block was the last one at a time; and
    whether they prove that there is no such account.
    """
    currency = links.currency(query.source)
    if query.event_request and not query.events:
        return tuple(TableCell(name, "") for name in requested_events(query)), False
    return tuple(
        TableCell(
            field_name(fact.name),
            fact.name if fact.name.startswith("0x") else "",
            fact if fact.word else None,
            decode_fact(fact, currency) if fact.word else None,
        )
        for fact in query.facts
        if not fact.is_time
    ), proves_no_account(query.facts)


NO_BLOCK_LABEL = "waits for its block"  # at a time that is to come, or that a contract will name
RECEIVED_LABEL = "waits with the batch"  # whose queries begin together
STEP_LABELS = {
    StepName.INITIAL_STATE: "waits until its block is final",
    StepName.BLOCKHASH_AVAILABLE: "waits for its block's hash",
    StepName.HEADER_ACCUMULATED: "is being proven",
    StepName.ACCOUNT_ACCUMULATED: "is being confirmed",
}


def _mark(query: QueryView, batch: BatchView) -> tuple[str, str]:
    """The CSS class of the query's mark, and what it means. While the batch is open, only the
    time line shows what is running.
    """
    if any(step.error and step.error.code != CANCELLED for step in query.steps):
        is_lost = batch.status == BatchStatus.DONE
        return "rejected", "removed by a reorganisation" if is_lost else "failed"
    if query.steps[-1].status == StepStatus.COMPLETED:
        return "proven", "proven"
    if batch.status == BatchStatus.DONE:
        return "moving", "is being proven again"
    if batch.ended_at:
        return "waiting", "not proven"
    return "waiting", _wait_label(query, batch)


def _wait_label(query: QueryView, batch: BatchView) -> str:
    step = next(step for step in query.steps if step.status != StepStatus.COMPLETED)
    if step.name is StepName.INITIAL_STATE and query.block is None:
        return NO_BLOCK_LABEL
    if step.name is StepName.INITIAL_STATE and batch.status == BatchStatus.RECEIVED:
        return RECEIVED_LABEL
    return STEP_LABELS[step.name]
