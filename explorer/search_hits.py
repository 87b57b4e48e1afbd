"""Where what was searched for is on record here."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import reverse

from explorer.page_links import PageLinks
from explorer.search_terms import Terms
from queries.reading import searches
from queries.reading.spellings import checksummed


@dataclass(frozen=True, slots=True)
class Hit:
    """A page about it."""

    kind: str
    name: str
    address: str  # of the page


def hits_of(terms: Terms, links: PageLinks) -> tuple[Hit, ...]:
    """Each form of the text is looked for in one statement or two."""
    return (
        *_batches(terms),
        *_hashes(terms, links),
        *_accounts(terms, links),
        *_numbers(terms, links),
        *_chains(terms, links),
    )


def _batches(terms: Terms) -> Iterator[Hit]:
    if terms.batch and searches.is_batch(terms.batch):
        yield Hit("Batch", terms.batch, reverse("batch", args=[terms.batch]))


def _hashes(terms: Terms, links: PageLinks) -> Iterator[Hit]:
    if not terms.hash:
        return
    for each in searches.transactions_of(f"0x{terms.hash}"):
        address = reverse("transaction", args=[each.chain, each.hash])
        yield Hit("Transaction", f"{each.hash} on {links.chain_name(each.chain)}", address)
    for block in searches.blocks_with_hash(terms.hash):
        yield _block(block, links)


def _accounts(terms: Terms, links: PageLinks) -> Iterator[Hit]:
    if terms.address:
        for registry in links.registries_at(terms.address):
            name = f"{registry.address} on {links.chain_name(registry.destination)}"
            address = reverse("registry", args=[registry.destination, registry.address])
            yield Hit("Registry", name, address)
        account = checksummed(terms.address)
        if searches.is_account(account):
            yield Hit("Account", account, reverse("account", args=[account]))
    if terms.name:
        for account in searches.accounts_named(terms.name):
            yield Hit("Account", account, reverse("account", args=[account]))


def _numbers(terms: Terms, links: PageLinks) -> Iterator[Hit]:
    if terms.number is None:
        return
    chosen = terms.number_chain
    chains = links.routes.chains if chosen is None else [chosen]
    for block in searches.blocks_numbered(terms.number, chains):
        yield _block(block, links)


def _chains(terms: Terms, links: PageLinks) -> Iterator[Hit]:
    if terms.chain is not None:
        address = f"{reverse('routes')}#chain-{terms.chain}"
        yield Hit("Chain", links.chain_name(terms.chain), address)


def _block(found: searches.BlockFound, links: PageLinks) -> Hit:
    name = f"{found.number:,} of {links.chain_name(found.chain)}"
    return Hit("Block", name, reverse("block", args=[found.chain, found.number]))
