"""The search for batches, blocks, accounts, transactions, registries and chains.

The database is asked only for text that has the exact format of an id, hash, number or name.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from eth_utils.address import to_checksum_address

from explorer.pages.links import PageLinks
from queries.ids import is_ulid
from queries.reading import search
from queries.reading.pagination import MAX_BIGINT

MAX_LENGTH = 300
# Crockford's base 32 reads O, I and L as digits.
_LOOKALIKES = str.maketrans("OIL", "011")
_HASH = re.compile(r"(?:0x)?([0-9a-f]{64})")
_ADDRESS = re.compile(r"(?:0x)?([0-9a-f]{40})")
_NAME = re.compile(r"[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+")
_MAX_NAME_LENGTH = 255
_NUMBER = re.compile(r"[0-9]{1,3}(?:[ ,_.'][0-9]{3})+|[0-9]{1,19}")
_WORD_SEPARATORS = re.compile(r"[\s:#/]+")
_MAX_WORDS = 12


@dataclass(frozen=True, slots=True)
class Hit:
    kind: str
    name: str
    url: str


@dataclass(frozen=True, slots=True)
class Interpretation:
    """A meaning that the text may have, with the pages that match."""

    kind: str  # such as "the number of a block"
    hits: list[Hit]
    empty_page: Hit | None = None  # if nothing is stored about it yet
    is_requestable: bool = False  # a batch can ask for it


def interpretations(text: str, links: PageLinks) -> Iterator[Interpretation]:
    """All possible meanings; each takes one or two database queries."""
    term = " ".join(_term_of_url(text).split())
    lower, chains = term.lower(), links.chains_by_name()
    batch = term.upper().translate(_LOOKALIKES)
    if is_ulid(batch):
        page = Hit("Batch", batch, reverse("batch", args=[batch]))
        yield Interpretation("the id of a batch", [page] if search.is_batch(batch) else [])
    if match := _HASH.fullmatch(lower):
        hits = [*_transaction_hits(f"0x{match[1]}", links)]
        hits += [_block_hit(*block, links) for block in search.blocks_with_hash(match[1])]
        yield Interpretation("the hash of a transaction or of a block", hits)
    if match := _ADDRESS.fullmatch(lower):
        account = _account_hit(to_checksum_address(match[1]))
        hits = [*_registry_hits(match[1], links)]
        hits += [account] if search.is_account(account.name) else []
        yield Interpretation(
            "the address of an account or of a registry", hits, account, is_requestable=True
        )
    numbered_block = next(_block_numbers(term, chains), None)
    if numbered_block:
        number, chain = numbered_block
        candidates = links.routes.chains if chain is None else [chain]
        hits = [
            _block_hit(*block, links) for block in search.blocks_with_number(number, candidates)
        ]
        empty = _block_hit(chain, number, links) if chain is not None else None
        yield Interpretation("the number of a block", hits, empty, is_requestable=True)
    elif len(lower) <= _MAX_NAME_LENGTH and _NAME.fullmatch(lower):
        hits = [_account_hit(address) for address in search.accounts_with_name(lower)]
        yield Interpretation("the name of an account", hits, is_requestable=True)
    if lower in chains:
        url = f"{reverse('routes')}#chain-{chains[lower]}"
        yield Interpretation("a chain", [Hit("Chain", links.chain_name(chains[lower]), url)])


def _term_of_url(text: str) -> str:
    """The last part of a pasted link to this or another explorer, with the chain of a block."""
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


def _block_numbers(text: str, chains: Mapping[str, int]) -> Iterator[tuple[int, int | None]]:
    """5186021, 5,186,021, block:123, sepolia 123, sepolia block #123, 11155111:123."""
    words = [word for word in _WORD_SEPARATORS.split(text.lower()) if word not in {"", "block"}]
    if len(words) > _MAX_WORDS:
        return
    for end in (*range(len(words) - 1, 0, -1), 0):
        name, number = " ".join(words[:end]), " ".join(words[end:])
        if _NUMBER.fullmatch(number) and (not name or name in chains):
            block = int(re.sub("[^0-9]", "", number))
            if block <= MAX_BIGINT:
                yield block, chains[name] if name else None


def printable(text: str) -> str:
    """Replace characters that are invisible or change the direction of text."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _transaction_hits(hash_: str, links: PageLinks) -> Iterator[Hit]:
    for chain in search.chains_of_transaction(hash_):
        url = reverse("transaction", args=[chain, hash_])
        yield Hit("Transaction", f"{hash_} on {links.chain_name(chain)}", url)


def _registry_hits(digits: str, links: PageLinks) -> Iterator[Hit]:
    for registry in links.registries_at(digits):
        name = f"{registry.address} on {links.chain_name(registry.destination)}"
        url = reverse("registry", args=[registry.destination, registry.address])
        yield Hit("Registry", name, url)


def _account_hit(address: str) -> Hit:
    return Hit("Account", address, reverse("account", args=[address]))


def _block_hit(chain: int, number: int, links: PageLinks) -> Hit:
    name = f"{number:,} of {links.chain_name(chain)}"
    return Hit("Block", name, reverse("block", args=[chain, number]))


def search_page(request: HttpRequest, links: PageLinks) -> HttpResponse:
    text = request.GET.get("q", "").strip()
    is_too_long = len(text) > MAX_LENGTH
    meanings = [] if is_too_long or not text else list(interpretations(text, links))
    hits = [hit for meaning in meanings for hit in meaning.hits]
    if len(hits) == 1:
        return redirect(hits[0].url)
    return render(
        request,
        "search.html",
        {
            "links": links,
            "meanings": meanings,
            "kinds": [meaning.kind for meaning in meanings],
            "is_requestable": any(meaning.is_requestable for meaning in meanings),
            "search_text": printable(text[:MAX_LENGTH]),
            "hits": hits,
            "too_long": is_too_long,
            "max_length": MAX_LENGTH,
        },
    )
