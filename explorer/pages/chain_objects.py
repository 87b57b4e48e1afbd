"""The pages of blocks, accounts and our transactions."""

from functools import partial

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from eth_utils.address import to_checksum_address

from explorer.pages.charts import balance_chart, balance_title
from explorer.pages.fact_rows import fact_page
from explorer.pages.facts import FactLine, fact_line
from explorer.pages.headlines import (
    account_figures,
    account_headline,
    balances,
    block_figures,
    block_headline,
    confirmation_text,
    source_transaction_headline,
    transaction_figures,
    transaction_headline,
)
from explorer.pages.links import PageLinks
from explorer.pages.lists import chain_parameter
from explorer.pages.sentences import batch_sentences
from queries.reading import chain_objects as reading
from queries.reading import fact_lists, search
from queries.reading.fact_lists import FactList
from queries.reading.facts import named_facts
from queries.reading.figures import chain_heads

FACTS_PER_PAGE = 50
MAX_INLINE_ROWS = 50  # a longer table of a chart is fetched when it is opened


def block(request: HttpRequest, chain: int, number: int, links: PageLinks) -> HttpResponse:
    """A block without queries has a page too, if its chain is configured."""
    block = reading.block_view(chain, number)
    facts = fact_lists.block_facts(chain, number)
    if not facts.facts and not block.registries and chain not in links.routes.chains:
        raise Http404
    read = partial(fact_lists.block_facts, chain, number)
    return render(
        request,
        "block.html",
        {
            "links": links,
            "block_view": block,
            "headline": block_headline(block, facts, links),
            "figures": block_figures(block, facts, links),
            "proven_on": {chain for listed in facts.proven for chain in listed.destinations},
            "page": fact_page(request, facts, read, links, FACTS_PER_PAGE),
        },
    )


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
    facts = FactList() if chain is None else fact_lists.account_facts(checksum_address, chain)
    events = () if chain is None else named_facts(chain, checksum_address.lower())
    context = {
        "links": links,
        "account": account,
        "chain": chain,
        "chains": account.chains if chain is None else sorted({chain, *account.chains}),
        "headline": account_headline(account, chain, facts, len(events), links),
        "events": [fact_line(fact, links) for fact in events],
    }
    if chain is None or not facts.facts:
        return render(request, "account.html", context)
    found = balances(facts)
    chart = balance_chart(found)
    table_open = "table" in request.GET
    if table_open and chart and request.headers.get("HX-Request"):
        return render(request, "parts/figure_table.html", {"chart": chart})
    fetch_table = chart and len(chart.rows) > MAX_INLINE_ROWS and not table_open
    read = partial(fact_lists.account_facts, checksum_address, chain)
    context |= {
        "figures": account_figures(facts, chain, links),
        "page": fact_page(request, facts, read, links, FACTS_PER_PAGE),
        "chart": chart,
        "balance_sentence": balance_title(found) if len(found) > 1 else "",
        "table_open": table_open,
        "table_url": f"?chain={chain}&table=whole" if fetch_table else "",
    }
    return render(request, "account.html", context)


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
    events = [fact_line(fact, links) for fact in named_facts(chain, f"0x{digits}")]
    if transaction is None:
        return _source_transaction(request, chain, f"0x{digits}", events, links)
    facts = fact_lists.transaction_facts(transaction.key)
    read = partial(fact_lists.transaction_facts, transaction.key)
    return render(
        request,
        "transaction.html",
        {
            "links": links,
            "requested_hash": f"0x{digits}",
            "transaction": transaction,
            "headline": transaction_headline(transaction, facts, links),
            "figures": transaction_figures(transaction, facts, links),
            "confirmations": confirmation_text(transaction, chain_heads([chain]), links),
            "events": events,
            "sentences": batch_sentences([batch.id for batch in transaction.batches], links),
            "page": fact_page(request, facts, read, links, FACTS_PER_PAGE),
        },
    )


def _source_transaction(
    request: HttpRequest, chain: int, hash_: str, events: list[FactLine], links: PageLinks
) -> HttpResponse:
    """A transaction of a source chain, with what is proven of it."""
    if not (events or chain in search.chains_of_transaction(hash_)):
        raise Http404
    headline = source_transaction_headline(hash_, chain, len(events), links)
    context = {"links": links, "chain": chain, "hash": hash_, "headline": headline}
    return render(request, "source_transaction.html", {**context, "events": events})
