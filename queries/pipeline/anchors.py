"""How the registry can know a block: its hash, a known one above it, or a call that brings one."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from queries.attestations import attest_call
from queries.chain.deploy import BLOCKHASH_WINDOW, HISTORY_WINDOW
from queries.chain.errors import SourceReorganises
from queries.chain.registry import UNKNOWN, RegistryFacts
from queries.chain.sender import Destination
from queries.chain.solidity import selector
from queries.models import Attestation
from queries.pipeline.chains import Chains
from queries.pipeline.pieces import Anchor, Call
from queries.pipeline.wanted import Known
from queries.proving.headers import Header
from queries.proving.packing import CALLDATA_BYTES
from queries.registries import Registry, RegistryKind
from queries.wait_reasons import Reason, WaitCode

# The oldest blocks leave these windows while a transaction is on its way.
BLOCKHASH_REACH = BLOCKHASH_WINDOW - BLOCKHASH_WINDOW // 8
HISTORY_REACH = HISTORY_WINDOW - HISTORY_WINDOW // 128
# Of one transaction; the rest is for proofs.
HEADERS_BYTES = CALLDATA_BYTES * 3 // 4

WAITS_FOR = {
    RegistryKind.OPTIMISM: Reason(
        WaitCode.HASH_NOT_RECORDED,
        "The destination has not recorded a hash at or above the block yet.",
    ),
    RegistryKind.OUTPUT: Reason(
        WaitCode.OUTPUT_NOT_RECORDED,
        "The block's hash was not recorded from a dispute game yet.",
    ),
    RegistryKind.ATTESTED: Reason(
        WaitCode.NOT_ATTESTED,
        "No attestation at or above the block was brought to the registry yet.",
    ),
}
NEXT_BLOCK_MISSING = Reason(WaitCode.NEXT_BLOCK_MISSING, "The next block is not there yet.")


class AnotherBlockAccumulated(Exception):  # noqa: N818
    """The registry holds a different header of this block than the chain: a reorg."""

    code: ClassVar[str] = "another_block_accumulated"

    @staticmethod
    def sentence(block: int) -> str:
        return (
            f"The registry holds another header of block {block:,} than the chain has now; the "
            "first one stays."
        )


@dataclass(frozen=True, slots=True)
class OutOfReach:
    """The nearest known block is too far above."""

    code: ClassVar[str] = "block_out_of_reach"
    distance: int

    def sentence(self, block: int, registry: Registry) -> str:
        return (
            f"Block {block:,} lies {self.distance:,} blocks below the nearest one that the "
            f"registry can know; at most {registry.longest_range:,} headers are chained."
        )


@dataclass(frozen=True, slots=True)
class NotKnownYet:
    """Nothing at or above the block is known, and something will be."""

    why: Reason


@dataclass(frozen=True, slots=True)
class CanBeBrought:
    """The registry does not know such a block yet, and one transaction can record its hash."""

    call: Call
    sentence: ClassVar[str] = "A block's hash is recorded in the registry first."


@dataclass(frozen=True, slots=True)
class SteppingStone:
    """The block is too far below for one transaction: headers that lead down to it first."""

    headers: tuple[Header, ...]  # child after child, the last one known


# From one block to another, child after child.
Headers = Callable[[int, int], Sequence[Header]]


@dataclass(frozen=True, slots=True)
class Ground:
    """What the registry knows, and the headers that lead down from there."""

    registry: Registry
    facts: RegistryFacts
    newest: Callable[[], int]  # block of the source: none above it can be known
    headers: Headers
    bring: Callable[[int], Call | None]  # records the hash of a block, or of one above it


Found = Anchor | SteppingStone | OutOfReach | NotKnownYet | CanBeBrought


def find_anchor(
    chains: Chains, destination: Destination, registry: Registry, header: Header, known: Known
) -> Found:
    """`destination` may be a view of one node."""
    facts, source = RegistryFacts(destination, registry), chains.source(registry.source)

    def newest_block() -> int:
        if registry.kind is RegistryKind.NATIVE:
            return destination.head(known_final=0).number
        return chains.head(registry.source).number

    ground = Ground(
        registry,
        facts,
        newest_block,
        source.headers,
        lambda first: _attesting(registry, first) or recording(registry, facts, first),
    )
    found = anchor_on(ground, header, known)
    if not isinstance(found, NotKnownYet) or registry.kind is not RegistryKind.OPTIMISM:
        return found
    # An OP-stack chain reports its newest L1 block alone: one too far below it never becomes known.
    newest, block_hash = facts.newest_l1_block()
    distance = newest - header.number - int(known.needs_child)
    if distance > registry.longest_range and source.header(newest).hash == block_hash:
        return OutOfReach(distance)
    return found


def anchor_on(ground: Ground, header: Header, known: Known) -> Found:
    """How the missing facts of the block can be proven now, or why they cannot be yet."""
    if known.of_another_block:
        raise AnotherBlockAccumulated
    if known.accumulated and not known.needs_child:
        return Anchor(header, accumulated=True)
    if ground.registry.kind is RegistryKind.OUTPUT:
        return _of_output(ground, header, known)
    nearest = _nearest_known(ground, header.number + int(known.needs_child))
    if not isinstance(nearest, int):
        return nearest
    if nearest - header.number > ground.registry.longest_range:
        return OutOfReach(nearest - header.number)
    if nearest == header.number:
        return Anchor(header, known.accumulated)
    return chained(ground.headers, header, nearest, accumulated=known.accumulated)


def _of_output(ground: Ground, header: Header, known: Known) -> Found:
    """Games name hashes without numbers, so only the block itself, or its child, is looked for."""
    *below, last = ground.headers(header.number, header.number + int(known.needs_child))
    if not ground.facts.is_recorded(last.hash):
        return NotKnownYet(WAITS_FOR[RegistryKind.OUTPUT])
    return Anchor(header, known.accumulated, (last,) if below else ())


def chained(
    headers: Headers, header: Header, known: int, *, accumulated: bool
) -> Anchor | SteppingStone:
    """By the headers up to a known one: as many of the last ones as fit, two at least."""
    at_most = max(HEADERS_BYTES // len(header.encoded), 1)  # all are about as large as this one
    lowest = max(header.number, known - at_most)
    *shown, last = headers(lowest, known)
    while shown[1:] and sum(len(each.encoded) for each in shown) > HEADERS_BYTES:
        del shown[0]
    if shown[0].number > header.number:
        return SteppingStone((*shown, last))
    if shown[0].hash != header.hash:
        raise SourceReorganises("The source chain is reorganising.")
    return Anchor(header, accumulated, (*shown[1:], last))


def _nearest_known(ground: Ground, first: int) -> int | OutOfReach | NotKnownYet | CanBeBrought:
    """The lowest block from `first` on that the registry knows."""
    registry, head, window = ground.registry, ground.newest(), None
    if registry.kind is RegistryKind.NATIVE:
        if first > head:
            return NotKnownYet(NEXT_BLOCK_MISSING)
        window = head - BLOCKHASH_REACH
        if first < window and ground.facts.keeps_history():
            window = head - HISTORY_REACH
        if first >= window:
            return first
    kept = ground.facts.lowest_known(first, min(first + registry.longest_range, head))
    if kept is not None:
        return kept
    if window is not None:
        return window if window - first < registry.longest_range else OutOfReach(window - first)
    call = ground.bring(first)
    return NotKnownYet(WAITS_FOR[registry.kind]) if call is None else CanBeBrought(call)


def recording(registry: Registry, facts: RegistryFacts, first: int) -> Call | None:
    """The call that records the L1 hash that an OP-stack chain holds now; anyone can send it."""
    if registry.kind is not RegistryKind.OPTIMISM:
        return None
    number, block_hash = facts.newest_l1_block()
    known = block_hash != UNKNOWN and first <= number <= first + registry.longest_range
    return Call(selector("recordHash()")) if known else None


def _attesting(registry: Registry, first: int) -> Call | None:
    """Of the blocks that enough signers agree on, the nearest."""
    rows = Attestation.objects.filter(
        source=registry.source,
        destination=registry.destination,
        registry=registry.address,
        block__range=(first, first + registry.longest_range),
        signer__in=registry.signers,
    )
    signed: dict[tuple[int, str], list[Attestation]] = defaultdict(list)
    for row in rows.order_by("block", "block_hash"):
        signed[row.block, row.block_hash].append(row)
    for (block, block_hash), by_signers in signed.items():
        if len(by_signers) >= registry.threshold:
            by_signers.sort(key=lambda row: int(row.signer, 16))
            signatures = [bytes.fromhex(row.signature) for row in by_signers]
            return Call(attest_call(block, bytes.fromhex(block_hash), signatures))
    return None
