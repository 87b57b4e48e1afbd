"""The page of a transaction of ours."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from explorer.list_pages import cursor_of, numbers, ways
from explorer.page_links import PageLinks
from queries.reading import transactions

ROWS = 50


@require_safe
@never_cache
def transaction(request: HttpRequest, chain: int, digits: str, links: PageLinks) -> HttpResponse:
    shown = transactions.transaction(chain, f"0x{digits}")
    if shown is None:
        raise Http404
    cursor = cursor_of(request, numbers(1))
    queries = transactions.queries_of_transaction(shown, cursor, ROWS)
    return render(
        request,
        "transaction.html",
        {
            "links": links,
            "asked_hash": f"0x{digits}",
            "shown": shown,
            "queries": queries,
            "ways": ways(request, queries),
        },
    )
