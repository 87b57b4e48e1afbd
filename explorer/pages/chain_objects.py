"""The pages of blocks, accounts and our transactions."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from eth_utils.address import to_checksum_address

from explorer.pages.charts import balance_chart
from explorer.pages.links import PageLinks
from explorer.pages.lists import adjacent_pages, chain_parameter, cursor_of, number_parser
from queries.reading import chain_objects as reading

ROWS_PER_PAGE = 50


def block(request: HttpRequest, chain: int, number: int, links: PageLinks) -> HttpResponse:
    """A block without queries has a page too, if its chain is configured."""
    block = reading.block_view(chain, number)
    queries = reading.queries_of_block(
        chain, number, cursor_of(request, number_parser(1)), ROWS_PER_PAGE
    )
    if not queries.rows and not block.registries and chain not in links.routes.chains:
        raise Http404
    return render(
        request,
        "block.html",
        {
            "links": links,
            "block_view": block,
            "queries": queries,
            "adjacent": adjacent_pages(request, queries),
        },
    )


FACTS_PER_PAGE = 25
MAX_INLINE_ROWS = 50  # a longer table of a chart is fetched when it is opened


def account(request: HttpRequest, address: str, links: PageLinks) -> HttpResponse:
    """An address without queries has a page too."""
    checksum_address = to_checksum_address(address)
    if request.path.rpartition("/")[2] != checksum_address:
        query = request.GET.urlencode()
        return redirect(
            reverse("account", args=[checksum_address]) + (f"?{query}" if query else "")
        )
    account = reading.account_view(checksum_address, links.sources)
    chain = selected_chain(request, account)
    if chain is None:
        return render(request, "account.html", {"links": links, "account": account})
    chart = balance_chart(reading.account_balances(checksum_address, chain))
    table_open = "table" in request.GET
    if table_open and chart and request.headers.get("HX-Request"):
        return render(request, "parts/figure_table.html", {"chart": chart})
    facts = reading.account_queries(
        checksum_address, chain, cursor_of(request, number_parser(2)), FACTS_PER_PAGE
    )
    fetch_table = chart and len(chart.rows) > MAX_INLINE_ROWS and not table_open
    return render(
        request,
        "account.html",
        {
            "links": links,
            "account": account,
            "chain": chain,
            "chains": sorted({chain, *account.chains}),
            "facts": facts,
            "adjacent": adjacent_pages(request, facts),
            "chart": chart,
            "table_open": table_open,
            "table_url": f"?chain={chain}&table=whole" if fetch_table else "",
        },
    )


def selected_chain(request: HttpRequest, account: reading.AccountView) -> int | None:
    """The chain in the URL, or the last one requested, or one with facts; None without batches."""
    chain = chain_parameter(request, "chain")
    if chain is not None:
        return chain
    if account.newest in account.chains or not account.chains:
        return account.newest
    return account.chains[0]


def transaction(request: HttpRequest, chain: int, digits: str, links: PageLinks) -> HttpResponse:
    transaction = reading.transaction_view(chain, f"0x{digits}")
    if transaction is None:
        raise Http404
    cursor = cursor_of(request, number_parser(1))
    queries = reading.queries_of_transaction(transaction, cursor, ROWS_PER_PAGE)
    return render(
        request,
        "transaction.html",
        {
            "links": links,
            "requested_hash": f"0x{digits}",
            "transaction": transaction,
            "queries": queries,
            "adjacent": adjacent_pages(request, queries),
        },
    )
