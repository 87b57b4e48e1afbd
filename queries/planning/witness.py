"""Proofs that a reader's contract passes to a registry's `verify` in its own transaction.

Sends and stores nothing. Facts in the registry are proven again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter, itemgetter

from queries.config.limits import ROWS_PER_PASS
from queries.contracts.abi import call_data
from queries.contracts.create2 import verifier_address
from queries.facts import facts_of
from queries.models import Attestation, BlockJob, Query
from queries.planning.calls import (
    AccountPiece,
    Anchor,
    HopPreparation,
    accounts_to_store,
    joined_calldata,
)
from queries.planning.events import EventPiece
from queries.planning.plan import BlockPlan
from queries.planning.readers import ChainReaders
from queries.proving import CALLDATA_BYTES, PROVE_SELECTOR, keccak256
from queries.proving.facts import KINDS, BlockFact
from queries.sources import HashNotKnown, NewestBlock, Preparation, Registry, RegistryReader

WitnessFact = tuple[Query, str, bytes]  # query, the fact's name in the query, word
FactSortKey = tuple[int, bool, int, bytes, bytes]


class NotProvableError(Exception):
    """Raised if the facts cannot be proven now; `is_permanent` if they never can be."""

    def __init__(self, sentence: str, *, is_permanent: bool = False) -> None:
        super().__init__(sentence)
        self.is_permanent = is_permanent


@dataclass(frozen=True, slots=True)
class EventWitness:
    """Facts about one block's content, for the events verifier."""

    piece: EventPiece  # has the parameters of `verify`
    facts: tuple[WitnessFact, ...]
    gas: int


@dataclass(frozen=True, slots=True)
class RegistryWitness:
    """All facts of one source chain."""

    registry: Registry
    proof: bytes  # the parameter of `verify`; empty if all facts are about the content of blocks
    facts: tuple[WitnessFact, ...]
    event_witnesses: tuple[EventWitness, ...]
    gas: int  # of a transaction that does nothing else
    valid_until: int | None  # the destination's block after which it reverts; None: it stays valid


def make_witnesses(
    chains: ChainReaders, destination: int, queries: Sequence[Query], l1_block: int | None = None
) -> list[RegistryWitness]:
    """Make the witnesses for queries of one batch. Raises `NotProvableError` or `ChainError`.

    `l1_block`: on an OP-stack route, the L1 block that the caller's node sees. The proof starts
    there, recorded or not, and is not tried on our node, which may see another block.
    """
    for query in queries:
        if query.timestamp is not None:
            query.block, reason = chains.block_at_time(query.source, query.timestamp)
            if reason:
                raise NotProvableError(reason.sentence)
    sources = dict.fromkeys(query.source for query in queries)
    return [
        _make_witness(chains, chains.routes.registries[source, destination], queries, l1_block)
        for source in sources
    ]


def _make_witness(
    chains: ChainReaders, registry: Registry, queries: Sequence[Query], l1_block: int | None
) -> RegistryWitness:
    node, event_witnesses = chains.client(registry.destination), list[EventWitness]()
    pieces, facts = list[AccountPiece](), list[tuple[FactSortKey, WitnessFact]]()
    source_queries = [query for query in queries if query.source == registry.source]
    block_groups = groupby(sorted(source_queries, key=attrgetter("block")), attrgetter("block"))
    for block, group in block_groups:
        for piece, piece_facts in _prove_block(chains, registry, block, list(group), l1_block):
            if isinstance(piece, EventPiece):
                call = call_data("verify(bytes,bytes)", piece.section, piece.witness)
                _check_size(call)
                gas = node.estimate_gas(chains.sender, piece.to, call)
                event_witnesses.append(
                    EventWitness(piece, tuple(fact for _, fact in piece_facts), gas)
                )
            else:
                pieces.append(piece)
                facts += [(_fact_sort_key(piece, fact), entry) for fact, entry in piece_facts]
    proof = joined_calldata(pieces)[len(PROVE_SELECTOR) :]
    _check_size(proof)
    gas = sum(entry.gas for entry in event_witnesses)
    if pieces and l1_block is None:
        gas += node.estimate_gas(chains.sender, registry.address, call_data("verify(bytes)", proof))
    anchors = [piece.anchor for piece in (*pieces, *(entry.piece for entry in event_witnesses))]
    last_valid_block = _last_valid_block(chains, registry, anchors)
    sorted_facts = tuple(fact for _, fact in sorted(facts, key=itemgetter(0)))
    return RegistryWitness(
        registry, proof, sorted_facts, tuple(event_witnesses), gas, last_valid_block
    )


def _check_size(calldata: bytes) -> None:
    if len(calldata) > CALLDATA_BYTES:
        sentence = "The proof does not fit into one transaction. Ask for less, or submit a batch."
        raise NotProvableError(sentence, is_permanent=True)


