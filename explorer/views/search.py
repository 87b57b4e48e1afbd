"""Whatever was typed, to the page that shows it."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from explorer.page_links import PageLinks
from explorer.search_hits import hits_of
from explorer.search_terms import LONGEST, legible, terms_of


@require_safe
@never_cache
def search(request: HttpRequest, links: PageLinks) -> HttpResponse:
    typed = request.GET.get("q", "")
    terms = terms_of(typed, links.chains_called())
    hits = hits_of(terms, links)
    if len(hits) == 1:
        return redirect(hits[0].address)
    return render(
        request,
        "search.html",
        {
            "links": links,
            "terms": terms,
            "looked_for": legible(terms.text),
            "hits": hits,
            "too_long": len(typed.strip()) > LONGEST,
            "longest": LONGEST,
        },
    )
