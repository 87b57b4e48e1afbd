"""The search: what was typed, what it may mean, and the page or the list of what was found.

Only text that has the exact form of a thing is looked up in the database.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from explorer.links import PageLinks
from queries.reading import searches
from queries.reading.searches import checksummed

LONGEST = 300
_GREATEST = 2**63 - 1  # that the database keeps
# A ULID, of Crockford's alphabet; O, I and L are read as the digits they look like.
_BATCH = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_LOOKALIKES = str.maketrans("OIL", "011")
_HASH = re.compile(r"(?:0x)?([0-9a-f]{64})")
_ADDRESS = re.compile(r"(?:0x)?([0-9a-f]{40})")
_NAME = re.compile(r"[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+")
_LONGEST_NAME = 255
_NUMBER = re.compile(r"[0-9]{1,3}(?:[ ,_.'][0-9]{3})+|[0-9]{1,19}")
_BETWEEN_WORDS = re.compile(r"[\s:#/]+")
_MOST_WORDS = 12


@dataclass(frozen=True, slots=True)
class Terms:
    """Each form that the text has; most have none."""

    text: str
    batch: str = ""
    hash: str = ""  # 64 hex digits in lower case
    address: str = ""  # 40 hex digits in lower case
    name: str = ""
    number: int | None = None
    number_chain: int | None = None  # on which chain the block is looked for; None: on all
    chain: int | None = None  # the text names a chain

    @property
    def kinds(self) -> tuple[str, ...]:
        """What it has the form of, in words."""
        found = {
            "the id of a batch": self.batch,
            "the hash of a transaction or of a block": self.hash,
            "the address of an account or of a registry": self.address,
            "the name of an account": self.name,
            "the number of a block": self.number is not None,
            "a chain": self.chain is not None,
        }
        return tuple(kind for kind, there in found.items() if there)


def terms_of(typed: str, chains: Mapping[str, int]) -> Terms:
    """`chains`: ids by what they are called, in lower case."""
    text = typed.strip()
    if not text or len(text) > LONGEST:
        return Terms(text[:LONGEST])
    meant = " ".join(_of_an_address_of_the_web(text).split())
    lower = meant.lower()
    batch = meant.upper().translate(_LOOKALIKES)
    hashed, address = _HASH.fullmatch(lower), _ADDRESS.fullmatch(lower)
    is_name = len(lower) <= _LONGEST_NAME and _NAME.fullmatch(lower)
    number, number_chain = next(_numbers(meant, chains), (None, None))
    return Terms(
        text,
        batch=batch if _BATCH.fullmatch(batch) else "",
        hash=hashed[1] if hashed else "",
        address=address[1] if address else "",
        name=lower if is_name and number is None else "",
        number=number,
        number_chain=number_chain,
        chain=chains.get(lower),
    )


def _of_an_address_of_the_web(text: str) -> str:
    """The end of a pasted link, of ours or of another explorer; and a block's chain before it."""
    if not re.match(r"https?://", text, re.IGNORECASE):
        return text
    try:
        parts = [unquote(part) for part in urlsplit(text).path.split("/") if part]
    except ValueError:
        return text
    match parts[-4:]:
        case [_, "block", chain, number] | ["block", chain, number]:
            return f"{chain} {number}"
        case [*_, last]:
            return last
    return text


def _numbers(text: str, chains: Mapping[str, int]) -> Iterator[tuple[int, int | None]]:
    """5186021, 5,186,021, block:123, sepolia 123, sepolia block #123, 11155111:123."""
    words = [word for word in _BETWEEN_WORDS.split(text.lower()) if word not in {"", "block"}]
    if len(words) > _MOST_WORDS:
        return
    for end in (*range(len(words) - 1, 0, -1), 0):
        called, number = " ".join(words[:end]), " ".join(words[end:])
        if _NUMBER.fullmatch(number) and (not called or called in chains):
            found = int(re.sub("[^0-9]", "", number))
            if found <= _GREATEST:
                yield found, chains[called] if called else None


def legible(text: str) -> str:
    """To be shown: what has no shape of its own, or turns what stands beside it, is a mark."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)


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
        *_number_hits(terms, links),
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


def _number_hits(terms: Terms, links: PageLinks) -> Iterator[Hit]:
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
