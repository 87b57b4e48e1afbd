"""Batches and their queries, with their progress and what they wait for.

The batch's row or one of its jobs has the reason for waiting. If no prover has claimed the batch,
or none has polled a chain recently, it waits for a prover.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from django.db.models import Case, Exists, OuterRef, Q, QuerySet, When

from accounts.models import Account
from queries.database import bulk_sql
from queries.facts import account_fields, fact_count, header_names
from queries.ids import is_ulid
from queries.models import IS_BLOCK_QUERY, Batch, Query, SentTransaction
from queries.proving import AccountField, decode_header
from queries.reading.facts import FactView, query_facts, read_words
from queries.reading.pagination import Cursor, Page, past_cursor, read_page
from queries.reading.service_status import late_batches
from queries.reading.waits import WAIT_ANNOTATIONS, WAIT_COLUMNS, WAIT_EXPRESSIONS, wait_reason
from queries.selectors import selector_of
from queries.statuses import BatchStatus, StepName, StepStatus
from queries.wait_reasons import Reason

MAX_SEARCHED = 5_000  # batches that one page of a list without an index looks at
MAX_COUNTED = 1_000


@dataclass(frozen=True, slots=True)
class ErrorView:
    """Why a batch was rejected, or why a DONE batch lost facts."""

    code: str
    sentence: str
    step: str  # empty if no step failed
    retryable: bool


@dataclass(frozen=True, slots=True)
class BatchView:
    """A batch without its queries."""

    id: str
    status: BatchStatus
    destination: int
    fee: int  # wei, as are all amounts
    spent: int
    submitted_at: datetime
    not_final_since: datetime | None  # when a block of it was first found not final
    ended_at: datetime | None
    waits_for: Reason | None
    error: ErrorView | None
    delivery_count: int
    proves: bool  # otherwise its facts are only delivered
    source: int | None  # None if there are several
    has_accounts: bool  # otherwise it asks for header fields and contents of blocks alone


@dataclass(frozen=True, slots=True)
class StepView:
    """One step of a query; `status` is None before it begins."""

    name: StepName
    status: StepStatus | None
    began_at: datetime | None
    completed_at: datetime | None
    transaction_hash: str  # empty if there is none yet
    transaction_block: int | None  # once it is mined
    gas_used: int | None
    hops: int  # of the transaction
    error: ErrorView | None  # why it was not completed


@dataclass(frozen=True, slots=True)
class QueryView:
    """A query for an account at a block, or for the block's header fields, time and contents."""

    position: int
    source: int
    block: int | None  # None before a timestamp is resolved
    timestamp: int | None
    account: str  # empty for queries of the block, and before a name is resolved
    name: str  # the ENS name; empty if the request has an address
    props: tuple[AccountField, ...]
    slots: tuple[str, ...]
    slot_count: int
    header: tuple[str, ...]  # field names
    event_request: Mapping[str, Sequence[Any]]  # by member of the request's block
    event_count: int
    facts: tuple[FactView, ...]  # that it asks for; with words once they are proven
    steps: tuple[StepView, ...]
    waits_for: Reason | None
    registry: str  # of its newest transaction; empty without one
    chain_key: str  # the source's key in the request
    # The account's keys in the request, each with its slots as spelled there.
    account_keys: Mapping[str, Sequence[str]]

    @property
    def values(self) -> Mapping[str, str]:
        """Once they are proven: words in the registry, by name."""
        return {fact.name: fact.word for fact in self.facts if fact.word and not fact.is_time}

    @property
    def block_at_time(self) -> FactView | None:
        """The fact that its block was the last one at the time that it asks for."""
        return next((fact for fact in self.facts if fact.is_time and fact.word), None)

    @property
    def events(self) -> tuple[Mapping[str, Any], ...]:
        """Of the pinned block; each with its name, word and content."""
        return tuple(fact.details for fact in self.facts if fact.event)

    @property
    def selector(self) -> str:
        return selector_of(self.block, self.timestamp)

    @property
    def proof_transaction_hash(self) -> str:
        """The hash of the transaction that proved it, or empty."""
        return self.steps[-1].transaction_hash or self.steps[-2].transaction_hash


class QueryProgress(NamedTuple):
    """Whether a query has failed, and when its last step was completed."""

    position: int
    is_account_query: bool
    has_failed: bool
    completed_at: datetime | None


@dataclass(frozen=True, slots=True)
class QueryPage:
    """A page of a batch's queries, in their order."""

    queries: tuple[QueryView, ...]
    next: int | None  # the first position of the next page


QueryRow = Any  # a `Query`, or a named tuple of `_QUERY_COLUMNS`

