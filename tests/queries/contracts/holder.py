"""A contract with every kind of storage variable, and the slots of its variables."""

from queries.client.python import Position, mapping_key
from tests.builds import contract_for_tests

_ONES = mapping_key("address", bytes.fromhex("11" * 20))
_TWOS = mapping_key("address", bytes.fromhex("22" * 20))
NESTED = Position(3).mapping(_TWOS).mapping(mapping_key("int256", -5))
NESTED_VALUE = 2**256 - 1

SLOTS = sorted(
    {
        *range(2),
        Position(2).mapping(_ONES).slot,
        Position(2).mapping(_TWOS).slot,  # never set
        NESTED.slot,
        *(4, 6, 7),
        *(Position(4).dynamic_array_element(index).slot for index in (8, 9)),  # the last, and none
        Position(5).dynamic_array_element(5, size=8).slot,
        Position(8).mapping(mapping_key("string", "north")).member(1).slot,
        *range(9, 14),  # values at the edges of what a record holds
        Position(14).dynamic_data().slot,
        15,  # never set
    }
)


def compiled_holder() -> bytes:
    return contract_for_tests("Holder")
