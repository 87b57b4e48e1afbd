"""How the registry can know a block: its hash, a known one above it, or a call that brings one."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from queries.chain.attestations import RECORD_HASH, attest_call
from queries.chain.errors import SourceReorganises
from queries.chain.registry import UNKNOWN, RegistryFacts
from queries.models import Attestation
from queries.pipeline.chains import Chains
from queries.pipeline.pieces import Anchor, Call
from queries.proving.headers import Header
from queries.proving.registry_calls import leaf_of
from queries.routes import Registry, RegistryKind
from queries.wait_reasons import Reason, WaitCode

# A native registry reaches so far back (EIP-2935), less some blocks that pass on the way.
NATIVE_REACH = 8_191 - 64

# What one transaction shows of a chain of headers; the rest of its 128 KiB is for proofs.
MOST_HEADERS, HEADERS_BYTES = 150, 96 * 1024

WAITS_FOR = {
    RegistryKind.OPTIMISM: Reason(
        WaitCode.HASH_NOT_RECORDED,
        "The destination has not recorded a hash at or above the block yet.",
    ),
    RegistryKind.ATTESTED: Reason(
        WaitCode.NOT_ATTESTED,
        "No attestation at or above the block was brought to the registry yet.",
    ),
}
NEXT_BLOCK_MISSING = Reason(WaitCode.NEXT_BLOCK_MISSING, "The next block is not there yet.")


class AnotherBlockAccumulated(Exception):  # noqa: N818
    """The registry holds another header of this number: the chain has contradicted itself."""

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
    """The registry does not know such a block yet, and one transaction tells it."""

    call: Call
    sentence: ClassVar[str] = "The registry is to be told a block's hash first."


@dataclass(frozen=True, slots=True)
class SteppingStone:
    """The block is too far below for one transaction: headers that lead down to it first."""

    headers: tuple[Header, ...]  # child after child, the last one known


# From one block to another, child after child.
Headers = Callable[[int, int], Sequence[Header]]


@dataclass(frozen=True, slots=True)
class Ground:
    """Where an anchor is looked for: what the registry knows, and what leads down from there."""

    registry: Registry
    facts: RegistryFacts
    newest: Callable[[], int]  # block of the destination
    headers: Headers
    bring: Callable[[int], Call | None]  # what tells the registry of a block or one above it


Found = Anchor | SteppingStone | OutOfReach | NotKnownYet | CanBeBrought


def find_anchor(  # noqa: PLR0913  (what is known, and by whom)
    chains: Chains,
    registry: Registry,
    header: Header,
    leaf: bytes,
    *,
    with_child: bool,
    facts: RegistryFacts | None = None,
) -> Found:
    """`leaf`: what the registry holds of the block. `facts`: by one node, where named."""
    facts = facts or chains.facts(registry)
    ground = Ground(
        registry,
        facts,
        lambda: chains.destination(registry.destination).head().number,
        lambda first, last: chains.source(registry.source).headers(first, last),
        lambda first: bringing(registry, facts, first),
    )
    found = anchor_on(ground, header, leaf, with_child=with_child)
    if isinstance(found, NotKnownYet) and registry.kind is RegistryKind.OPTIMISM:
        return _left_behind(chains, registry, facts, header.number + int(with_child)) or found
    return found


def _left_behind(
    chains: Chains, registry: Registry, facts: RegistryFacts, first: int
) -> OutOfReach | None:
    """An OP-stack chain tells of its newest L1 block alone, so that what lies too far below it is
    waited for in vain. Nobody is rejected for a block that a node made up.
    """
    newest, block_hash = facts.newest_l1_block()
    if newest <= first + registry.longest_range:
        return None
    is_of_the_l1 = chains.source(registry.source).header(newest).hash == block_hash
    return OutOfReach(newest - first) if is_of_the_l1 else None


def anchor_on(ground: Ground, header: Header, leaf: bytes, *, with_child: bool) -> Found:
    """`with_child`: the header after it is to be shown as well."""
    accumulated = leaf == leaf_of(header)
    if not accumulated and leaf != UNKNOWN:
        raise AnotherBlockAccumulated
    if accumulated and not with_child:
        return Anchor(header, accumulated=True)
    first = header.number + int(with_child)
    known = _nearest_known(ground, first)
    if not isinstance(known, int):
        return known
    if known - header.number > ground.registry.longest_range:
        return OutOfReach(known - header.number)
    if known == header.number:
        return Anchor(header, accumulated)
    return chained(ground.headers, header, known, accumulated=accumulated)


def chained(
    headers: Headers, header: Header, known: int, *, accumulated: bool
) -> Anchor | SteppingStone:
    """By the headers up to a known one."""
    lowest = max(header.number, known - MOST_HEADERS)
    first_shown, *above = _that_fit(headers(lowest, known))
    if first_shown.number > header.number:
        return SteppingStone((first_shown, *above))
    if first_shown.hash != header.hash:
        raise SourceReorganises("The source chain is reorganising.")
    return Anchor(header, accumulated, tuple(above))


def _that_fit(headers: Sequence[Header]) -> list[Header]:
    """The last ones, two at least."""
    sizes = accumulate(len(header.encoded) for header in reversed(headers))
    fitting = sum(size <= HEADERS_BYTES for size in sizes)
    return list(headers[-max(fitting, 2) :])


def _nearest_known(ground: Ground, first: int) -> int | OutOfReach | NotKnownYet | CanBeBrought:
    """The lowest block from `first` on that the registry knows."""
    registry, window = ground.registry, None
    if registry.kind is RegistryKind.NATIVE:
        head = ground.newest()
        if first > head:
            return NotKnownYet(NEXT_BLOCK_MISSING)
        window = max(first, head - NATIVE_REACH)
        if window == first:
            return first
    kept = ground.facts.nearest_above(first, registry.longest_range)
    if kept is not None:
        return kept
    if window is not None:
        return window if window - first < registry.longest_range else OutOfReach(window - first)
    call = ground.bring(first)
    return NotKnownYet(WAITS_FOR[registry.kind]) if call is None else CanBeBrought(call)


def bringing(registry: Registry, facts: RegistryFacts, first: int) -> Call | None:
    """None where there is nothing to bring yet."""
    if registry.kind is RegistryKind.ATTESTED:
        return _attested(registry, first)
    return recording(registry, facts, first)


def recording(registry: Registry, facts: RegistryFacts, first: int) -> Call | None:
    """What anyone can have it learn: the L1's hash that an OP-stack chain holds now."""
    if registry.kind is not RegistryKind.OPTIMISM:
        return None
    number, block_hash = facts.newest_l1_block()
    known = block_hash != UNKNOWN and first <= number <= first + registry.longest_range
    return Call(RECORD_HASH) if known else None


def _attested(registry: Registry, first: int) -> Call | None:
    """Of the blocks that enough signers agree on, the nearest."""
    rows = Attestation.objects.filter(
        source=registry.source,
        destination=registry.destination,
        registry=registry.address,
        block__gte=first,
        block__lte=first + registry.longest_range,
        signer__in=registry.signers,
    )
    words: dict[tuple[int, str], dict[str, str]] = defaultdict(dict)
    for row in rows.order_by("block", "block_hash"):
        words[row.block, row.block_hash][row.signer] = row.signature
    for (block, block_hash), by_signer in words.items():
        if len(by_signer) >= registry.threshold:
            ordered = sorted(by_signer, key=lambda signer: int(signer, 16))
            signatures = [bytes.fromhex(by_signer[signer]) for signer in ordered]
            return Call(attest_call(block, bytes.fromhex(block_hash), signatures))
    return None