_BATCH_COLUMNS = (
    "id", "status", "destination", "fee", "spent", "submitted_at", "not_final_since", "ended_at",
    "delivery_count", "proves", "source", "account_count", "error_code", "error_sentence",
    "error_step", "error_retryable",
    *WAIT_COLUMNS,
)  # fmt: skip

# Columns with the transaction of a step
_STEP_TRANSACTIONS = {
    StepName.BLOCKHASH_AVAILABLE: "blockhash_transaction_id",
    StepName.HEADER_ACCUMULATED: "header_transaction_id",
    StepName.ACCOUNT_ACCUMULATED: "account_transaction_id",
}

# Prepared, because a page has hundreds of queries with four steps each.
_STEP_COLUMNS = {
    name: (name.began_column, name.completed_column, _STEP_TRANSACTIONS.get(name))
    for name in StepName
}

_TRANSACTION_COLUMNS = ("id", "hashes", "mined_hash", "mined_block", "gas_used", "to", "hops")

_QUERY_COLUMNS = (
    "position", "source", "block", "timestamp", "account", "name", "props", "header_fields",
    "slot_count", "event_count", "has_ended", "failed",
    *(column for name in StepName for column in (name.began_column, name.completed_column)),
    *_STEP_TRANSACTIONS.values(), "job_id", "job__wait_code", "job__waits_for",
    "slots", "spelling", "event_request", "event_names",
)  # fmt: skip


_SELECT_BATCH = (
    f"SELECT {', '.join(_BATCH_COLUMNS)}, {WAIT_EXPRESSIONS} "  # noqa: S608  (constants)
    "FROM queries_batch WHERE id = %s"
)


def batch_view(batch_id: str) -> BatchView | None:
    """The batch, read in one statement by its primary key."""
    if not is_ulid(batch_id):
        return None
    times = ("submitted_at", "not_final_since", "ended_at", "last_poll", "read_at")
    names = (*_BATCH_COLUMNS, *WAIT_ANNOTATIONS)
    rows = bulk_sql.fetch_rows(_SELECT_BATCH, [batch_id], names, times)
    return next(map(_batch_view, rows), None)


def owns_batch(account: Account, batch_id: str) -> bool:
    return Batch.objects.filter(pk=batch_id, owner=account).exists()


class AskedFor(StrEnum):
    """What a list of batches can be narrowed to; the values are words of addresses."""

    ACCOUNTS = "accounts"
    HEADERS = "headers"
    EVENTS = "events"


_ASKED_COLUMNS = {
    AskedFor.ACCOUNTS: "account_count",
    AskedFor.HEADERS: "header_field_count",
    AskedFor.EVENTS: "event_count",
}


LATE = "LATE"  # in place of a status: open, and waiting longer than usual


@dataclass(frozen=True, slots=True)
class BatchFilter:
    """Which batches a list has. A field that is empty or None leaves out nothing."""

    owner: Account | None = None
    status: str = ""  # or LATE
    destination: int | None = None
    source: int | None = None
    asked_for: AskedFor | None = None

    @property
    def is_indexed(self) -> bool:
        """Indexes find its batches. Otherwise each batch is looked at."""
        has_two = self.owner is not None and self.destination is not None
        return not (self.source or self.asked_for or has_two)

    @property
    def _indexed_rows(self) -> QuerySet[Batch]:
        rows = late_batches() if self.status == LATE else Batch.objects.all()
        if self.status in BatchStatus.values:
            rows = rows.filter(status=self.status)
        if self.owner is not None:
            return rows.filter(owner=self.owner)
        return rows.filter(destination=self.destination) if self.destination else rows

    def rows(self, cursor: Cursor | None = None) -> tuple[QuerySet[Batch], str]:
        """The batches on the cursor's side. Without an index only the nearest `MAX_SEARCHED` are
        searched; the last of these is returned too, or an empty id if there are no more.
        """
        rows, last = self._indexed_rows, ""
        if not self.is_indexed:
            is_forward = cursor is not None and cursor.towards_newer
            searched = rows.filter(past_cursor(("id",), cursor)) if cursor else rows
            ids = searched.order_by("id" if is_forward else "-id").values_list("id", flat=True)
            last = next(iter(ids[MAX_SEARCHED - 1 : MAX_SEARCHED]), "")
            if last:
                rows = rows.filter(id__lte=last) if is_forward else rows.filter(id__gte=last)
        if self.destination:
            rows = rows.filter(destination=self.destination)
        if self.asked_for:
            rows = rows.filter(**{f"{_ASKED_COLUMNS[self.asked_for]}__gt": 0})
        if self.source:
            # Of those with several sources: by `Exists` alone, SQLite reads all queries of a chain.
            queries = Query.objects.filter(batch=OuterRef("id"), source=self.source)
            rows = rows.filter(Q(source=self.source) | Q(Exists(queries), source=None))
        return rows, last


