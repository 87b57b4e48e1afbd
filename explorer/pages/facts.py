"""The page of a fact: its decoded value, how to read it on chain, and a check of its registry."""

from dataclasses import dataclass, replace

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.shared.rate_limits import client_network, use_quota
from explorer.pages.decoding import DecodedValue, decode_fact, proves_no_account
from explorer.pages.links import PageLinks
from explorer.pages.snippets import snippets
from explorer.wiring import RegistryAnswer, RegistryOutcome, ask_registry
from queries.reading import batches
from queries.reading.facts import FactView, query_facts


@dataclass(frozen=True, slots=True)
class FactLine:
    fact: FactView
    decoded: DecodedValue


def fact_line(fact: FactView, links: PageLinks) -> FactLine:
    return FactLine(fact, decode_fact(fact, links.currency(fact.source)))


MAX_CHECKS, CHECK_SECONDS = 20, 60  # for each network of visitors


def check_wait_seconds(request: HttpRequest) -> int:
    """Count a check that asks nodes; returns 0, or the seconds until the visitor may repeat it."""
    quota = use_quota(f"registry check from {client_network(request)}", MAX_CHECKS, CHECK_SECONDS)
    return 0 if quota.allowed else quota.seconds_left


def fact(
    request: HttpRequest, batch_id: str, position: int, name: str, links: PageLinks
) -> HttpResponse:
    _, context = _fact_context(batch_id, position, name, links)
    return render(request, _fact_template(request, "read_it"), context)


def check(
    request: HttpRequest, batch_id: str, position: int, name: str, links: PageLinks
) -> HttpResponse:
    fact, context = _fact_context(batch_id, position, name, links)
    if seconds := check_wait_seconds(request):
        answer = RegistryAnswer(RegistryOutcome.TOO_OFTEN, seconds=seconds)
    else:
        answer = ask_registry(fact, links.routes)
    context["check"] = answer
    if answer.outcome is RegistryOutcome.DIFFERS:
        context["registry_line"] = fact_line(replace(fact, word=answer.word), links)
    return render(request, _fact_template(request, "check_answer"), context)


def _fact_context(
    batch_id: str, position: int, name: str, links: PageLinks
) -> tuple[FactView, dict[str, object]]:
    batch = batches.batch_view(batch_id)
    query = batches.find_query(batch, position) if batch else None
    facts = query_facts(query, batch.destination) if batch and query else ()
    fact = next((fact for fact in facts if fact.name == name), None)
    if fact is None:
        raise Http404
    registry = links.registry_address(fact.source, fact.destination)
    return fact, {
        "batch_id": batch_id,
        "position": position,
        "line": fact_line(fact, links),
        "absent": proves_no_account(facts),
        "registry": registry,
        "snippets": snippets(fact, registry) if registry else (),
        "links": links,
    }


def _fact_template(request: HttpRequest, part: str) -> str:
    return f"parts/{part}.html" if request.headers.get("HX-Request") else "fact.html"


