"""A registry as if more blocks were accumulated, for what is tried out before they are."""

from collections.abc import Mapping

from queries.proving.storage_positions import Position, unsigned_key

AsIf = Mapping[str, object]  # a state override, as nodes take it behind a call

ACCUMULATED = Position(3)  # of the mapping in FactsRegistry.sol


def as_if_accumulated(registry: str, leaves: Mapping[int, bytes]) -> AsIf:
    """`leaves` by the numbers of their blocks."""
    slots = {
        f"0x{ACCUMULATED.mapping(unsigned_key(block)).slot:064x}": f"0x{leaf.hex()}"
        for block, leaf in leaves.items()
    }
    return {registry: {"stateDiff": slots}}
