"""The page of a source block."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from explorer.list_pages import cursor_of, numbers, ways
from explorer.page_links import PageLinks
from queries.reading import blocks

ROWS = 50


@require_safe
@never_cache
def block(request: HttpRequest, chain: int, number: int, links: PageLinks) -> HttpResponse:
    """A block that nobody asked for has a page where its chain is configured: it can be asked."""
    shown = blocks.block(chain, number)
    queries = blocks.queries_of_block(chain, number, cursor_of(request, numbers(1)), ROWS)
    if not queries.rows and not shown.registries and chain not in links.routes.chains:
        raise Http404
    return render(
        request,
        "block.html",
        {"links": links, "shown": shown, "queries": queries, "ways": ways(request, queries)},
    )
