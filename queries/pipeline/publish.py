"""A bundle's facts, brought to a registry by anyone: the service is not needed, nor a database."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from queries.chain.deploy import Unfit, as_deployed, is_as_built, l1_seen
from queries.chain.errors import CallReverted
from queries.chain.registry import (
    AccountFieldRead,
    FactRead,
    HeaderFieldRead,
    RegistryFacts,
    SlotRead,
    TimestampRead,
)
from queries.chain.sender import Destination, Say, send_and_wait
from queries.chain.signer import Signer
from queries.chain.solidity import selector
from queries.chain.source import SourceChain
from queries.pipeline.anchors import (
    AnchorSearch,
    AnotherBlockAccumulated,
    NotKnownYet,
    OutOfReach,
    Preparation,
)
from queries.pipeline.fees import refusal_of
from queries.pipeline.pieces import Call, pieces_of
from queries.pipeline.wanted import Known, ask_what_is_known, missing
from queries.proving.bundles import BlockProof, Fact, FactKind
from queries.proving.headers import Header, HeaderField
from queries.proving.witnesses import AccountField
from queries.registries import Registry, RegistryKind

NOT_KNOWN = selector("BlockNotKnown(uint256,bytes32)")


class NotPublished(Exception):  # noqa: N818
    """Why a block's facts are not in the registry; the sentence says what to do."""


@dataclass(frozen=True, slots=True)
class Means:
    """Who publishes, and where."""

    destination: Destination
    signer: Callable[[], Signer]  # asked for where something is to be paid
    source: SourceChain | None  # of headers between the block and one that the registry knows
    patience: float  # seconds, for a receipt
    say: Say


def registry_at(destination: Destination, address: str, source: int, longest: int) -> Registry:
    """The registry there, which must be one of ours for this source."""
    code = destination.code(address)
    kind = next((each for each in RegistryKind if is_as_built(each, code)), None)
    if kind is None:
        what = "another contract than this version's registries" if code else "no contract"
        raise NotPublished(
            f"At {address} on {destination.chain.name} is {what}. Name a registry with --registry."
        )
    if kind is RegistryKind.NATIVE and source != destination.chain.id:
        raise NotPublished(
            f"The registry at {address} keeps the past of {destination.chain.name} itself, and "
            f"the facts are of chain {source}."
        )
    there = Registry(kind, source, destination.chain.id, address, longest)
    try:
        named = as_deployed(destination, there)
    except Unfit as unfit:
        raise NotPublished(f"The registry at {address} cannot be used. {unfit}") from None
    if named.source != source:
        raise NotPublished(f"The registry at {address} keeps facts of another chain than {source}.")
    return named


def check_l1(registry: Registry, means: Means) -> None:
    """Refuse an optimism registry of another L1 than the proof's, if a source node is named."""
    if registry.kind is not RegistryKind.OPTIMISM:
        return
    if means.source is None:
        means.say(
            f"Not compared: whether the L1 of {means.destination.chain.name} is chain "
            f"{registry.source}. Name a node of it with --source-node URL."
        )
        return
    try:
        l1_seen(registry, means.source, means.destination)
    except Unfit as unfit:
        raise NotPublished(f"The registry at {registry.address} cannot be used. {unfit}") from None


def publish(block: BlockProof, registry: Registry, means: Means) -> int:
    """What it cost, in wei; nothing where all is there already."""
    facts = RegistryFacts(means.destination, registry)
    proven = {_read_of(block, fact): fact.word for fact in block.facts}
    to, wait, spent = means.destination, means.patience, 0
    # Bring a hash, lead down at least one header a round, prove the header and then its accounts.
    rounds = registry.longest_range + 3
    for _ in range(rounds):
        known = _known(facts, block, proven)
        if not known.unproven:
            return spent
        for call in _calls(facts, block, registry, means, known):
            try:
                sent = send_and_wait(to, means.signer(), registry.address, call, wait, means.say)
            except CallReverted as reverted:
                raise NotPublished(_refusal(reverted, registry)) from None
            spent += sent.cost
    raise NotPublished(f"Block {block.header.number:,} is not proven after {rounds} rounds.")


