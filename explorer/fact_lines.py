"""A proven fact as pages and files show it: decoded, with where it is and how it came there."""

from dataclasses import dataclass

from explorer.decoding import Decoded, decoded, no_such_account
from explorer.page_links import PageLinks
from queries.reading.facts import FactView, facts_of
from queries.reading.views import QueryView

NO_SUCH_ACCOUNT = "no such account"
MOST_TO_SUM_UP = 20  # a list of rows with thousands of slots each is not gone through


@dataclass(frozen=True, slots=True)
class FactLine:
    """A fact and what its word says."""

    fact: FactView
    decoded: Decoded


@dataclass(frozen=True, slots=True)
class FactLines:
    """Some of a query's facts, in their order."""

    lines: tuple[FactLine, ...]
    whole: int  # how many there are
    next: int | None
    absent: bool  # that there is no such account is proven


def fact_line(fact: FactView, links: PageLinks) -> FactLine:
    return FactLine(fact, decoded(fact, links.currency(fact.source)))


def fact_lines(
    query: QueryView, destination: int, links: PageLinks, *, first: int = 0, most: int
) -> FactLines:
    """Of a query's facts, `most` from the one at `first` on."""
    facts = facts_of(query, destination)
    shown = facts[first : first + most]
    return FactLines(
        tuple(fact_line(fact, links) for fact in shown),
        len(facts),
        first + most if first + most < len(facts) else None,
        no_such_account(facts),
    )


def in_a_line(query: QueryView, destination: int, links: PageLinks) -> str:
    """What the query has come to, where that fits a line; empty where it does not."""
    if len(query.values) > MOST_TO_SUM_UP:
        return ""
    facts = facts_of(query, destination)
    if no_such_account(facts):
        return NO_SUCH_ACCOUNT
    return fact_line(facts[0], links).decoded.short if len(facts) == 1 else ""