def _prove_block(
    chains: ChainReaders,
    registry: Registry,
    block: int,
    queries: Sequence[Query],
    l1_block: int | None,
) -> Iterator[tuple[AccountPiece | EventPiece, list[tuple[BlockFact, WitnessFact]]]]:
    """The pieces for the events verifier and the registry, with the facts that each proves."""
    if reason := chains.provable_head(registry).wait_reason(block):
        raise NotProvableError(reason.sentence)
    plan = BlockPlan.read(chains, registry, block, queries)
    # Treat every fact as missing: the proof repeats those that the registry already has.
    words_to_prove = dict.fromkeys(plan.registry_block.words)
    plan = replace(plan, registry_block=replace(plan.registry_block, words=words_to_prove))
    missing, anchor = plan.missing, _find_witness_anchor(plan, l1_block)
    proofs = plan.content.source.account_proofs(plan.header, missing.account_slots)
    words, entries = missing.words(plan.header, proofs), list[tuple[BlockFact, WitnessFact]]()
    for query in queries:
        facts = facts_of(query)
        for name in query.event_names:
            words[facts[name]] = bytes.fromhex(plan.events[name]["word"])
        entries += [(fact, (query, name, words[fact])) for name, fact in facts.items()]
    pieces: list[AccountPiece | EventPiece] = []
    if events := missing.events:
        verifier = verifier_address(registry.address)
        pieces.append(EventPiece(0, anchor, to=verifier, content=plan.content, events=events))
    if missing.accounts or missing.header_fields or missing.timestamps:
        accounts = tuple(accounts_to_store(missing, proofs))
        fields, times = missing.header_fields, missing.timestamps
        pieces.append(AccountPiece(0, anchor, fields=fields, timestamps=times, accounts=accounts))
    for piece in pieces:
        proven_facts = piece.facts
        yield piece, [entry for entry in entries if entry[0] in proven_facts]


def _fact_sort_key(piece: AccountPiece, fact: BlockFact) -> FactSortKey:
    """The sort key for the order in which `verify` returns facts: by list, section, then hash."""
    anchor, account = piece.anchor, keccak256(fact.account)
    # Pieces that share a section of headers come after those with a section of their own.
    shares_section = not (piece.uses_stored_header or anchor.hop)
    kind, number = list(KINDS).index(fact.kind), anchor.header.number
    return kind, shares_section, number, account, fact.witness_key


def _find_witness_anchor(plan: BlockPlan, l1_block: int | None) -> Anchor:
    """Find the proof's anchor. Include hops that a batch would send first, if they fit a call."""
    result = plan.find_anchor(assumed={} if l1_block is None else {l1_block: False})
    hops = result if isinstance(result, HopPreparation) else None
    if isinstance(result, HopPreparation) and result.count == result.count_in_call:
        # Treat the hop's target as known; a proof cannot use what it accumulates itself.
        result = plan.find_anchor(assumed={result.next_start: False})
    if isinstance(result, HashNotKnown):
        raise NotProvableError(result.reason.sentence, is_permanent=result.is_permanent)
    if isinstance(result, Preparation):
        raise NotProvableError(f"{result.sentence} Submit a batch instead.")
    return replace(result, hop=hops.sections + result.hop, hop_start=hops.start) if hops else result


def _last_valid_block(
    chains: ChainReaders, registry: Registry, anchors: Sequence[Anchor]
) -> int | None:
    """The last destination block at which the proof is valid; None: it stays valid.

    Only a chain's own hashes expire; recorded hashes and accumulated blocks stay.
    """
    blocks = {
        anchor.known_block
        for anchor in anchors
        if not anchor.is_accumulated or anchor.newer_headers
    }
    return registry.last_valid_block(chains.registry_reader(registry), sorted(blocks))


def recent_block(chains: ChainReaders, registry: Registry, head: int) -> NewestBlock:
    """The newest source block that can be proven to a caller whose node is at block `head` of the
    destination.

    For lookups that leave the block to a gateway (ERC-3668). Raises `NotProvableError` or
    `ChainError`.
    """
    final = chains.provable_head(registry).final_number
    reader = chains.registry_reader(registry)

    def server_head() -> int:
        return chains.latest(registry.destination).number

    newest = registry.newest_block(reader, head, final, server_head)
    return newest or NewestBlock(_newest_known_block(reader, registry, final))


def _newest_known_block(registry_reader: RegistryReader, registry: Registry, final: int) -> int:
    """The newest block that signers have attested, or that this server has accumulated."""
    route_filter = {**registry.route_filter, "block__lte": final}
    jobs = BlockJob.objects.filter(**route_filter).exclude(header=b"")
    attestations = Attestation.objects.filter(**route_filter, registry=registry.address)
    blocks = {
        block
        for rows in (jobs, attestations)
        for block in rows.order_by("-block").values_list("block", flat=True)[:ROWS_PER_PASS]
    }
    known_blocks = registry_reader.known_blocks(sorted(blocks))
    if not known_blocks:
        raise NotProvableError("The registry knows no block yet. Submit a batch first.")
    return max(known_blocks)