class BatchCount(NamedTuple):
    """How many batches a list has; `searched` of the newest were looked at, None: all of them."""

    found: int  # `MAX_COUNTED` at most
    has_more: bool
    searched: int | None


def listed_batches(
    wanted: BatchFilter = BatchFilter(), *, cursor: Cursor | None = None, top: str = "", limit: int
) -> Page[BatchView]:
    """A page of batches, newest first, or from the batch `top` on. Of a long search it may have
    fewer, or none.
    """
    rows, last = wanted.rows(cursor)
    if top:
        rows = rows.filter(id__lte=top)
    rows = rows.only(*_BATCH_COLUMNS).annotate(**WAIT_ANNOTATIONS)
    page = read_page(rows, ("id",), cursor, limit)
    if last and cursor is not None and cursor.towards_newer:
        page = replace(page, newer=page.newer or last)
    elif last:
        page = replace(page, older=page.older or last)
    return page.with_rows(map(_batch_view, page.rows))


def count_newer_batches(wanted: BatchFilter, top: str, limit: int) -> int:
    """How many batches are newer than `top`, up to the limit."""
    rows, _ = wanted.rows()
    return rows.filter(id__gt=top)[:limit].count()


def count_batches(wanted: BatchFilter) -> BatchCount:
    rows, last = wanted.rows()
    found = rows[: MAX_COUNTED + 1].count()
    has_more = found > MAX_COUNTED
    return BatchCount(min(found, MAX_COUNTED), has_more, MAX_SEARCHED if last else None)


def query_page(batch: BatchView, *, first: int, limit: int) -> QueryPage:
    """A page of the batch's queries from the position `first` on, with their transactions."""
    all_rows = Query.objects.filter(batch=batch.id, position__gte=first).order_by("position")
    rows = list(all_rows.values_list(*_QUERY_COLUMNS, named=True)[: limit + 1])
    transactions, words = _read_transactions(rows), read_words(rows)
    queries = tuple(
        query_view(
            row,
            query_facts(row, batch.destination, words, is_proven=_is_proven(row, batch.status)),
            transactions,
            batch.error,
            _job_reason(row),
        )
        for row in rows
    )
    return QueryPage(queries[:limit], queries[limit].position if len(queries) > limit else None)


def query_progress(batch: BatchView, *, first: int, limit: int) -> list[QueryProgress]:
    """The progress of the batch's queries from the position `first` on, for clients that poll."""
    header, account = StepName.HEADER_ACCUMULATED, StepName.ACCOUNT_ACCUMULATED
    last_step = Case(
        When(IS_BLOCK_QUERY, then=header.completed_column), default=account.completed_column
    )
    rows = Query.objects.filter(batch=batch.id, position__gte=first).order_by("position")
    rows = rows.annotate(is_account_query=~IS_BLOCK_QUERY, completed=last_step)
    columns = rows.values_list("position", "is_account_query", "failed", "completed")
    return [QueryProgress(*row) for row in columns[:limit]]


def find_query(batch: BatchView, position: int) -> QueryView | None:
    queries = query_page(batch, first=position, limit=1).queries
    return queries[0] if queries and queries[0].position == position else None


MAX_STEP_TRANSACTIONS = 100


def step_transactions(batch: BatchView) -> Mapping[StepName, tuple[str, ...]]:
    """The hashes of the transactions that took the batch's queries through each step."""
    steps, columns = _STEP_TRANSACTIONS.keys(), _STEP_TRANSACTIONS.values()
    keys = Query.objects.filter(batch=batch.id).values_list(*columns).distinct()
    rows = list(keys.order_by(*columns)[:MAX_STEP_TRANSACTIONS])
    ids = {key for row in rows for key in row} - {None}
    transactions = SentTransaction.objects.only("hashes", "mined_hash").in_bulk(ids)
    return {
        step: tuple(first_hash(transactions[key]) for key in dict.fromkeys(column) if key)
        for step, column in zip(steps, zip(*rows, strict=True), strict=True)
    }


def query_by_pk(pk: int) -> tuple[BatchView, QueryView] | None:
    """The query with this primary key, and its batch."""
    row = Query.objects.filter(pk=pk).values_list("batch", "position").first()
    batch = batch_view(row[0]) if row else None
    query = find_query(batch, row[1]) if row and batch else None
    return (batch, query) if batch and query else None


def batch_sources(batch: BatchView) -> list[int]:
    rows = Query.objects.filter(batch=batch.id).order_by("source")
    return list(rows.values_list("source", flat=True).distinct())


def first_query_key_and_time(batch: BatchView) -> tuple[int, int | None]:
    """The primary key of the batch's first query, and its block's timestamp once that is known."""
    rows = Query.objects.filter(batch=batch.id, position=0).values_list("pk", "job__header")
    key, header = rows[0]
    return key, decode_header(header).timestamp if header else None


