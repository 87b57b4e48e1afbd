"""One fact: what it says, how anyone reads it, and what its registry says right now."""

from collections.abc import Sequence

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.rate_limits import client_network, spend
from explorer.decoding import no_such_account
from explorer.fact_lines import fact_line
from explorer.live_check import AskRegistry, Outcome, RegistryWord
from explorer.page_links import PageLinks
from explorer.snippets import snippets
from queries.reading import batches
from queries.reading.facts import FactView, facts_of

CHECKS, WINDOW = 20, 60  # of a visitor's network, in so many seconds


@require_safe
@never_cache  # a script fetches a part of it from here, and nobody is to go back to that
def fact(
    request: HttpRequest, batch_id: str, place: int, name: str, links: PageLinks
) -> HttpResponse:
    found, of_query = _fact(batch_id, place, name)
    shown = _shown(found, batch_id, place, links) | {"absent": no_such_account(of_query)}
    return render(request, _template(request, "read_it"), shown)


@require_safe
@never_cache
def check(  # noqa: PLR0913, PLR0917  (the address's parts, and what urls wires)
    request: HttpRequest, batch_id: str, place: int, name: str, links: PageLinks, ask: AskRegistry
) -> HttpResponse:
    found, of_query = _fact(batch_id, place, name)
    answer = _asked(request, found, ask)
    shown = _shown(found, batch_id, place, links) | {
        "absent": no_such_account(of_query),
        "check": answer,
    }
    if answer.outcome is Outcome.DIFFERS:
        shown["said"] = fact_line(found.with_word(answer.word), links)
    return render(request, _template(request, "check_answer"), shown)


def _fact(batch_id: str, place: int, name: str) -> tuple[FactView, Sequence[FactView]]:
    """It, among all of its query's."""
    batch = batches.batch(batch_id)
    query = batches.query_at(batch, place) if batch else None
    facts = facts_of(query, batch.destination) if batch and query else ()
    for each in facts:
        if each.name == name:
            return each, facts
    raise Http404


def _shown(found: FactView, batch_id: str, place: int, links: PageLinks) -> dict[str, object]:
    registry = links.registry_address(found.source, found.destination)
    return {
        "batch_id": batch_id,
        "place": place,
        "line": fact_line(found, links),
        "registry": registry,
        "snippets": snippets(found, registry) if registry else (),
        "links": links,
    }


def _asked(request: HttpRequest, found: FactView, ask: AskRegistry) -> RegistryWord:
    spent = spend(f"registry check from {client_network(request)}", CHECKS, WINDOW)
    if not spent.allowed:
        return RegistryWord(Outcome.TOO_OFTEN, seconds=spent.seconds_left)
    return ask(found)


def _template(request: HttpRequest, part: str) -> str:
    return f"parts/{part}.html" if request.headers.get("HX-Request") else "fact.html"
