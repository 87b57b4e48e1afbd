"""A page of a list of facts, in groups of one block and account."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from django.http import HttpRequest

from explorer.pages.decoding import DecodedValue, decode_fact
from explorer.pages.headlines import absent_accounts
from explorer.pages.links import PageLinks
from explorer.pages.lists import (
    OLDER_PARAMETER,
    AdjacentPages,
    adjacent_pages,
    cursor_of,
    number_parser,
)
from explorer.pages.sentences import field_name
from queries.reading.fact_lists import FactList, FactRequest, ListedFact
from queries.reading.pagination import Page

MAX_BATCHES = 3  # listed beside a fact


@dataclass(frozen=True, slots=True)
class FactRow:
    listed: ListedFact
    name: str
    value: DecodedValue | None  # None before it is proven
    span: int  # so many rows from here on have the same batches; 0: as the row above

    @property
    def wei(self) -> int | None:
        """A balance, to copy."""
        fact = self.listed.fact
        return int(fact.word, 16) if self.value and fact.name == "BALANCE" else None

    @property
    def requests(self) -> tuple[FactRequest, ...]:
        return self.listed.requests[:MAX_BATCHES]

    @property
    def more_requests(self) -> int:
        return len(self.listed.requests[MAX_BATCHES:])


@dataclass(frozen=True, slots=True)
class FactGroup:
    """The facts of an account, or of the header, at one block."""

    rows: tuple[FactRow, ...]
    is_absent: bool  # there is proof that the account does not exist


@dataclass(frozen=True, slots=True)
class FactPage:
    groups: tuple[FactGroup, ...]
    adjacent: AdjacentPages


def fact_page(
    request: HttpRequest,
    newest: FactList,
    read: Callable[[int], FactList],
    links: PageLinks,
    limit: int,
) -> FactPage:
    """The page at the cursor: the start of a list, and a fact's place in it."""
    cursor = cursor_of(request, number_parser(2), (OLDER_PARAMETER,))
    start, first = map(int, cursor.key) if cursor else (newest.start, 0)
    facts = newest if start == newest.start else read(start)
    older = newer = ""
    if first + limit < len(facts.facts):
        older = f"{start}.{first + limit}"
    elif facts.next_start is not None:
        older = f"{facts.next_start}.0"
    if first:
        newer = f"{start}.{max(first - limit, 0)}"
    absent = absent_accounts(facts.facts)
    groups = groupby(
        facts.facts[first : first + limit],
        lambda listed: (listed.fact.source, listed.fact.block, listed.fact.account),
    )
    return FactPage(
        tuple(FactGroup(tuple(_fact_rows(rows, links)), key[1:] in absent) for key, rows in groups),
        adjacent_pages(request, Page((), older, newer)),
    )


def _fact_rows(group: Iterable[ListedFact], links: PageLinks) -> Iterator[FactRow]:
    for _, same in groupby(group, lambda listed: (listed.requests, listed.destinations)):
        run = list(same)
        for index, listed in enumerate(run):
            fact = listed.fact
            value = decode_fact(fact, links.currency(fact.source)) if fact.word else None
            name = field_name(fact.name) if fact.name else ""
            yield FactRow(listed, name, value, 0 if index else len(run))
