"""The pages of blocks, accounts, and transactions of this server and of source chains."""

from functools import partial
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from eth_utils.address import to_checksum_address

from explorer.pages.fact_rows import fact_cell, fact_page
from explorer.pages.facts import answer_context
from explorer.pages.headlines import (
    absent_accounts,
    account_headline,
    balance_change,
    block_headline,
    confirmation_text,
    proven_balances,
    source_transaction_headline,
    transaction_headline,
)
from explorer.pages.links import PageLinks
from explorer.pages.lists import chain_parameter
from explorer.pages.sentences import batch_sentences
from queries.reading import chain_objects as reading
from queries.reading import fact_lists, search
from queries.reading.chain_heads import chain_heads
from queries.reading.fact_lists import FactListView
from queries.reading.facts import facts_mentioning


def block(request: HttpRequest, chain: int, number: int, links: PageLinks) -> HttpResponse:
    """A block without queries has a page too, if its chain is configured."""
    block = reading.block_view(chain, number)
    read = partial(fact_lists.block_facts, chain, number)
    facts = read()
    if not facts.facts and not block.registries and chain not in links.routes.chains:
        raise Http404
    proven_on = {destination for entry in facts.proven_facts for destination in entry.destinations}
    return render(
        request,
        "block.html",
        {
            "block_view": block,
            "headline": block_headline(block, facts, links),
            "facts": facts,
            "accounts": {entry.fact.account for entry in facts.proven_facts} - {""},
            "readable_destinations": [
                entry.destination
                for entry in block.registries
                if entry.is_accumulated or entry.destination in proven_on
            ],
            "proven_on": proven_on,
            "page": fact_page(request, facts, read, links),
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
    facts = FactListView() if chain is None else fact_lists.account_facts(checksum_address, chain)
    events = () if chain is None else facts_mentioning(chain, checksum_address.lower())
    context: dict[str, object] = {
        "account": account,
        "chain": chain,
        "chains": account.chains if chain is None else sorted({chain, *account.chains}),
        "headline": account_headline(account, chain, facts, len(events), links),
        "events": [answer_context(fact, links) for fact in events],
    }
    if chain is None or not facts.facts:
        return render(request, "account.html", context)
    read = partial(fact_lists.account_facts, checksum_address, chain)
    balances, absent_keys = proven_balances(facts), absent_accounts(facts.facts)
    context |= {
        "facts": facts,
        "blocks": {entry.fact.block for entry in facts.facts},
        "balance": fact_cell(balances[0], links) if balances else None,
        "is_absent": bool(balances) and (balances[0].fact.block, checksum_address) in absent_keys,
        "balance_change": balance_change(facts, links.currency(chain)),
        "page": fact_page(request, facts, read, links),
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
    events = [answer_context(fact, links) for fact in facts_mentioning(chain, f"0x{digits}")]
    if transaction is None:
        return _source_transaction(request, chain, f"0x{digits}", events, links)
    read = partial(fact_lists.transaction_facts, transaction.key)
    facts = read()
    return render(
        request,
        "transaction.html",
        {
            "requested_hash": f"0x{digits}",
            "transaction": transaction,
            "headline": transaction_headline(transaction, facts, links),
            "facts": facts,
            "batch_count": len(transaction.batches) + transaction.more_batches,
            "confirmations": confirmation_text(transaction, chain_heads([chain]), links),
            "events": events,
            "sentences": batch_sentences([batch.id for batch in transaction.batches], links),
            "page": fact_page(request, facts, read, links),
        },
    )


def _source_transaction(
    request: HttpRequest, chain: int, hash_: str, events: list[dict[str, Any]], links: PageLinks
) -> HttpResponse:
    """A transaction of a source chain, with what is proven of it."""
    if not (events or chain in search.chains_of_transaction(hash_)):
        raise Http404
    headline = source_transaction_headline(hash_, chain, len(events), links)
    context = {"chain": chain, "hash": hash_, "headline": headline, "events": events}
    return render(request, "source_transaction.html", context)
