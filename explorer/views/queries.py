"""A query of a batch alone: what a row of the batch's page shows when it is opened."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from explorer.batch_page import alone
from explorer.page_links import PageLinks

MOST_DIGITS = 9


@require_safe
@never_cache
def query(request: HttpRequest, batch_id: str, place: int, links: PageLinks) -> HttpResponse:
    page = alone(batch_id, place)
    if page is None:
        raise Http404
    first = request.GET.get("from", "")
    shown = {
        "page": page,
        "query": page.query,
        "links": links,
        "first": int(first) if first.isdecimal() and len(first) <= MOST_DIGITS else 0,
    }
    template = "query.html"
    if request.headers.get("HX-Request"):
        template = "parts/values.html" if first else "parts/query_body.html"
    return render(request, template, shown)
