"""A page of a list of facts, in groups of one block and account."""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from django.http import HttpRequest

from accounts.shared.wording import format_count
from explorer.pages.decoding import DecodedValue, decode_fact
from explorer.pages.headlines import absent_accounts
from explorer.pages.links import PageLinks
from explorer.pages.lists import cursor_of, number_parser
from explorer.pages.sentences import Sentence, batch_sentences, field_name
from queries.proving.facts import EVENT_KINDS
from queries.reading.fact_lists import FactListView, ListedFact, QueryReference, Start

FACTS_PER_PAGE = 25
MAX_BATCHES = 3  # listed beside facts
MAX_CELL_LENGTH = 34  # characters; a longer one has a line of its own


@dataclass(frozen=True, slots=True)
class FactCell:
    entry: ListedFact
    name: str
    value: DecodedValue | None  # None before it is proven

    @property
    def is_long(self) -> bool:
        return len(self.name) + len(self.value.short if self.value else "") > MAX_CELL_LENGTH


@dataclass(frozen=True, slots=True)
class FactRow:
    """Facts with the same batches and destinations."""

    cells: tuple[FactCell, ...]
    repeats_batches: bool  # the row above has the same batches

    @property
    def first(self) -> ListedFact:
        return self.cells[0].entry

    @property
    def requests(self) -> tuple[QueryReference, ...]:
        return self.first.requests[:MAX_BATCHES]

    @property
    def more_requests(self) -> int:
        return len(self.first.requests[MAX_BATCHES:])


@dataclass(frozen=True, slots=True)
class FactGroup:
    """The facts of an account, the header, a transaction or the rest of one block."""

    subject: str  # unless it is an account
    rows: tuple[FactRow, ...]
    is_absent: bool  # there is proof that the account does not exist


@dataclass(frozen=True, slots=True)
class FactRowsPage:
    groups: tuple[FactGroup, ...]
    sentences: Mapping[str, Sentence]  # by batch
    older: str  # cursors; empty if there is no such page
    newer: str


def fact_page(
    request: HttpRequest,
    newest: FactListView,
    read: Callable[[Start], FactListView],
    links: PageLinks,
) -> FactRowsPage:
    """The page at the cursor: the start of a list, and a fact's place in it."""
    cursor = cursor_of(request, number_parser(len(newest.start) + 1))
    *key, first = map(int, cursor.key) if cursor else (*newest.start, 0)
    start = tuple(key)
    facts = newest if start == newest.start else read(start)
    page_starts = _page_starts(facts.facts, FACTS_PER_PAGE)
    end = next((place for place in page_starts if place > first), len(facts.facts))
    older = newer = ""
    if end < len(facts.facts):
        older = _cursor_text(start, end)
    elif facts.next_start:
        older = _cursor_text(facts.next_start, 0)
    if first:
        newer = _cursor_text(start, max((n for n in page_starts if n < first), default=0))
    groups = tuple(_fact_groups(facts.facts[first:end], absent_accounts(facts.facts), links))
    batches = {entry.batch for group in groups for row in group.rows for entry in row.requests}
    return FactRowsPage(groups, batch_sentences(batches, links), older, newer)


def _cursor_text(start: Start, first: int) -> str:
    return ".".join(map(str, (*start, first)))


def _group_key(entry: ListedFact) -> tuple[int, int, str, str]:
    fact, event = entry.fact, entry.fact.event
    subject = "block" if fact.kind in EVENT_KINDS else "header"
    if event and event.transaction is not None:
        subject = f"transaction {event.transaction}"
    return fact.source, fact.block, fact.account, subject


def _page_starts(facts: Iterable[ListedFact], limit: int) -> list[int]:
    """Pages end with a whole group, unless it alone is longer than a page."""
    starts, end = [0], 0
    for _, group in groupby(facts, _group_key):
        begin, end = end, end + len(list(group))
        if end - starts[-1] > limit and begin > starts[-1]:
            starts.append(begin)
        starts += range(starts[-1] + limit, end, limit)
    return starts


def _fact_groups(
    entries: Iterable[ListedFact], absent_keys: Container[tuple[int, str]], links: PageLinks
) -> Iterator[FactGroup]:
    last_batches: list[str] = []
    for key, group in groupby(entries, _group_key):
        rows = []
        for _, part in groupby(group, lambda entry: (entry.requests, entry.destinations)):
            cells = tuple(fact_cell(entry, links) for entry in part)
            batches = [request.batch for request in cells[0].entry.requests]
            rows.append(FactRow(cells, batches == last_batches))
            last_batches = batches
        yield FactGroup(key[-1], tuple(rows), key[1:3] in absent_keys)


def fact_cell(entry: ListedFact, links: PageLinks) -> FactCell:
    fact = entry.fact
    value = decode_fact(fact, links.currency(fact.source)) if fact.word else None
    many = format_count(entry.item_count, "event" if fact.kind in EVENT_KINDS else "slot")
    name = field_name(fact.name) if fact.name else many
    # A heading names the transaction.
    return FactCell(entry, re.sub(" (of|in) transaction [0-9]+$", "", name), value)
