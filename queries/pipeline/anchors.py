"""By what the registry can know a block: its own hash, or a known one above it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from queries.chain.errors import SourceReorganises
from queries.chain.registry_facts import UNKNOWN, RegistryFacts
from queries.chain.source import SourceChain
from queries.pipeline.bringing import bringing
from queries.pipeline.chains import Chains
from queries.pipeline.joining import Call
from queries.pipeline.pieces import Anchor
from queries.proving.headers import Header
from queries.proving.registry_calls import leaf_of
from queries.routes import Registry, RegistryKind

# A native registry reaches so far back (EIP-2935), less some blocks that pass on the way.
NATIVE_REACH = 8_191 - 64

# What one transaction shows of a chain of headers; the rest of its 128 KiB is for proofs.
MOST_HEADERS, HEADERS_BYTES = 150, 96 * 1024

WAITS_FOR = {
    RegistryKind.OPTIMISM: "The destination has not recorded a hash at or above the block yet.",
    RegistryKind.ATTESTED: "No attestation at or above the block was brought to the registry yet.",
}


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

    waits_for: str


@dataclass(frozen=True, slots=True)
class CanBeBrought:
    """The registry does not know such a block yet, and one transaction tells it."""

    call: Call
    waits_for = "The registry is to be told a block's hash first."


@dataclass(frozen=True, slots=True)
class SteppingStone:
    """The block is too far below for one transaction: headers that lead down to it first."""

    headers: tuple[Header, ...]  # child after child, the last one known


def find_anchor(
    chains: Chains, registry: Registry, header: Header, *, with_child: bool
) -> Anchor | SteppingStone | OutOfReach | NotKnownYet | CanBeBrought:
    """`with_child`: the header after it is to be shown as well."""
    facts = chains.facts(registry)
    (leaf,) = facts.leaves([header.number])
    accumulated = leaf == leaf_of(header)
    if not accumulated and leaf != UNKNOWN:
        raise AnotherBlockAccumulated
    if accumulated and not with_child:
        return Anchor(header, accumulated=True)
    first = header.number + int(with_child)
    known = _nearest_known(chains, registry, facts, first)
    if not isinstance(known, int):
        return known
    if known - header.number > registry.longest_range:
        return OutOfReach(known - header.number)
    if known == header.number:
        return Anchor(header, accumulated)
    return _chained(chains.source(registry.source), header, known, accumulated=accumulated)


def _chained(
    source: SourceChain, header: Header, known: int, *, accumulated: bool
) -> Anchor | SteppingStone:
    """By the headers up to a known one."""
    lowest = max(header.number, known - MOST_HEADERS)
    first_shown, *above = _that_fit(source.headers(lowest, known))
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


def _nearest_known(
    chains: Chains, registry: Registry, facts: RegistryFacts, first: int
) -> int | OutOfReach | NotKnownYet | CanBeBrought:
    """The lowest block from `first` on that the registry knows."""
    window = None
    if registry.kind is RegistryKind.NATIVE:
        head = chains.destination(registry.destination).head().number
        if first > head:
            return NotKnownYet("The next block is not there yet.")
        window = max(first, head - NATIVE_REACH)
        if window == first:
            return first
    kept = facts.nearest_above(first, registry.longest_range)
    if kept is not None:
        return kept.number
    if window is not None:
        return window if window - first < registry.longest_range else OutOfReach(window - first)
    call = bringing(registry, facts, first)
    return NotKnownYet(WAITS_FOR[registry.kind]) if call is None else CanBeBrought(call)
