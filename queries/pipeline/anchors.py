"""How the registry can know a block: by its hash, by a known one above it, or after a transaction
that prepares for it.
"""

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
from queries.pipeline.pieces import Anchor
from queries.pipeline.wanted import Known
from queries.proving.headers import Header
from queries.proving.packing import CALLDATA_BYTES
from queries.proving.registry_calls import HeaderStep, headers_section, prove_call
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
        "The registry has not recorded the block's hash from a dispute game yet.",
    ),
    RegistryKind.ATTESTED: Reason(
        WaitCode.NOT_ATTESTED,
        "Too few signers have attested a block at or above this one.",
    ),
}
HASH_FIRST = "A block's hash is recorded in the registry first."
HASH_SENT = Reason(
    WaitCode.HASH_ON_ITS_WAY,
    "The transaction that brings the registry a block's hash is on its way.",
)
FAR_BELOW = (
    "The block is far below the nearest one that the registry knows, so headers are sent first "
    "in separate transactions."
)
HEADERS_SENT = Reason(
    WaitCode.HEADERS_ON_THEIR_WAY, "Headers that lead down to its block are on their way."
)
NEXT_BLOCK_MISSING = Reason(WaitCode.NEXT_BLOCK_MISSING, "The next block is not there yet.")


class AnotherBlockAccumulated(Exception):  # noqa: N818
    """The registry holds a different header of this block than the chain: a reorg."""

    code: ClassVar[str] = "another_block_accumulated"

    def __init__(self, block: int) -> None:
        super().__init__(
            f"The registry holds another header of block {block:,} than the chain has now, and "
            "cannot replace it."
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
class Preparation:
    """A transaction that has to be mined first: it records a block's hash in the registry, or
    accumulates a header on the way down to the block.
    """

    call: bytes
    sentence: str
    on_its_way: Reason


# From one block to another, child after child.
Headers = Callable[[int, int], Sequence[Header]]
Found = Anchor | Preparation | OutOfReach | NotKnownYet


def find_anchor(
    chains: Chains, destination: Destination, registry: Registry, header: Header, known: Known
) -> Found:
    """How the missing facts of the block can be proven now, or why they cannot be yet.

    `destination` may be a view of one node.
    """
    source = chains.source(registry.source)
    head = chains.head(registry.source).number
    search = AnchorSearch(registry, destination, source.headers, head)
    found = search.find(header, known)
    if not isinstance(found, NotKnownYet):
        return found
    if registry.kind is RegistryKind.ATTESTED:
        return _attesting(registry, header.number + int(known.needs_child)) or found
    if registry.kind is RegistryKind.OPTIMISM:
        # An OP-stack chain reports its newest L1 block alone: one too far below never gets known.
        newest, block_hash = search.facts.newest_l1_block()
        distance = newest - header.number - int(known.needs_child)
        if distance > registry.longest_range and source.header(newest).hash == block_hash:
            return OutOfReach(distance)
    return found


@dataclass(frozen=True, slots=True)
class AnchorSearch:
    """Looks for what the registry knows at or above a block, and for the headers between."""

    registry: Registry
    destination: Destination
    headers: Headers
    source_head: int  # no block above it can be known; on native routes the node's own counts

    @property
    def facts(self) -> RegistryFacts:
        return RegistryFacts(self.destination, self.registry)

    def find(self, header: Header, known: Known) -> Found:
        """How the registry can know the block, without attestations."""
        if known.of_another_block:
            raise AnotherBlockAccumulated(header.number)
        if known.accumulated and not known.needs_child:
            return Anchor(header, accumulated=True)
        first, longest = header.number + int(known.needs_child), self.registry.longest_range
        if self.registry.kind is RegistryKind.OUTPUT:
            return self._of_output(header, first, known)
        nearest = self._nearest_known(first)
        if not isinstance(nearest, int):
            return nearest
        if nearest - header.number > longest:
            return OutOfReach(nearest - header.number)
        if nearest == header.number:
            return Anchor(header, known.accumulated)
        return self._chained(header, nearest, known)

    def _of_output(self, header: Header, first: int, known: Known) -> Found:
        """Games name hashes without numbers, so the registry is only asked for one block."""
        *below, last = self.headers(header.number, first)
        if not self.facts.is_recorded(last.hash):
            return NotKnownYet(WAITS_FOR[RegistryKind.OUTPUT])
        return Anchor(header, known.accumulated, (last,) if below else ())

    def _chained(self, header: Header, nearest: int, known: Known) -> Found:
        """Show the headers from a known one downwards: as many as fit, at least two."""
        at_most = max(HEADERS_BYTES // len(header.encoded), 1)  # all are about as large as this one
        *shown, last = self.headers(max(header.number, nearest - at_most), nearest)
        while shown[1:] and sum(len(each.encoded) for each in shown) > HEADERS_BYTES:
            del shown[0]
        if shown[0].number > header.number:
            steps = [HeaderStep(shown[0], accumulate=True), *map(HeaderStep, (*shown[1:], last))]
            return Preparation(prove_call([headers_section(steps)]), FAR_BELOW, HEADERS_SENT)
        if shown[0].hash != header.hash:
            raise SourceReorganises("The source chain is reorganising.")
        return Anchor(header, known.accumulated, (*shown[1:], last))

    def _nearest_known(self, first: int) -> int | OutOfReach | NotKnownYet | Preparation:
        """The lowest block from `first` on that the registry knows."""
        registry, head, window = self.registry, self.source_head, None
        if registry.kind is RegistryKind.NATIVE:
            head = self.destination.head(known_final=0).number
            if first > head:
                return NotKnownYet(NEXT_BLOCK_MISSING)
            window = head - BLOCKHASH_REACH
            if first < window and self.facts.keeps_history():
                window = head - HISTORY_REACH
            if first >= window:
                return first
        kept = self.facts.lowest_known(first, min(first + registry.longest_range, head))
        if kept is not None:
            return kept
        if window is not None:
            return (
                window if window - first <= registry.longest_range else OutOfReach(window - first)
            )
        return self._recording(first) or NotKnownYet(WAITS_FOR[registry.kind])

    def _recording(self, first: int) -> Preparation | None:
        """Anyone can have the registry record the L1 hash that an OP-stack chain holds now."""
        if self.registry.kind is not RegistryKind.OPTIMISM:
            return None
        number, block_hash = self.facts.newest_l1_block()
        if block_hash == UNKNOWN or not first <= number <= first + self.registry.longest_range:
            return None
        return Preparation(selector("recordHash()"), HASH_FIRST, HASH_SENT)


def _attesting(registry: Registry, first: int) -> Preparation | None:
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
            call = attest_call(block, bytes.fromhex(block_hash), signatures)
            return Preparation(call, HASH_FIRST, HASH_SENT)
    return None
