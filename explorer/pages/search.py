"""The search for batches, feeds, blocks, accounts, transactions, registries and chains.

Only text that looks like an id, hash, number, name or time, or like an abbreviation of one, is
looked up.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import unquote, urlencode, urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from eth_utils.address import to_checksum_address

from accounts.wording import format_timestamp
from explorer.pages.feeds import feed_sentences
from explorer.pages.links import PageLinks, account_url
from explorer.pages.sentences import batch_sentences, block_name
from explorer.pages.times import parse_utc
from queries import reading
from queries.contracts.create2 import verifier_address
from queries.ids import is_ulid
from queries.reading import MAX_BIGINT, public_feed
from queries.sources import lookup_address

MAX_LENGTH = 300
# Crockford's base 32 reads O, I and L as digits.
_LOOKALIKES = str.maketrans("OIL", "011")
_HASH = re.compile(r"(?:0x)?([0-9a-f]{64})")
_ADDRESS = re.compile(r"(?:0x)?([0-9a-f]{40})")
# The beginning, or both ends as pages abbreviate them: 0xd8dA…6045.
_HEX_ENDS = re.compile(r"(?:0x)?([0-9a-f]{4,63})(?:(?:…|\.{2,3})([0-9a-f]{1,40}))?")
_BATCH_ENDS = re.compile(
    r"([0-7][0-9A-HJKMNP-TV-Z]{3,24})(?:(?:…|\.{2,3})([0-9A-HJKMNP-TV-Z]{1,25}))?"
)
_FACT = re.compile(r"/explorer/fact/\d{1,18}/\d{1,18}/\w+/[\w:,]+", re.ASCII)
_NAME = re.compile(r"(?=.{1,255}$)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+")
_NUMBER = re.compile(r"[0-9]{1,3}(?:[ ,_.'][0-9]{3})+|[0-9]{1,19}")
_UNIX_SECONDS = range(1_400_000_000, 4_102_444_800)  # before Ethereum, and up to 2100
_WORD_SEPARATORS = re.compile(r"(?:[\s:#/]|,(?=\s))+")
_MAX_WORDS = 12
_MAX_BATCHES_PER_TIME = 3
MAX_FORMS = 5


@dataclass(frozen=True, slots=True)
class SearchHit:
    kind: str
    name: str
    url: str


@dataclass(frozen=True, slots=True)
class Meaning:
    """A meaning that the text may have, with the pages that match."""

    kind: str  # such as "the number of a block"
    hits: Sequence[SearchHit]
    empty_page: SearchHit | None = None  # if nothing is stored about it yet
    # By label, the query string that fills in the form of a new batch.
    forms: Mapping[str, str] = field(default_factory=dict)


def find_meanings(text: str, links: PageLinks) -> Iterator[Meaning]:
    """Yield each meaning whose format the text has. Every lookup uses an index."""
    term = " ".join(_term_of_url(text).split())
    lower, chains = term.lower(), links.chains_by_name()
    if match := _FACT.search(text):
        yield Meaning("a fact", [SearchHit("Fact", match[0], match[0])])
    batch_id = term.upper().translate(_LOOKALIKES)
    if is_ulid(batch_id):
        hits = [*_batch_hits([batch_id], links), *_feed_hits([batch_id], links)]
        yield Meaning("the id of a batch or of a feed", hits)
    if match := _HASH.fullmatch(lower):
        chain_ids = reading.chains_of_transaction(f"0x{match[1]}")
        hits = [_transaction_hit(chain, f"0x{match[1]}", links) for chain in chain_ids]
        hits += [_block_hit(*block, links) for block in reading.blocks_with_hash(match[1])]
        yield Meaning("the hash of a transaction or of a block", hits)
    if match := _ADDRESS.fullmatch(lower):
        account = _account_hit(to_checksum_address(match[1]))
        hits = [*_registry_hits(match[1], "", links)]
        hits += [account] if reading.is_account(account.name) else []
        kind = "the address of an account or of a registry"
        form = urlencode({"account": account.name})
        yield Meaning(kind, hits, account, {account.name: form})
    if block := next(_block_numbers(term, chains), None):
        yield _block_meaning(*block, links)
    elif _NAME.fullmatch(lower):
        hits = [_account_hit(address) for address in reading.accounts_with_name(lower)]
        form = urlencode({"account": lower})
        yield Meaning("the name of an account", hits, forms={lower: form})
    if (timestamp := _parse_timestamp(lower)) is not None:
        yield _time_meaning(timestamp, links)
    if not (_ADDRESS.fullmatch(lower) or is_ulid(batch_id)):
        yield from _abbreviation_meanings(term, links)
    yield from _name_meanings(lower, chains, links)


def _name_meanings(lower: str, chains: Mapping[str, int], links: PageLinks) -> Iterator[Meaning]:
    if tokens := reading.tokens_with_symbol(lower):
        yield Meaning("the symbol of a token", [_token_hit(*token, links) for token in tokens])
    if lower in chains:
        yield Meaning("a chain", [_chain_hit(chains[lower], links)])


def _abbreviation_meanings(term: str, links: PageLinks) -> Iterator[Meaning]:
    """Match the beginning, or both ends, of an id, address or hash. Skips text of digits only."""
    if term.isdigit():
        return
    if match := _BATCH_ENDS.fullmatch(term.upper()):
        ends = (match[1], match[2] or "")
        hits = _batch_hits(reading.batches_with_prefix(*ends), links)
        hits += _feed_hits(reading.feeds_with_prefix(*ends), links)
        if hits:
            yield Meaning("the beginning of the id of a batch or of a feed", hits)
    if match := _HEX_ENDS.fullmatch(term.lower()):
        ends = (match[1], match[2] or "")
        hits = [_account_hit(address) for address in reading.accounts_with_prefix(*ends)]
        for name in reading.names_with_prefix(*ends):
            if _ADDRESS.fullmatch(name):
                hits.append(_account_hit(to_checksum_address(name)))
                continue
            chain_ids = reading.chains_of_transaction(name)
            hits += [_transaction_hit(chain, name, links) for chain in chain_ids]
        for chain, sent_hash in reading.transactions_with_prefix(*ends):
            hits.append(_transaction_hit(chain, sent_hash, links))
        hits += [_block_hit(*block, links) for block in reading.blocks_with_hash_prefix(*ends)]
        hits += _registry_hits(*ends, links)
        kind = "the beginning of an address or of a hash"
        if hits or match[2] or term.lower().startswith("0x"):
            yield Meaning(kind, hits)


def _block_meaning(number: int, chain: int | None, links: PageLinks) -> Meaning:
    candidates = links.routes.chains if chain is None else [chain]
    blocks = reading.blocks_with_number(number, candidates)
    sources = [chain] if chain is not None else links.sources
    return Meaning(
        "the number of a block",
        [_block_hit(*block, links) for block in blocks],
        _block_hit(chain, number, links) if chain is not None else None,
        {
            block_name(source, number, None, links): urlencode({"source": source, "block": number})
            for source in sources
        },
    )


def _time_meaning(timestamp: int, links: PageLinks) -> Meaning:
    """The last block of each source at that time, and the newest batches submitted by then."""
    time, hits = format_timestamp(timestamp), []
    for source in links.sources:
        query = urlencode({"source": source, "block": time, "to": links.target(source)})
        name = f"the last one of {links.chain_name(source)} at {time}"
        hits.append(SearchHit("Block", name, f"{reverse('routes')}?{query}#can-i"))
    ids = reading.batches_until(datetime.fromtimestamp(timestamp, UTC), _MAX_BATCHES_PER_TIME)
    return Meaning("a time", [*hits, *_batch_hits(ids, links)])


def _parse_timestamp(text: str) -> int | None:
    """Parse a time in UTC, such as `parse_utc` takes, or Unix seconds; None if it is neither."""
    timestamp = int(text) if text.isascii() and text.isdigit() else parse_utc(text)
    return timestamp if timestamp and timestamp in _UNIX_SECONDS else None


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
    """Yield (number, chain or None) for each way to read the text as a block.

    Such as 5186021; 5,186,021; block:123; sepolia 123; Sepolia, block #123; or 11155111:123.
    """
    words = [word for word in _WORD_SEPARATORS.split(text.lower()) if word not in {"", "block"}]
    if len(words) > _MAX_WORDS:
        return
    for end in (*range(len(words) - 1, 0, -1), 0):
        name, number = " ".join(words[:end]), " ".join(words[end:])
        if _NUMBER.fullmatch(number) and (not name or name in chains):
            block = int(re.sub("[^0-9]", "", number))
            if block <= MAX_BIGINT:
                yield block, chains[name] if name else None


def _transaction_hit(chain: int, hash_: str, links: PageLinks) -> SearchHit:
    url = reverse("transaction", args=[chain, hash_])
    return SearchHit("Transaction", f"{hash_} on {links.chain_name(chain)}", url)


def _registry_hits(start: str, end: str, links: PageLinks) -> Iterator[SearchHit]:
    """Registries whose address, or that of a contract beside them, has this start and end."""
    for registry in links.routes.registries.values():
        verifier, lookup = verifier_address(registry.address), lookup_address(registry)
        addresses = [address[2:].lower() for address in (registry.address, verifier, lookup)]
        if not any(text.startswith(start) and text.endswith(end) for text in addresses):
            continue
        source, destination = map(links.chain_name, (registry.source, registry.destination))
        name = f"facts of {source} on {destination}, {registry.address}"
        url = reverse("registry", args=[registry.destination, registry.address])
        yield SearchHit("Registry", name, url)


def _batch_hits(ids: Sequence[str], links: PageLinks) -> list[SearchHit]:
    sentences = batch_sentences(ids, links)
    return [
        SearchHit("Batch", str(sentences[batch_id]), reverse("batch", args=[batch_id]))
        for batch_id in ids
        if batch_id in sentences
    ]


def _feed_hits(ids: Iterable[str], links: PageLinks) -> list[SearchHit]:
    feeds = filter(None, map(public_feed, ids))
    return [
        SearchHit("Feed", str(sentence), reverse("feed", args=[feed_id]))
        for feed_id, sentence in feed_sentences(feeds, links).items()
    ]


def _account_hit(address: str) -> SearchHit:
    return SearchHit("Account", address, reverse("account", args=[address]))


def _chain_hit(chain: int, links: PageLinks) -> SearchHit:
    return SearchHit("Chain", links.chain_name(chain), f"{reverse('routes')}#chain-{chain}")


def _token_hit(chain: int, address: str, symbol: str, links: PageLinks) -> SearchHit:
    name = f"{symbol} on {links.chain_name(chain)}, {address}"
    return SearchHit("Token", name, account_url(address, chain))


def _block_hit(chain: int, number: int, links: PageLinks) -> SearchHit:
    name = block_name(chain, number, None, links)
    return SearchHit("Block", name, reverse("block", args=[chain, number]))


def search_page(request: HttpRequest, links: PageLinks) -> HttpResponse:
    # Drop invisible and direction-changing characters.
    text = "".join(filter(str.isprintable, request.GET.get("q", ""))).strip()
    is_too_long = len(text) > MAX_LENGTH
    meanings = [] if is_too_long or not text else list(find_meanings(text, links))
    hits = list(dict.fromkeys(hit for meaning in meanings for hit in meaning.hits))
    if len(hits) == 1:
        return redirect(hits[0].url)
    context = {
        "meanings": meanings,
        "kinds": [meaning.kind for meaning in meanings],
        "forms": [form for meaning in meanings for form in meaning.forms.items()][:MAX_FORMS],
        "search_text": text[:MAX_LENGTH],
        "hits": hits,
        "too_long": is_too_long,
        "max_length": MAX_LENGTH,
    }
    return render(request, "search.html", context)
