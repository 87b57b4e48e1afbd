"""The pages of blocks, accounts, and transactions of this server and of source chains."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from eth_utils.address import to_checksum_address

from explorer.pages.charts import balance_chart
from explorer.pages.fact_rows import FACTS_PER_PAGE, groups_page
from explorer.pages.facts import answer_context
from explorer.pages.headlines import (
    account_headline,
    balance_change,
    balance_text,
    block_headline,
    confirmation_text,
    proves_absence,
    source_transaction_headline,
    transaction_headline,
)
from explorer.pages.links import PageLinks
from explorer.pages.lists import chain_parameter
from explorer.pages.live import LivePage, content_digest, render_live
from explorer.pages.sentences import batch_sentences
from queries import reading
from queries.reading import account_changes, facts_mentioning, read_chain_heads


def block(request: HttpRequest, chain: int, number: int, links: PageLinks) -> HttpResponse:
    """A block without queries has a page too, if its chain is configured."""
    block = reading.block_view(chain, number)
    if not block.is_requested and not block.registries and chain not in links.routes.chains:
        raise Http404
    rows = reading.block_facts(chain, number)
    facts = reading.summarise_facts(rows)
    return render(
        request,
        "block.html",
        {
            "block_view": block,
            "headline": block_headline(block, facts, links),
            "facts": facts,
            "readable_destinations": [
                entry.destination
                for entry in block.registries
                if entry.is_accumulated or entry.destination in facts.destinations
            ],
            "page": groups_page(request, rows, links),
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
    chain = selected_chain(request, checksum_address, links)
    digest = content_digest(chain, account_changes(checksum_address, chain, FACTS_PER_PAGE))

    def context() -> dict[str, object]:
        return _account_context(request, checksum_address, chain, links)

    address = request.path if chain is None else f"{request.path}?chain={chain}"
    page = LivePage("account.html", "parts/account.html", digest, address=address)
    return render_live(request, page, context)


def _account_context(
    request: HttpRequest, checksum_address: str, chain: int | None, links: PageLinks
) -> dict[str, object]:
    account = reading.account_view(checksum_address, links.sources)
    rows = reading.account_facts(checksum_address, chain)
    facts = reading.summarise_facts(rows)
    events = () if chain is None else facts_mentioning(chain, checksum_address.lower())
    context: dict[str, object] = {
        "account": account,
        "chain": chain,
        "chains": account.chains if chain is None else sorted({chain, *account.chains}),
        "headline": account_headline(account, chain, facts, len(events), links),
        "events": [answer_context(fact, links) for fact in events],
    }
    if chain is None or not facts.facts:
        return context
    balance = next(iter(facts.balances), None)
    return context | {
        "facts": facts,
        "balance": balance,
        "balance_text": balance_text(balance, links.currency(chain)) if balance else "",
        "balance_destinations": facts.destinations_of(balance) if balance else [],
        "is_absent": balance is not None and proves_absence(facts, balance.block),
        "balance_change": balance_change(facts, links.currency(chain)),
        "balance_chart": balance_chart(facts.balances, links.currency(chain)),
        "page": groups_page(request, rows, links),
    }


def selected_chain(request: HttpRequest, address: str, links: PageLinks) -> int | None:
    """The chain in the URL, or the last one requested, or one with facts; None without batches."""
    chain = chain_parameter(request, "chain")
    if chain is not None:
        return chain
    account = reading.account_view(address, links.sources)
    if account.newest in account.chains or not account.chains:
        return account.newest
    return account.chains[0]


def transaction(request: HttpRequest, chain: int, digits: str, links: PageLinks) -> HttpResponse:
    transaction = reading.transaction_view(chain, f"0x{digits}")
    events = [answer_context(fact, links) for fact in facts_mentioning(chain, f"0x{digits}")]
    if transaction is None:
        return _source_transaction(request, chain, f"0x{digits}", events, links)
    rows = reading.transaction_facts(transaction.key)
    facts = reading.summarise_facts(rows)
    return render(
        request,
        "transaction.html",
        {
            "requested_hash": f"0x{digits}",
            "transaction": transaction,
            "headline": transaction_headline(transaction, facts, links),
            "facts": facts,
            "batch_count": len(transaction.batches) + transaction.more_batches,
            "confirmations": confirmation_text(transaction, read_chain_heads([chain]), links),
            "events": events,
            "sentences": batch_sentences([batch.id for batch in transaction.batches], links),
            "page": groups_page(request, rows, links),
        },
    )


def _source_transaction(
    request: HttpRequest, chain: int, hash_: str, events: list[dict[str, Any]], links: PageLinks
) -> HttpResponse:
    """A transaction of a source chain, with what is proven of it."""
    if not (events or chain in reading.chains_of_transaction(hash_)):
        raise Http404
    headline = source_transaction_headline(hash_, chain, len(events), links)
    context = {"chain": chain, "hash": hash_, "headline": headline, "events": events}
    return render(request, "source_transaction.html", context)
