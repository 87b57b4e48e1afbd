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
from eth_utils.address import to_checksum_address

from explorer.pages.links import PageLinks
from queries.reading import search
from queries.reading.pagination import GREATEST

LONGEST = 300
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
class Hit:
    """A page about it."""

    kind: str
    name: str
    address: str  # of the page


@dataclass(frozen=True, slots=True)
class Form:
    """A form that the text has, and the pages about what it names."""

    kind: str  # in words
    hits: list[Hit]
    empty_page: Hit | None = None  # of what is not on record yet
    can_be_asked_for: bool = False


def forms_of(text: str, links: PageLinks) -> Iterator[Form]:
    """All that the text may be; each is looked for in one statement or two."""
    meant = " ".join(_of_an_address_of_the_web(text).split())
    lower, chains = meant.lower(), links.chains_called()
    batch = meant.upper().translate(_LOOKALIKES)
    if _BATCH.fullmatch(batch):
        page = Hit("Batch", batch, reverse("batch", args=[batch]))
        yield Form("the id of a batch", [page] if search.is_batch(batch) else [])
    if found := _HASH.fullmatch(lower):
        hits = [*_transactions(f"0x{found[1]}", links)]
        hits += [_block(*each, links) for each in search.blocks_with_hash(found[1])]
        yield Form("the hash of a transaction or of a block", hits)
    if found := _ADDRESS.fullmatch(lower):
        account = _account(to_checksum_address(found[1]))
        hits = [*_registries(found[1], links)]
        hits += [account] if search.is_account(account.name) else []
        yield Form(
            "the address of an account or of a registry", hits, account, can_be_asked_for=True
        )
    numbered = next(_numbers(meant, chains), None)
    if numbered:
        number, chain = numbered
        on = links.routes.chains if chain is None else [chain]
        hits = [_block(*each, links) for each in search.blocks_numbered(number, on)]
        empty = _block(chain, number, links) if chain is not None else None
        yield Form("the number of a block", hits, empty, can_be_asked_for=True)
    elif len(lower) <= _LONGEST_NAME and _NAME.fullmatch(lower):
        hits = [_account(each) for each in search.accounts_named(lower)]
        yield Form("the name of an account", hits, can_be_asked_for=True)
    if lower in chains:
        address = f"{reverse('routes')}#chain-{chains[lower]}"
        yield Form("a chain", [Hit("Chain", links.chain_name(chains[lower]), address)])


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
            if found <= GREATEST:
                yield found, chains[called] if called else None


def legible(text: str) -> str:
    """To be shown: a mark replaces what cannot be seen, or turns the text beside it around."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)


def _transactions(hash_: str, links: PageLinks) -> Iterator[Hit]:
    for chain in search.chains_of_transaction(hash_):
        address = reverse("transaction", args=[chain, hash_])
        yield Hit("Transaction", f"{hash_} on {links.chain_name(chain)}", address)


def _registries(digits: str, links: PageLinks) -> Iterator[Hit]:
    for each in links.registries_at(digits):
        name = f"{each.address} on {links.chain_name(each.destination)}"
        address = reverse("registry", args=[each.destination, each.address])
        yield Hit("Registry", name, address)


def _account(address: str) -> Hit:
    return Hit("Account", address, reverse("account", args=[address]))


def _block(chain: int, number: int, links: PageLinks) -> Hit:
    name = f"{number:,} of {links.chain_name(chain)}"
    return Hit("Block", name, reverse("block", args=[chain, number]))


def search_page(request: HttpRequest, links: PageLinks) -> HttpResponse:
    typed = request.GET.get("q", "")
    text = typed.strip()
    is_too_long = len(text) > LONGEST
    forms = [] if is_too_long or not text else list(forms_of(text, links))
    hits = [hit for form in forms for hit in form.hits]
    if len(hits) == 1:
        return redirect(hits[0].address)
    return render(
        request,
        "search.html",
        {
            "links": links,
            "forms": forms,
            "kinds": [form.kind for form in forms],
            "can_be_asked_for": any(form.can_be_asked_for for form in forms),
            "looked_for": legible(text[:LONGEST]),
            "hits": hits,
            "too_long": is_too_long,
            "longest": LONGEST,
        },
    )
