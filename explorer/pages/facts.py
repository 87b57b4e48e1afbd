"""The page of a fact: decoded, how it is read on chain, and what its registry says right now."""

from dataclasses import dataclass, replace

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.shared.rate_limits import client_network, spend
from explorer.pages.decoding import Decoded, decoded, no_such_account
from explorer.pages.links import PageLinks
from explorer.pages.snippets import snippets
from explorer.wiring import Outcome, RegistryWord, ask_registry
from queries.reading import batches
from queries.reading.facts import FactView, facts_of
from queries.reading.view_models import QueryView

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


CHECKS, WINDOW = 20, 60  # of a visitor's network, in so many seconds


def too_often(request: HttpRequest) -> int:
    """Seconds until this visitor may have nodes asked again; 0: at once, and it is counted."""
    spent = spend(f"registry check from {client_network(request)}", CHECKS, WINDOW)
    return 0 if spent.allowed else spent.seconds_left


def fact(
    request: HttpRequest, batch_id: str, place: int, name: str, links: PageLinks
) -> HttpResponse:
    _, shown = _shown(batch_id, place, name, links)
    return render(request, _template(request, "read_it"), shown)


def check(
    request: HttpRequest, batch_id: str, place: int, name: str, links: PageLinks
) -> HttpResponse:
    found, shown = _shown(batch_id, place, name, links)
    if seconds := too_often(request):
        answer = RegistryWord(Outcome.TOO_OFTEN, seconds=seconds)
    else:
        answer = ask_registry(found, links.routes)
    shown["check"] = answer
    if answer.outcome is Outcome.DIFFERS:
        shown["said"] = fact_line(replace(found, word=answer.word), links)
    return render(request, _template(request, "check_answer"), shown)


def _shown(
    batch_id: str, place: int, name: str, links: PageLinks
) -> tuple[FactView, dict[str, object]]:
    """The fact, and what its page shows."""
    batch = batches.batch(batch_id)
    query = batches.query_at(batch, place) if batch else None
    facts = facts_of(query, batch.destination) if batch and query else ()
    found = next((each for each in facts if each.name == name), None)
    if found is None:
        raise Http404
    registry = links.registry_address(found.source, found.destination)
    return found, {
        "batch_id": batch_id,
        "place": place,
        "line": fact_line(found, links),
        "absent": no_such_account(facts),
        "registry": registry,
        "snippets": snippets(found, registry) if registry else (),
        "links": links,
    }


def _template(request: HttpRequest, part: str) -> str:
    return f"parts/{part}.html" if request.headers.get("HX-Request") else "fact.html"
