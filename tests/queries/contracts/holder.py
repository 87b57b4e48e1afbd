"""The contract that live tests prove, with the positions and values of its variables."""

from queries.client.tacitus import Position, mapping_key
from tests.builds import contract_of_tests

_ONES = mapping_key("address", bytes.fromhex("11" * 20))
_TWOS = mapping_key("address", bytes.fromhex("22" * 20))
_MINUS_FIVE = mapping_key("int256", -5)
_POINT = Position(6)
_NORTH = Position(8).mapping(mapping_key("string", "north"))
_MAX = 2**256 - 1

# Position, size in bytes, and value after the constructor.
VARIABLES: dict[str, tuple[Position, int, int]] = {
    "plain": (Position(0), 32, 7),
    "packed, low": (Position(1), 16, 2**128 - 1),
    "packed, middle": (Position(1, 16), 8, 2**63),
    "packed, flag": (Position(1, 24), 1, 1),
    "mapping": (Position(2).mapping(_ONES), 32, 2**184),
    "mapping, never set": (Position(2).mapping(_TWOS), 32, 0),
    "nested mapping": (Position(3).mapping(_TWOS).mapping(_MINUS_FIVE), 32, _MAX),
    "array's length": (Position(4), 32, 9),
    "array, last": (Position(4).dynamic_array_element(8), 32, 9000),
    "array, after the last": (Position(4).dynamic_array_element(9), 32, 0),
    "packed array, sixth": (Position(5).dynamic_array_element(5, size=8), 8, 600),
    "struct, first": (_POINT, 32, 2**200),
    "struct, second": (_POINT.member(1), 16, 2**127),
    "struct, third": (_POINT.member(1, 16), 8, 2**64 - 2),
    "struct in a mapping": (_NORTH.member(1), 16, 6),
    "fixed array, 1": (Position(9).fixed_array_element(0), 32, 1),
    "fixed array, 2^184-1": (Position(9).fixed_array_element(1), 32, 2**184 - 1),
    "fixed array, 2^184": (Position(9).fixed_array_element(2), 32, 2**184),
    "fixed array, 2^256-2": (Position(9).fixed_array_element(3), 32, _MAX - 1),
    "fixed array, 2^256-1": (Position(9).fixed_array_element(4), 32, _MAX),
    "text": (Position(14).dynamic_data(), 32, int.from_bytes(b"a text that is too long for the ")),
    "never set": (Position(15), 32, 0),
}
SLOTS = sorted({position.slot for position, _, _ in VARIABLES.values()})


def compiled_holder() -> bytes:
    return contract_of_tests("Holder")
