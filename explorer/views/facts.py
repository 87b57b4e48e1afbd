"""One fact: what it says, how anyone reads it, and what its registry says right now; and all facts
of a batch as a file.
"""

from collections.abc import Callable, Iterable, Iterator

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.client_address import client_network
from accounts.rate_limits import spend
from explorer.fact_files import csv_pieces, json_pieces
from explorer.fact_lines import fact_line
from explorer.live_check import AskRegistry, Outcome, RegistryWord
from explorer.page_links import PageLinks
from explorer.snippets import snippets
from queries.reading import batches
from queries.reading.facts import FactView, ProvenFact, facts_of, facts_of_batch

CHECKS, WINDOW = 20, 60  # of a visitor's network, in so many seconds
MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
Pieces = Callable[[Iterable[ProvenFact], PageLinks], Iterator[str]]
WRITERS: dict[str, Pieces] = {"csv": csv_pieces, "json": json_pieces}


@require_safe
def fact(
    request: HttpRequest, batch_id: str, place: int, name: str, links: PageLinks
) -> HttpResponse:
    found = _fact(batch_id, place, name)
    return render(request, _template(request, "read_it"), _shown(found, batch_id, place, links))


@require_safe
@never_cache
def check(  # noqa: PLR0913, PLR0917  (the address's parts, and what urls wires)
    request: HttpRequest, batch_id: str, place: int, name: str, links: PageLinks, ask: AskRegistry
) -> HttpResponse:
    found = _fact(batch_id, place, name)
    answer = _asked(request, found, ask)
    shown = _shown(found, batch_id, place, links) | {"check": answer}
    if answer.outcome is Outcome.DIFFERS:
        shown["said"] = fact_line(found.with_word(answer.word), links)
    return render(request, _template(request, "check_answer"), shown)


@require_safe
def batch_facts(
    request: HttpRequest,  # noqa: ARG001
    batch_id: str,
    form: str,
    links: PageLinks,
) -> StreamingHttpResponse:
    if batches.batch(batch_id) is None:
        raise Http404
    return facts_file(facts_of_batch(batch_id), links, form, f"tacitus-{batch_id}")


def facts_file(
    facts: Iterable[ProvenFact], links: PageLinks, form: str, name: str
) -> StreamingHttpResponse:
    """`form`: csv or json."""
    answer = StreamingHttpResponse(WRITERS[form](facts, links), content_type=MEDIA_TYPES[form])
    answer["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    return answer


def _fact(batch_id: str, place: int, name: str) -> FactView:
    batch = batches.batch(batch_id)
    query = batches.query_at(batch, place) if batch else None
    facts = facts_of(query, batch.destination) if batch and query else ()
    for each in facts:
        if each.name == name:
            return each
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
