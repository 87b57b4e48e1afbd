"""Proofs that a reader's contract passes to a registry's `verify` in its own transaction.

Nothing is sent or stored, and no fact is taken from the registry.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

from queries.chain.registry import FactRead, Known, missing
from queries.chain.registry_checks import own_hashes
from queries.config.registries import Registry, RegistryKind
from queries.contracts.abi import call_data
from queries.models import Query
from queries.planning.anchors import AnchorSearch, NotKnownYet, OutOfReach, Preparation
from queries.planning.calls import Anchor, Call, Piece, requests_of
from queries.planning.lookups import block_at, find_accounts, reads_of
from queries.planning.readers import ChainReaders
from queries.proving.bundles import FactKind
from queries.proving.headers import Header
from queries.proving.keccak import keccak256
from queries.proving.packing import CALLDATA_BYTES
from queries.proving.registry_calls import PROVE_SELECTOR

Fact = tuple[Query, str, bytes]  # its query, its name there, and its word
Place = tuple[int, bool, int, bytes, bytes]


class NotProvable(Exception):  # noqa: N818
    """Why the facts cannot be proven now; `is_final` if they never can be."""

    def __init__(self, sentence: str, *, is_final: bool = False) -> None:
        super().__init__(sentence)
        self.is_final = is_final


@dataclass(frozen=True, slots=True)
class Witness:
    """All facts of one source chain."""

    registry: Registry
    proof: bytes  # the parameter of `verify`
    facts: tuple[Fact, ...]
    gas: int  # of a transaction that does nothing else
    valid_until: int | None  # the destination's block after which it reverts; None: it stays valid


def witnesses(chains: ChainReaders, destination: int, queries: Sequence[Query]) -> list[Witness]:
    """Raises `NotProvable` or `ChainError`. The queries are of one batch."""
    for query in queries:
        if query.timestamp is not None:
            query.block, waits_for = block_at(chains, query.source, query.timestamp)
            if waits_for:
                raise NotProvable(waits_for.sentence)
    sources = dict.fromkeys(query.source for query in queries)
    return [
        _witness(chains, chains.routes.registries[each, destination], queries) for each in sources
    ]


def _witness(chains: ChainReaders, registry: Registry, queries: Sequence[Query]) -> Witness:
    own = sorted((query for query in queries if query.source == registry.source), key=_block)
    shown = [_of_block(chains, registry, *each) for each in groupby(own, _block)]
    pieces = [piece for piece, _ in shown]
    call = Call.of(pieces)
    if len(call.data) > CALLDATA_BYTES:
        too_large = "The proof does not fit into one transaction. Ask for less, or submit a batch."
        raise NotProvable(too_large, is_final=True)
    proof = call.data[len(PROVE_SELECTOR) :]
    to = chains.destination(registry.destination)
    gas = to.gas_needed(chains.sender, registry.address, call_data("verify(bytes)", proof))
    until = _valid_until(chains, registry, [piece.anchor for piece in pieces])
    placed = sorted((each for _, facts in shown for each in facts), key=itemgetter(0))
    return Witness(registry, proof, tuple(fact for _, fact in placed), gas, until)


def _block(query: Query) -> int:
    return query.block or 0


def _of_block(
    chains: ChainReaders, registry: Registry, block: int, named: Iterable[Query]
) -> tuple[Piece, list[tuple[Place, Fact]]]:
    if wait := chains.provable_head(registry).waits_for(block):
        raise NotProvable(wait.sentence)
    source = chains.source(registry.source)
    header = source.header(block)
    queries = list(named)
    find_accounts(chains, header, queries)
    reads = [(query, name, read) for query in queries for name, read in reads_of(query).items()]
    nothing_known = dict.fromkeys(read for *_, read in reads)
    known = replace(chains.facts(registry).known(header, []), words=nothing_known)
    found = _anchor(chains, registry, header, known)
    lacking = missing(known.words)
    proofs = source.account_proofs(header, lacking.asked)
    piece = Piece(
        job=0,
        anchor=found,
        fields=lacking.header_fields,
        timestamps=lacking.timestamps,
        requests=requests_of(lacking, proofs),
    )
    words = lacking.words(header, proofs)
    return piece, [(_place(piece, read), (query, name, words[read])) for query, name, read in reads]


def _place(piece: Piece, read: FactRead) -> Place:
    """Where `verify` returns the fact: its list, then the order of sections, and of hashes."""
    anchor, key = piece.anchor, read.key.to_bytes(32)
    joins = not (piece.by_words or anchor.hop)
    name = keccak256(key) if read.kind is FactKind.STORAGE_SLOT else key
    account = keccak256(read.account)
    return list(FactKind).index(read.kind), joins, anchor.header.number, account, name


def _anchor(chains: ChainReaders, registry: Registry, header: Header, known: Known) -> Anchor:
    """Hops that a batch would send first are part of the proof, if they fit."""
    search, way, start = AnchorSearch.of(chains, registry), b"", 0
    found = search.find(header, known)
    if isinstance(found, Preparation) and found.way and found.hops == found.in_call:
        way, start = found.way, found.start
        # As if known: this proof cannot rely on what it accumulates, but on what it hops to.
        found = replace(search, after=replace(found, hops=0)).find(header, known)
    if isinstance(found, OutOfReach):
        raise NotProvable(found.sentence(header.number), is_final=True)
    if isinstance(found, NotKnownYet):
        raise NotProvable(found.why.sentence)
    if isinstance(found, Preparation):
        raise NotProvable(f"{found.sentence} A batch does that.")
    return replace(found, hop=way + found.hop, hop_from=start) if way else found


def _valid_until(chains: ChainReaders, registry: Registry, anchors: Sequence[Anchor]) -> int | None:
    """A chain forgets its own hashes; what is recorded or accumulated stays."""
    if registry.kind is not RegistryKind.NATIVE:
        return None
    known = {anchor.known for anchor in anchors if not anchor.accumulated or anchor.above}
    leaving = known.difference(chains.facts(registry).accumulated(sorted(known)))
    if not leaving:
        return None
    return min(leaving) + own_hashes(chains.destination(registry.destination))
