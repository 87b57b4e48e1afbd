"""The facts of an account, a block or a transaction, each once, whichever batches asked for it.

A list merges at most `MAX_QUERIES` queries, which are read by index; `next_start` continues it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

from django.db.models import Case, JSONField, Q, QuerySet, When

from queries.facts import (
    BLOCK_AT_TIME,
    account_fields,
    display_values,
    facts_of_account,
    facts_of_block,
    header_names,
)
from queries.models import Query
from queries.proving.facts import BlockFact, FactKind
from queries.reading.facts import FactView
from queries.reading.pagination import MAX_LISTED_SLOTS, Cursor, past_cursor
from queries.statuses import BatchStatus

MAX_QUERIES = 100
Start = tuple[int, ...]  # the key of a query, by which a list is ordered
_COLUMNS = (
    "id", "batch_id", "batch__status", "batch__destination", "position", "source", "block",
    "timestamp", "account", "name", "props", "header_fields", "slot_count", "event_count", "values",
    "has_ended",
)  # fmt: skip
_KINDS = sorted(FactKind, key=FactKind.BLOCK_AT_TIME.__ne__)  # the time first
QueryRow = Any  # a named tuple of `_COLUMNS`, `few_slots`, `few_slot_values` and `few_events`


@dataclass(frozen=True, slots=True)
class QueryReference:
    """The batch and position of a query that asks for a fact."""

    batch: str
    position: int


@dataclass(frozen=True, slots=True)
class ListedFact:
    """An entry of a list: a fact with all destinations on which it was requested, or the slots or
    events of a query that has too many to list.

    Properties are computed on access, because most entries are only counted.
    """

    fact: FactView  # on the first destination; the word is empty before it is proven
    item_count: int  # slots or events; 0: the entry is one fact
    is_proven: bool
    rows: tuple[QueryRow, ...]  # the queries that ask for it, newest first

    @property
    def destinations(self) -> tuple[int, ...]:
        rows = [row for row in self.rows if row.values is not None] or self.rows
        destinations = sorted({row.batch__destination for row in rows})
        return tuple(sorted(destinations, key=self.fact.source.__ne__))  # the source first

    @property
    def requests(self) -> tuple[QueryReference, ...]:
        return tuple(QueryReference(row.batch_id, row.position) for row in self.rows)

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
    """A part of a list: the facts before `start`.

    A cursor repeats `start`, so that new queries do not move the entries.
    """

    facts: tuple[ListedFact, ...] = ()
    start: Start = ()
    next_start: Start = ()  # empty: this is the last part

    @property
    def proven_facts(self) -> tuple[ListedFact, ...]:
        return tuple(fact for fact in self.facts if fact.is_proven)

    @property
    def fact_count(self) -> int:
        return sum(fact.item_count or 1 for fact in self.proven_facts)


def account_facts(address: str, chain: int, start: Start = ()) -> FactListView:
    """Proven facts of queries before `start`, newest block first.

    Ends with a whole block, unless that has more than `MAX_QUERIES` queries of the account.
    """
    rows = Query.objects.filter(account=address, source=chain, values__isnull=False)
    listed = _list_facts(rows.exclude(account=""), ("block", "id"), start)
    return replace(listed, facts=tuple(fact for fact in listed.facts if fact.fact.account))


def block_facts(chain: int, number: int, start: Start = ()) -> FactListView:
    """Facts that queries before `start` ask for: of the header, of each transaction, of the block,
    then of the accounts.
    """
    return _list_facts(Query.objects.filter(source=chain, block=number), ("id",), start)


def transaction_facts(transaction_id: int, start: Start = ()) -> FactListView:
    """Facts of the account and header queries that the transaction proved."""
    header_queries = Q(header_transaction=transaction_id, account="", name="")
    rows = Query.objects.filter(Q(account_transaction=transaction_id) | header_queries)
    return _list_facts(rows, ("id",), start)


def _list_facts(rows: QuerySet[Query], columns: tuple[str, ...], start: Start) -> FactListView:
    """Merge the queries before `start`, newest first by these columns."""
    if start:
        rows = rows.filter(past_cursor(columns, Cursor(start)))
    queries = _read_queries(rows, *(f"-{column}" for column in columns))
    keys = [tuple(getattr(row, column) for column in columns) for row in queries]
    if not start:
        start = (*keys[0][:-1], keys[0][-1] + 1) if keys else (0,) * len(columns)
    count = len(queries)
    if count > MAX_QUERIES:
        count = MAX_QUERIES
        if columns[0] == "block":
            whole_blocks = sum(block != keys[-1][0] for block, _ in keys)
            count = whole_blocks or MAX_QUERIES
    next_start = keys[count - 1] if count < len(keys) else ()
    return FactListView(_merge(queries[:count]), start, next_start)


def _read_queries(rows: QuerySet[Query], *order: str) -> Sequence[QueryRow]:
    """Read one query more than `MAX_QUERIES`.

    Slots and events are omitted if a query has more than `MAX_LISTED_SLOTS` of either.
    """
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
    subject: str  # the account, or the ENS name that is not resolved yet; empty: the block
    fact: BlockFact
    name: str
    item_count: int = 0


def _merge(queries: Iterable[QueryRow]) -> tuple[ListedFact, ...]:
    """Merge the queries into one entry for each fact.

    The newest block is first; in it, its own facts, then the accounts in the order of the requests.
    """
    requests: dict[_FactKey, list[tuple[QueryRow, str]]] = {}
    first_queries: dict[tuple[int, int, str], int] = {}
    for row in queries:
        for key, word in _query_facts(row):
            requests.setdefault(key, []).append((row, word))
            first_queries[key[:3]] = row.id

    def order(key: _FactKey) -> tuple[object, ...]:
        is_account = bool(key.subject)
        rank = is_account * first_queries[key[:3]]
        fact, group = key.fact, (0, 0)  # header facts, each transaction's events, the block's
        if fact.is_event:
            transaction = fact.transaction if key.name else None
            group = (2, 0) if transaction is None else (1, transaction)
        kind, numbers = _KINDS.index(fact.kind), (fact.key, fact.log)
        return key.source, -key.block, is_account, rank, group, kind, key.item_count, *numbers

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
    about_block = facts_of_block(row.timestamp, header, events)
    for name, fact in chain(about_block, facts_of_account(row.account, props, slots)):
        fact_subject = "" if fact.kind is FactKind.BLOCK_AT_TIME else subject
        canonical_name = fact.name if fact.kind is FactKind.HEADER_FIELD else name
        key = _FactKey(row.source, row.block, fact_subject, fact, canonical_name)
        yield key, words.get(name, "")
    if row.slot_count > MAX_LISTED_SLOTS:
        fact = BlockFact(FactKind.STORAGE_SLOT)
        yield _FactKey(row.source, row.block, subject, fact, "", row.slot_count), ""
    if row.event_count and not events:  # too many, or not found yet
        fact = BlockFact(FactKind.LOG, row.id)
        yield _FactKey(row.source, row.block, "", fact, "", row.event_count), ""


def _listed_fact(key: _FactKey, requests: Sequence[tuple[QueryRow, str]]) -> ListedFact:
    """The entry of a fact. `requests`: its queries and their words, newest first."""
    rows = tuple(row for row, _ in requests)
    is_proven = any(row.values is not None for row in rows)
    row, word = requests[0]
    if len(requests) > 1:
        row, word = min(requests, key=lambda request: _rank(key.source, request[0]))
    events = row.few_events if key.fact.is_event else None
    fact = FactView(
        key.fact,
        key.source,
        row.batch__destination,
        key.block,
        row.account if key.subject else "",
        row.name if key.subject else "",
        key.name,
        word,
        {event["name"]: event for event in events or ()}.get(key.name, {}),
    )
    return ListedFact(fact, key.item_count, is_proven, rows)


def _rank(source: int, row: QueryRow) -> tuple[bool, bool, bool, int]:
    """Facts with a page first, then proven ones, in the order of destinations of a fact's page."""
    destination = row.batch__destination
    return not _is_done(row), row.values is None, destination != source, destination


def _is_done(row: QueryRow) -> bool:
    return row.values is not None and row.batch__status == BatchStatus.DONE
