"""The page of an account: what was proven of it."""

import re

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from explorer.address_parts import GREATEST
from explorer.balance_chart import balance_chart
from explorer.list_pages import cursor_of, numbers, ways
from explorer.page_links import PageLinks
from queries.reading import accounts
from queries.reading.spellings import checksummed

ROWS = 25
LINES = 50  # of the chart's table that come with the page; more of them come when they are wanted
TABLE = "table"


@require_safe
@never_cache
def account(request: HttpRequest, address: str, links: PageLinks) -> HttpResponse:
    """An address that nobody asked for has a page too: it can be asked for."""
    spelled = checksummed(address)
    if request.path.rpartition("/")[2] != spelled:
        query = request.GET.urlencode()
        return redirect(reverse("account", args=[spelled]) + (f"?{query}" if query else ""))
    shown = accounts.account(spelled, links.sources)
    chain = chain_of(request, shown)
    if chain is None:
        return render(request, "account.html", {"links": links, "shown": shown})
    chart = balance_chart(accounts.balances_of(spelled, chain))
    asked = TABLE in request.GET
    if asked and chart and request.headers.get("HX-Request"):
        return render(request, "parts/figure_table.html", {"chart": chart})
    facts = accounts.facts_of(spelled, chain, cursor_of(request, numbers(2)), ROWS)
    later = chart and len(chart.rows) > LINES and not asked
    return render(
        request,
        "account.html",
        {
            "links": links,
            "shown": shown,
            "chain": chain,
            "chains": sorted({chain, *shown.chains}),
            "facts": facts,
            "ways": ways(request, facts),
            "chart": chart,
            "table_open": asked,
            "table_at": f"?chain={chain}&{TABLE}=whole" if later else "",
        },
    )


def chain_of(request: HttpRequest, shown: accounts.AccountView) -> int | None:
    """The one that is named, or where it was asked for last, if anything is proven there or
    nowhere. None: nobody asked for it.
    """
    chain = _chain(request)
    if chain is not None:
        return chain
    if shown.newest in shown.chains or not shown.chains:
        return shown.newest
    return shown.chains[0]


def _chain(request: HttpRequest) -> int | None:
    text = request.GET.get("chain", "")
    if not text:
        return None
    if not re.fullmatch("[0-9]{1,19}", text) or int(text) > GREATEST:
        raise Http404
    return int(text)
