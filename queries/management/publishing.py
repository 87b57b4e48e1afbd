"""Proves a bundle's facts to a registry. Anyone can do that, without the service or a database."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from queries.chain.errors import CallReverted
from queries.chain.reader import Asked, SourceChain
from queries.chain.registry import FactRead, Known, Missing, RegistryFacts, missing
from queries.chain.registry_checks import Unfit, as_deployed, is_as_built, l1_seen
from queries.chain.sender import Destination, Say, send_and_wait
from queries.chain.signer import Signer
from queries.config.registries import Registry, RegistryKind
from queries.contracts.abi import selector
from queries.planning.anchors import AnchorSearch, NotKnownYet, OutOfReach, Preparation
from queries.planning.calls import Anchor, Call, pieces_of
from queries.planning.pricing import refusal_of
from queries.proving.accounts import AccountProof
from queries.proving.bundles import BlockProof
from queries.proving.headers import Header
from queries.proving.packing import HEADERS_OF_A_HOP

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


def registry_at(destination: Destination, address: str, source: int) -> Registry:
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
    there = Registry(kind, source, destination.chain.id, address)
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
    """Prove the block's facts. Returns the cost in wei: 0 if the registry has all of them."""
    facts = RegistryFacts(means.destination, registry)
    accounts = {
        each.proof.address or b"": (each.fields, tuple(slot.slot for slot in each.proof.slots))
        for each in block.accounts
    }
    shown = Missing(accounts, block.header_fields, block.timestamps)
    proven = shown.words(block.header, [each.proof for each in block.accounts])
    to, wait, spent = means.destination, means.patience, 0
    # Bring a hash, hop down, prove the header and then its accounts.
    before: object = None
    while (known := _known(facts, block, proven)).unproven:
        found = _found(block, registry, means, known)
        now = known.words, known.leaf, found.hops if isinstance(found, Preparation) else None
        if now == before:  # by a node that does not see what was mined, or lies
            raise NotPublished(
                f"Block {block.header.number:,} is not proven by what was sent, or the node at "
                "--node does not see it yet. Nothing more is sent; call this again later."
            )
        before = now
        for call in _calls(block, means, known, found):
            try:
                sent = send_and_wait(to, means.signer(), registry.address, call, wait, means.say)
            except CallReverted as reverted:
                raise NotPublished(_refusal(reverted, registry)) from None
            spent += sent.cost
    return spent


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
    known = facts.known(block.header, [named])
    for read, word in known.words.items():
        if word not in {None, proven[read]}:
            raise NotPublished(
                f"The registry's value differs from the proof of block {block.header.number:,}: "
                f"0x{(word or b'').hex()}, not 0x{proven[read].hex()}. The registry holds "
                "another block with this number, or the node lies."
            )
    return known


def _found(
    block: BlockProof, registry: Registry, means: Means, known: Known
) -> Anchor | Preparation:
    source, way = means.source, _Way(block, means.source)
    head = source.head().number if source else block.rests_on.number + HEADERS_OF_A_HOP
    search = AnchorSearch(registry, means.destination, way.headers, way.proofs, head, ours=False)
    found = search.find(block.header, known)
    if isinstance(found, NotKnownYet | OutOfReach):
        raise NotPublished(_why_not(found, block, registry, has_source=bool(source)))
    return found


def _calls(
    block: BlockProof, means: Means, known: Known, found: Anchor | Preparation
) -> Iterator[bytes]:
    """The next ones on the way to the facts."""
    if isinstance(found, Preparation):
        yield found.call
        return
    rules, lacking = means.destination.chain.gas_rules, missing(known.unproven)
    proofs = [each.proof for each in block.accounts if each.proof.address in lacking.accounts]
    yield from (Call.of([each]).data for each in pieces_of(0, found, lacking, proofs, rules))


def _why_not(
    found: NotKnownYet | OutOfReach, block: BlockProof, registry: Registry, *, has_source: bool
) -> str:
    number = block.rests_on.number
    if isinstance(found, OutOfReach):
        return found.sentence(block.header.number)
    if registry.kind is RegistryKind.ATTESTED:
        return (
            f"The registry knows no hash at or above block {number:,} of chain {registry.source}, "
            "and takes one from its signers alone: have enough of them attest that block, and call "
            "this again."
        )
    if registry.kind is RegistryKind.OUTPUT:
        return (
            f"The registry does not know the hash of block {number:,}. Have it recorded from a "
            "valid dispute game (recordOutput), and call this again."
        )
    more = "" if has_source else f" A newer one may be known: {_name_a_node(registry.source)}"
    return f"{found.reason.sentence}{more}"


@dataclass(frozen=True, slots=True)
class _Way:
    """From a block that the registry knows to that of the proof file."""

    block: BlockProof
    source: SourceChain | None

    def headers(self, first: int, last: int) -> Sequence[Header]:
        own = {each.number: each for each in (self.block.header, self.block.next_header) if each}
        if all(number in own for number in range(first, last + 1)):
            return [own[number] for number in range(first, last + 1)]
        if self.source is None:
            raise NotPublished(
                f"The nearest block that the registry knows is {last:,}, and the proof does not "
                f"lead there: {_name_a_node(self.block.chain)}"
            )
        return self.source.headers(first, last)

    def proofs(self, header: Header, asked: Sequence[Asked]) -> Sequence[AccountProof]:
        if self.source is None:
            raise NotPublished(f"A hop is missing: {_name_a_node(self.block.chain)}")
        return self.source.account_proofs(header, asked)


def _name_a_node(chain: int) -> str:
    return f"name a node of chain {chain} with --source-node URL."
