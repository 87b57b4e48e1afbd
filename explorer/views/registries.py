"""The pages of registries, and of all routes together."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from explorer.list_pages import cursor_of, numbers, ways
from explorer.page_links import PageLinks
from explorer.trust import reach_of, trust_of
from queries.reading import registries

ROWS = 50


@require_safe
@never_cache
def routes(request: HttpRequest, links: PageLinks) -> HttpResponse:
    chains = links.routes.chains
    heads = registries.heads(chains)
    facts = registries.facts_by_route()
    told = [
        (each, trust_of(each, links), facts.get((each.source, each.destination), 0))
        for each in links.routes.registries.values()
    ]
    return render(
        request,
        "routes.html",
        {
            "links": links,
            "chains": [(chain, heads.get(chain.id)) for _, chain in sorted(chains.items())],
            "registries": told,
        },
    )


@require_safe
@never_cache
def registry(
    request: HttpRequest, destination: int, address: str, links: PageLinks
) -> HttpResponse:
    found = next(iter(links.registries_at(address, destination)), None)
    if found is None:
        raise Http404
    if request.path.rpartition("/")[2] != found.address:
        return redirect("registry", destination, found.address)
    heads = registries.heads([found.source, found.destination])
    shown = registries.blocks_of_registry(
        found.source, found.destination, cursor_of(request, numbers(1)), ROWS
    )
    return render(
        request,
        "registry.html",
        {
            "links": links,
            "registry": found,
            "trust": trust_of(found, links),
            "reach": reach_of(found, links),
            "record": registries.record_of(found.source, found.destination),
            "source_head": heads.get(found.source),
            "destination_head": heads.get(found.destination),
            "blocks": shown,
            "ways": ways(request, shown),
        },
    )