def query_fact_counts(batch: BatchView, *, first: int, limit: int) -> list[int]:
    """The number of facts of each query from the position `first` on."""
    rows = Query.objects.filter(batch=batch.id, position__gte=first).order_by("position")
    rows = rows.only("props", "header_fields", "slot_count", "event_count")
    return [fact_count(row) for row in rows[:limit]]


def _is_proven(row: QueryRow, status: BatchStatus) -> bool:
    """Whether its facts were read back, so that their words are shown.

    Those of a DONE batch stay while they are proven again after a reorg. Those of a REJECTED batch
    are not followed through reorgs.
    """
    has_words = row.has_ended and status != BatchStatus.REJECTED
    return not row.failed and (has_words or status == BatchStatus.DONE)


def _job_reason(row: QueryRow) -> Reason | None:
    if row.has_ended or not row.job__waits_for:
        return None
    return Reason(row.job__wait_code, row.job__waits_for)


def first_hash(transaction: Any) -> str:
    """The hash of the version that was mined, or else of the newest one."""
    return next(filter(None, (transaction.mined_hash, *transaction.hashes[-1:])), "")


def _read_transactions(rows: Iterable[QueryRow]) -> Mapping[int, Any]:
    """The transactions of the rows, by key; hundreds of queries share a transaction."""
    ids = {getattr(row, column) for row in rows for column in _STEP_TRANSACTIONS.values()} - {None}
    transactions = SentTransaction.objects.filter(pk__in=ids)
    columns = transactions.values_list(*_TRANSACTION_COLUMNS, named=True)
    return {transaction.id: transaction for transaction in columns}


def _batch_view(row: Any) -> BatchView:
    return BatchView(
        id=row.id,
        status=BatchStatus(row.status),
        destination=row.destination,
        fee=int(row.fee, 16),
        spent=int(row.spent, 16),
        submitted_at=row.submitted_at,
        not_final_since=row.not_final_since,
        ended_at=row.ended_at,
        waits_for=wait_reason(row),
        error=_error_view(row),
        delivery_count=row.delivery_count,
        proves=bool(row.proves),
        source=row.source,
        has_accounts=row.account_count > 0,
    )


def _error_view(row: Any) -> ErrorView | None:
    if row.status != BatchStatus.REJECTED and not row.error_code:
        return None
    return ErrorView(
        row.error_code, row.error_sentence, row.error_step, retryable=bool(row.error_retryable)
    )


def query_view(
    row: QueryRow,
    facts: Iterable[FactView],
    transactions: Mapping[int, Any],
    error: ErrorView | None = None,
    reason: Reason | None = None,
) -> QueryView:
    slots, key = tuple(f"0x{slot}" for slot in row.slots), row.name or row.account
    chain_key, account_keys = row.spelling or (str(row.source), {key: None} if key else {})
    return QueryView(
        position=row.position,
        source=row.source,
        block=row.block,
        timestamp=row.timestamp,
        account=row.account,
        name=row.name,
        props=account_fields(row.props),
        slots=slots,
        slot_count=row.slot_count,
        header=header_names(row.header_fields),
        event_request=row.event_request or {},
        event_count=row.event_count,
        facts=tuple(facts),
        steps=tuple(_steps(row, transactions, error if row.failed else None)),
        waits_for=reason,
        registry=_registry_address(row, transactions),
        chain_key=chain_key,
        account_keys={
            key: slots if spellings is None else spellings
            for key, spellings in account_keys.items()
        },
    )


def _steps(
    row: QueryRow, transactions: Mapping[int, Any], error: ErrorView | None
) -> Iterator[StepView]:
    """The steps, with the error at the step that was not completed."""
    for name, (began_column, completed_column, key_column) in _STEP_COLUMNS.items():
        if name is StepName.ACCOUNT_ACCUMULATED and not (row.account or row.name):
            break
        began_at, completed_at = getattr(row, began_column), getattr(row, completed_column)
        status = StepStatus.COMPLETED if completed_at else StepStatus.IN_PROGRESS
        transaction = transactions.get(getattr(row, key_column)) if key_column else None
        yield StepView(
            name=name,
            status=status if began_at else None,
            began_at=began_at,
            completed_at=completed_at,
            transaction_hash=first_hash(transaction) if transaction else "",
            transaction_block=transaction.mined_block if transaction else None,
            gas_used=transaction.gas_used if transaction else None,
            hops=transaction.hops if transaction else 0,
            error=error if began_at and not completed_at else None,
        )


def _registry_address(row: QueryRow, transactions: Mapping[int, Any]) -> str:
    """The recipient of the query's newest transaction; empty without one."""
    for key in (row.account_transaction_id, row.header_transaction_id):
        if key is not None and key in transactions:
            return str(transactions[key].to)
    return ""
