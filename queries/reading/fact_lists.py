"""The facts of an account, a block or a transaction, each once, whichever batches asked for it.

A list merges at most `MAX_QUERIES` queries, which are read by index; `next_start` continues it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Case, JSONField, Q, QuerySet, When

from queries.facts import BLOCK_AT_TIME, account_fields, display_values, header_names
from queries.models import Query
from queries.proving.facts import EVENT_KINDS, EventFact, FactKind
from queries.proving.headers import HeaderField
from queries.reading.facts import FactView, fact_identifiers
from queries.reading.pagination import MAX_LISTED_SLOTS
from queries.statuses import BatchStatus

MAX_QUERIES = 100
_COLUMNS = (
    "id", "batch_id", "batch__status", "batch__destination", "position", "source", "block",
    "timestamp", "account", "name", "props", "header_fields", "slot_count", "event_count", "values",
    "has_ended",
)  # fmt: skip
_KINDS = sorted(FactKind, key=FactKind.BLOCK_AT_TIME.__ne__)  # the time first
QueryRow = Any  # a named tuple of `_COLUMNS`, `few_slots`, `few_slot_values` and `few_events`


@dataclass(frozen=True, slots=True)
class FactRequest:
    """A query that asks for a fact."""

    batch: str
    position: int


@dataclass(frozen=True, slots=True)
class ListedFact:
    """A fact on all destinations, or a query's slots or events that are too many for a list.

    Its properties are for facts that a page shows; most facts of a list are only counted.
    """

    fact: FactView  # on the first destination; the word is empty before it is proven
    slot_count: int  # 0: one fact
    is_proven: bool
    rows: tuple[QueryRow, ...]  # the queries that ask for it, newest first

    @property
    def destinations(self) -> tuple[int, ...]:
        rows = [row for row in self.rows if row.values is not None] or self.rows
        destinations = sorted({row.batch__destination for row in rows})
        return tuple(sorted(destinations, key=self.fact.source.__ne__))  # as on the fact's page

    @property
    def requests(self) -> tuple[FactRequest, ...]:
        return tuple(FactRequest(row.batch_id, row.position) for row in self.rows)

    @property
    def has_page(self) -> bool:
        """Whether a batch that asked for it is DONE."""
        return any(_is_done(row) for row in self.rows)

    @property
    def has_ended(self) -> bool:
        """Whether no query waits for it."""
        return all(row.has_ended for row in self.rows)


@dataclass(frozen=True, slots=True)
class FactListView:
    """`start` bounds what was read, so that a cursor can name a fact by its place in the list."""

    facts: tuple[ListedFact, ...] = ()
    start: int = 0
    next_start: int | None = None

    @property
    def proven_facts(self) -> tuple[ListedFact, ...]:
        return tuple(fact for fact in self.facts if fact.is_proven)

    @property
    def fact_count(self) -> int:
        return sum(fact.slot_count or 1 for fact in self.proven_facts)


def account_facts(address: str, chain: int, start: int | None = None) -> FactListView:
    """Proven facts of blocks before `start`, newest block first. Ends with a whole block."""
    rows = Query.objects.filter(account=address, source=chain, values__isnull=False)
    if start is not None:
        rows = rows.filter(block__lt=start)
    queries = _read_queries(rows.exclude(account=""), "-block", "-id")
    start = queries[0].block + 1 if start is None and queries else start or 0
    next_start = None
    if len(queries) > MAX_QUERIES:
        last = queries[-1].block
        queries = [row for row in queries if row.block != last] or queries[:MAX_QUERIES]
        next_start = queries[-1].block
    facts = tuple(fact for fact in _merge(queries) if fact.fact.account)
    return FactListView(facts, start, next_start)


def block_facts(chain: int, number: int, start: int | None = None) -> FactListView:
    """Facts that queries before `start` ask for: of the header, of each transaction, of the block,
    then of the accounts.
    """
    return _list_by_id(Query.objects.filter(source=chain, block=number), start)


def transaction_facts(transaction: int, start: int | None = None) -> FactListView:
    """Facts of the account and header queries that the transaction proved, by its key."""
    header_queries = Q(header_transaction=transaction, account="", name="")
    rows = Query.objects.filter(Q(account_transaction=transaction) | header_queries)
    return _list_by_id(rows, start)


def _list_by_id(rows: QuerySet[Query], start: int | None) -> FactListView:
    if start is not None:
        rows = rows.filter(id__lt=start)
    queries = _read_queries(rows, "-id")
    start = queries[0].id + 1 if start is None and queries else start or 0
    next_start = queries[MAX_QUERIES - 1].id if len(queries) > MAX_QUERIES else None
    return FactListView(_merge(queries[:MAX_QUERIES]), start, next_start)


def _read_queries(rows: QuerySet[Query], *order: str) -> Sequence[QueryRow]:
    """One more than the limit. The slots and events of queries with many are not read."""
    few = Q(slot_count__lte=MAX_LISTED_SLOTS, event_count__lte=MAX_LISTED_SLOTS)
    counts = {"slots": "slot_count", "slot_values": "slot_count", "events": "event_count"}
    items = {
        f"few_{column}": Case(
            When(few, **{f"{count}__gt": 0}, then=column), output_field=JSONField()
        )
        for column, count in counts.items()
    }
    rows = rows.annotate(**items).order_by(*order)
    return list(rows.values_list(*_COLUMNS, *items, named=True)[: MAX_QUERIES + 1])


class _FactKey(NamedTuple):
    source: int
    block: int
    subject: str  # the account, or the ENS name that is not resolved yet; empty: the header
    kind: FactKind
    number: int  # the registry's parameter
    name: str
    slot_count: int = 0


def _merge(queries: Iterable[QueryRow]) -> tuple[ListedFact, ...]:
    """Newest block first; the block, then the accounts in the order of the requests."""
    requests: dict[_FactKey, list[tuple[QueryRow, str]]] = {}
    first_queries: dict[tuple[int, int, str], int] = {}
    for row in queries:
        for key, word in _query_facts(row):
            requests.setdefault(key, []).append((row, word))
            first_queries[key[:3]] = row.id

    def order(key: _FactKey) -> tuple[object, ...]:
        is_account = bool(key.subject)
        rank = is_account * first_queries[key[:3]]
        kind = _KINDS.index(key.kind)
        event = EventFact.parse(key.name) if key.kind in EVENT_KINDS else None
        number = (event.index, event.log) if event else (key.number, 0)
        place = (2 * (key.kind in EVENT_KINDS), 0)
        if event and event.transaction is not None:
            place = (1, event.transaction)
        return key.source, -key.block, is_account, rank, place, kind, key.slot_count, *number

    return tuple(_listed_fact(key, requests[key]) for key in sorted(requests, key=order))


def _query_facts(row: QueryRow) -> Iterator[tuple[_FactKey, str]]:
    """The facts that a query asks for, each with its word if it is proven."""
    if row.block is None:
        return
    subject, words = row.account or row.name, dict[str, str]()
    if row.values is not None:
        words = display_values({**row.values, **(row.few_slot_values or {})})
        words[BLOCK_AT_TIME] = f"0x{row.block:064x}"
    header, props = header_names(row.header_fields), account_fields(row.props)
    slots = [f"0x{slot}" for slot in row.few_slots or ()]
    events = [event["name"] for event in row.few_events or ()]
    for kind, name, number in fact_identifiers(row.timestamp, header, props, slots, events):
        about = "" if kind is FactKind.BLOCK_AT_TIME else subject
        canonical = HeaderField(number).name if kind is FactKind.HEADER_FIELD else name
        yield _FactKey(row.source, row.block, about, kind, number, canonical), words.get(name, "")
    if row.slot_count > MAX_LISTED_SLOTS:
        key = _FactKey(row.source, row.block, subject, FactKind.STORAGE_SLOT, 0, "", row.slot_count)
        yield key, ""
    if row.event_count and not events:  # too many, or not found yet
        key = _FactKey(row.source, row.block, "", FactKind.LOG, row.id, "", row.event_count)
        yield key, ""


def _listed_fact(key: _FactKey, requests: Sequence[tuple[QueryRow, str]]) -> ListedFact:
    """`requests`: newest first."""
    rows = tuple(row for row, _ in requests)
    is_proven = any(row.values is not None for row in rows)
    row, word = requests[0]
    if len(requests) > 1:
        row, word = min(requests, key=lambda request: _rank(key.source, request[0]))
    events = row.few_events if key.kind in EVENT_KINDS else None
    fact = FactView(
        key.kind,
        key.source,
        row.batch__destination,
        key.block,
        row.account if key.subject else "",
        row.name if key.subject else "",
        key.name,
        key.number,
        word,
        {event["name"]: event for event in events or ()}.get(key.name, {}),
    )
    return ListedFact(fact, key.slot_count, is_proven, rows)


def _rank(source: int, row: QueryRow) -> tuple[bool, bool, bool, int]:
    """Facts with a page first, then proven ones, in the order of destinations of a fact's page."""
    destination = row.batch__destination
    return not _is_done(row), row.values is None, destination != source, destination


def _is_done(row: QueryRow) -> bool:
    return row.values is not None and row.batch__status == BatchStatus.DONE
