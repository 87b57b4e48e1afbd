from collections.abc import Callable

import pytest
from eth_abi.packed import encode_packed
from hypothesis import given
from hypothesis import strategies as st

from queries.proving.errors import ArgumentMalformed
from queries.proving.keccak import keccak256
from queries.proving.storage_positions import (
    SLOT_LIMIT,
    Position,
    address_key,
    boolean_key,
    fixed_bytes_key,
    signed_key,
    text_key,
    unsigned_key,
)

pytestmark = pytest.mark.no_database

slots = st.integers(0, 2**256 - 1)
ADDRESS = bytes.fromhex("d8da6bf26964af9d7eed9e03e53415d37aa96045")


def second_opinion(*typed: tuple[str, object]) -> int:
    """eth_abi packs values by their Solidity type; a mapping's value is hashed with its slot."""
    kinds, values = zip(*typed, strict=True)
    return int.from_bytes(keccak256(encode_packed(kinds, values)), "big")


@given(slots, st.integers(0, 2**64 - 1))
def test_mappings_by_unsigned_and_signed_integers(slot: int, key: int) -> None:
    position = Position(slot)
    assert position.mapping(unsigned_key(key, 64)) == Position(
        second_opinion(("uint256", key), ("uint256", slot))
    )
    assert position.mapping(signed_key(-key, 72)) == Position(
        second_opinion(("int256", -key), ("uint256", slot))
    )


@given(slots, st.binary(min_size=20, max_size=20), st.booleans())
def test_mappings_by_addresses_and_truth(
    slot: int,
    address: bytes,
    truth: bool,  # noqa: FBT001
) -> None:
    padded = second_opinion(("bytes12", bytes(12)), ("bytes20", address), ("uint256", slot))
    assert Position(slot).mapping(address_key(address)).slot == padded
    assert Position(slot).mapping(boolean_key(value=truth)).slot == second_opinion(
        ("uint256", int(truth)), ("uint256", slot)
    )


@given(slots, st.binary(min_size=1, max_size=32), st.text(max_size=50))
def test_mappings_by_bytes_and_text(slot: int, some: bytes, text: str) -> None:
    padded = second_opinion(("bytes", some + bytes(32 - len(some))), ("uint256", slot))
    assert Position(slot).mapping(fixed_bytes_key(some)).slot == padded
    unpadded = second_opinion(("string", text), ("uint256", slot))
    assert Position(slot).mapping(text_key(text)).slot == unpadded
    assert Position(slot).mapping(text_key(text.encode())).slot == unpadded


def test_mappings_of_mappings() -> None:
    inner = second_opinion(("bytes12", bytes(12)), ("bytes20", ADDRESS), ("uint256", 3))
    expected = second_opinion(("uint256", 9), ("uint256", inner))
    assert Position(3).mapping(address_key(ADDRESS)).mapping(unsigned_key(9)).slot == expected


def test_the_elements_of_an_array_in_slot_zero() -> None:
    # keccak256 of a word of zeros, known from every explorer.
    data = 0x290DECD9548B62A8D60345A988386FC84BA6BC95484008F6362F93160EF3E563
    assert Position(0).dynamic_data() == Position(data)
    assert Position(0).dynamic_array_element(0) == Position(data)


@pytest.mark.parametrize(
    ("index", "size", "expected"),
    [
        (0, 32, (0, 0)),
        (3, 32, (3, 0)),
        (31, 1, (0, 31)),
        (32, 1, (1, 0)),
        (3, 8, (0, 24)),
        (4, 8, (1, 0)),
        (1, 16, (0, 16)),
        (2, 16, (1, 0)),
        (1, 20, (1, 0)),  # a second address does not fit beside the first
        (1, 17, (1, 0)),
        (5, 12, (2, 12)),  # two a slot, and 8 bytes left over
        (9, 10, (3, 0)),  # three a slot
        (2, 64, (4, 0)),
        (3, 96, (9, 0)),
    ],
)
def test_elements_smaller_and_larger_than_a_word(
    index: int, size: int, expected: tuple[int, int]
) -> None:
    slot, byte_offset = expected
    assert Position(5).fixed_array_element(index, size) == Position(5 + slot, byte_offset)
    data = second_opinion(("uint256", 5))
    assert Position(5).dynamic_array_element(index, size) == Position(data + slot, byte_offset)


def test_structs_in_arrays_in_mappings() -> None:
    value = second_opinion(("uint256", 1), ("uint256", 2))
    data = second_opinion(("uint256", value))
    position = Position(2).mapping(unsigned_key(1)).dynamic_array_element(3, size=64)
    assert position.member(1, 20) == Position(data + 7, 20)


def test_an_array_of_arrays() -> None:
    inner = second_opinion(("uint256", second_opinion(("uint256", 4)) + 2))
    position = Position(4).dynamic_array_element(2).dynamic_array_element(9, size=4)
    assert position == Position(inner + 1, 4)


def test_slots_wrap_around() -> None:
    last = Position(SLOT_LIMIT - 1)
    assert last.member(1) == Position(0)
    assert last.fixed_array_element(1) == Position(0)
    assert last.fixed_array_element(2, 64) == Position(3)


def test_packed_values_are_read_from_their_bytes() -> None:
    word = int.from_bytes(bytes(range(32)), "big")
    assert Position(0).read(word, 32) == word
    assert Position(0).read(word, 1) == 31
    assert Position(0, 31).read(word, 1) == 0
    assert Position(0, 8).read(word, 4) == 0x14151617


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Position(-1),
        lambda: Position(2**256),
        lambda: Position(0, 32),
        lambda: Position(0, 1).mapping(unsigned_key(1)),
        lambda: Position(0, 1).dynamic_data(),
        lambda: Position(0, 1).member(0),
        lambda: Position(0).member(-1),
        lambda: Position(0).fixed_array_element(-1),
        lambda: Position(0).fixed_array_element(0, 0),
        lambda: Position(0).fixed_array_element(0, 33),
        lambda: Position(0, 31).read(0, 2),
        lambda: Position(0).read(0, 0),
        lambda: unsigned_key(-1),
        lambda: unsigned_key(256, 8),
        lambda: unsigned_key(1, 7),
        lambda: signed_key(128, 8),
        lambda: signed_key(-129, 8),
        lambda: address_key(bytes(32)),
        lambda: fixed_bytes_key(b""),
        lambda: fixed_bytes_key(bytes(33)),
    ],
)
def test_positions_that_no_compiler_lays_out(wrong: Callable[[], object]) -> None:
    with pytest.raises(ArgumentMalformed):
        wrong()