def _refusal(reverted: CallReverted, registry: Registry) -> str:
    if reverted.data.startswith(NOT_KNOWN):
        number, block_hash = int.from_bytes(reverted.data[4:36]), reverted.data[36:68].hex()
        return (
            f"The registry does not know block {number:,} of chain {registry.source} under the "
            f"hash 0x{block_hash}: it is another chain's, or the registry no longer sees so far."
        )
    return f"{refusal_of(reverted)}."


def _known(facts: RegistryFacts, block: BlockProof, proven: Mapping[FactRead, bytes]) -> Known:
    named = {str(place): read for place, read in enumerate(proven)}
    known = ask_what_is_known(facts, block.header, [named])
    for read, word in known.words.items():
        if word not in {None, proven[read]}:
            raise NotPublished(
                f"The registry's value differs from the proof of block {block.header.number:,}: "
                f"0x{(word or b'').hex()}, not 0x{proven[read].hex()}. The registry holds "
                "another block with this number, or the node lies."
            )
    return known


def _calls(
    facts: RegistryFacts, block: BlockProof, registry: Registry, means: Means, known: Known
) -> Iterator[bytes]:
    """The next ones on the way to the facts."""
    head = means.source.head().number if means.source else sys.maxsize
    search = AnchorSearch(registry, means.destination, _headers(block, means), head)
    try:
        found = search.find(block.header, known)
    except AnotherBlockAccumulated as fault:
        raise NotPublished(str(fault)) from None
    match found:
        case Preparation():
            yield found.call
        case NotKnownYet() | OutOfReach():
            raise NotPublished(_why_not(found, facts, block, registry))
        case _:
            rules, lacking = means.destination.chain.gas_rules, missing(known.unproven)
            proofs = [
                each.proof for each in block.accounts if each.proof.address in lacking.accounts
            ]
            yield from (
                Call.of([each]).data for each in pieces_of(0, found, lacking, proofs, rules)
            )


def _why_not(
    found: NotKnownYet | OutOfReach, facts: RegistryFacts, block: BlockProof, registry: Registry
) -> str:
    number = block.rests_on.number
    if isinstance(found, OutOfReach):
        return f"{found.sentence(block.header.number, registry)} --longest-range raises that."
    if registry.kind is RegistryKind.ATTESTED:
        return (
            f"The registry knows no hash at or above block {number:,} of chain {registry.source}, "
            "and takes one from its signers alone: have enough of them attest that block, or one "
            f"at most {registry.longest_range:,} above it, and call this again."
        )
    if registry.kind is RegistryKind.OUTPUT:
        return (
            f"The registry does not know the hash of block {number:,}. Have it recorded from a "
            "valid dispute game (recordOutput), and call this again."
        )
    if registry.kind is RegistryKind.OPTIMISM and (newest := facts.newest_l1_block()[0]) > number:
        return (
            f"Block {number:,} lies {newest - number:,} blocks below the one whose hash can be "
            f"recorded now; at most {registry.longest_range:,} headers are chained. "
            "--longest-range raises that."
        )
    return found.why.sentence


def _headers(block: BlockProof, means: Means) -> Callable[[int, int], Sequence[Header]]:
    own = {each.number: each for each in (block.header, block.next_header) if each}

    def headers(first: int, last: int) -> Sequence[Header]:
        if all(number in own for number in range(first, last + 1)):
            return [own[number] for number in range(first, last + 1)]
        if means.source is None:
            raise NotPublished(
                f"The nearest block that the registry knows is {last:,}. The proof lacks headers "
                f"from {first:,} to {last:,}: name a node of chain {block.chain} with "
                "--source-node URL."
            )
        return means.source.headers(first, last)

    return headers


def _read_of(block: BlockProof, fact: Fact) -> FactRead:
    number, account = block.header.number, fact.account or b""
    match fact.kind:
        case FactKind.ACCOUNT_FIELD:
            return AccountFieldRead(account, number, AccountField[fact.name])
        case FactKind.STORAGE_SLOT:
            return SlotRead(account, number, int(fact.name, 16))
        case FactKind.HEADER_FIELD:
            return HeaderFieldRead(number, HeaderField[fact.name])
        case FactKind.BLOCK_AT_TIME:
            return TimestampRead(int(fact.name))
