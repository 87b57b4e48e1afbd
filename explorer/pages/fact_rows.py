"""A page of a list of facts, in groups of one block and account."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from django.http import HttpRequest

from explorer.pages.decoding import DecodedValue, proves_no_account
from explorer.pages.fact_kinds import decode_fact, fact_display, kind_display
from explorer.pages.links import PageLinks
from explorer.pages.lists import cursor_of, number_parser
from queries.reading import (
    FACT_LIST_COLUMNS,
    FactRows,
    ListedGroup,
    ListEntry,
    QueryReference,
    read_groups,
)

FACTS_PER_PAGE = 25  # most groups have half as many, see `stored_facts.MAX_LISTED`
MAX_CELL_LENGTH = 34  # characters; a longer one has a line of its own


@dataclass(frozen=True, slots=True)
class FactCell:
    entry: ListEntry
    name: str
    value: DecodedValue | None  # None before it is proven

    @property
    def is_long(self) -> bool:
        return len(self.name) + len(self.value.short if self.value else "") > MAX_CELL_LENGTH


@dataclass(frozen=True, slots=True)
class FactRow:
    """Facts on the same destinations."""

    cells: tuple[FactCell, ...]
    more: tuple[str, ...] = ()  # such as `4,975 more slots`

    @property
    def first(self) -> ListEntry:
        return self.cells[0].entry


@dataclass(frozen=True, slots=True)
class Group:
    """The facts of an account, the header, a transaction or the rest of one block."""

    subject: str  # unless it is an account
    rows: tuple[FactRow, ...]
    is_absent: bool  # there is proof that the account does not exist
    requests: tuple[QueryReference, ...]  # the newest queries
    more_requests: int


@dataclass(frozen=True, slots=True)
class GroupsPage:
    groups: tuple[Group, ...]
    older: str  # cursors; empty if there is no such page
    newer: str


def groups_page(request: HttpRequest, facts: FactRows, links: PageLinks) -> GroupsPage:
    """The page at the cursor in the URL."""
    cursor = cursor_of(request, number_parser(len(FACT_LIST_COLUMNS)))
    page = read_groups(facts, cursor, FACTS_PER_PAGE)
    groups = [group for listed in page.rows for group in _groups(listed, links)]
    return GroupsPage(tuple(groups), page.older, page.newer)


def _groups(listed: ListedGroup, links: PageLinks) -> Iterator[Group]:
    is_absent = proves_no_account([entry.fact for entry in listed.facts])
    more = tuple(
        f"{count:,} more {kind_display(kind).plural}" for kind, count in listed.unlisted.items()
    )
    parts = [(name, list(part)) for name, part in groupby(listed.facts, _subject)]
    for number, (subject, part) in enumerate(parts, 1):
        rows = [
            FactRow(tuple(_cell(entry, links) for entry in same))
            for _, same in groupby(part, lambda entry: entry.destinations)
        ]
        if number == len(parts):
            rows[-1] = FactRow(rows[-1].cells, more)
        yield Group(subject, tuple(rows), is_absent, listed.requests, listed.more_requests)


def _subject(entry: ListEntry) -> str:
    event = entry.fact.event
    if event and event.transaction is not None:
        return f"transaction {event.transaction}"
    return "block" if event else "header"


def _cell(entry: ListEntry, links: PageLinks) -> FactCell:
    fact = entry.fact
    value = decode_fact(fact, links.currency(fact.source)) if fact.word else None
    name = fact_display(fact).name_in_transaction(fact.identity)
    return FactCell(entry, name, value)
