"""Positions of variables equal what eth_abi computes; test_layouts compares with solc."""

import json
from collections.abc import Callable

import pytest
from eth_abi.packed import encode_packed
from hypothesis import given
from hypothesis import strategies as st

from queries.client.python import Position, UsageError, log_filter, main, mapping_key
from queries.client.python.positions import SLOT_LIMIT, parse_typed_key
from queries.proving.keccak import keccak256, python_keccak256

pytestmark = pytest.mark.no_database

slots = st.integers(0, SLOT_LIMIT - 1)
widths = st.integers(1, 32).map(lambda count: 8 * count)
addresses = st.binary(min_size=20, max_size=20)
HOLDER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"


def second_opinion(*typed: tuple[str, object]) -> int:
    """eth_abi packs values by their Solidity type; a mapping's value is hashed with its slot."""
    kinds, values = zip(*typed, strict=True)
    return int.from_bytes(keccak256(encode_packed(kinds, values)), "big")


@given(slots, widths, st.data())
def test_mapping_positions_for_integer_keys(slot: int, bits: int, data: st.DataObject) -> None:
    unsigned = data.draw(st.integers(0, 2**bits - 1))
    signed = data.draw(st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))
    expected = Position(second_opinion(("uint256", unsigned), ("uint256", slot)))
    assert Position(slot).mapping(mapping_key(f"uint{bits}", unsigned)) == expected
    assert Position(slot).mapping(mapping_key(f"uint{bits}", hex(unsigned))) == expected
    expected = Position(second_opinion(("int256", signed), ("uint256", slot)))
    assert Position(slot).mapping(mapping_key(f"int{bits}", signed)) == expected


@given(slots, addresses, st.booleans(), st.binary(min_size=1, max_size=32), st.text(max_size=50))
def test_mapping_positions_for_other_keys(
    slot: int, address: bytes, truth: bool, content: bytes, text: str
) -> None:
    padded = content + bytes(32 - len(content))
    for kind, key, packed in (
        ("address", address, [("bytes12", bytes(12)), ("bytes20", address)]),
        ("bool", truth, [("uint256", int(truth))]),
        (f"bytes{len(content)}", content, [("bytes", padded)]),
        ("bytes", content, [("bytes", content)]),
        ("string", text, [("string", text)]),
    ):
        expected = second_opinion(*packed, ("uint256", slot))
        assert Position(slot).mapping(mapping_key(kind, key)).slot == expected


def test_slots_wrap_around() -> None:
    last = Position(SLOT_LIMIT - 1)
    assert last.member(1) == Position(0)
    assert last.fixed_array_element(1) == Position(0)
    assert last.fixed_array_element(2, 64) == Position(3)


@pytest.mark.parametrize(
    ("text", "kind", "key"),
    [
        (HOLDER, "address", HOLDER), (HOLDER.lower(), "address", HOLDER),
        ("0x" + 32 * "ab", "bytes32", "0x" + 32 * "ab"), ("7", "uint256", 7), ("-7", "int256", -7),
        ("true", "bool", "true"), ("uint8:0xff", "uint256", 255), ("int8:-128", "int256", -128),
        ("string:uint:5", "string", "uint:5"), ("bytes4:0xa9059cbb", "bytes4", "0xa9059cbb"),
        ("bytes:0xabcd", "bytes", "0xABCD"),
    ],
)  # fmt: skip
def test_a_keys_type_is_inferred_or_written_before_it(text: str, kind: str, key: str | int) -> None:
    assert parse_typed_key(text) == mapping_key(kind, key)


@pytest.mark.parametrize("text", ["abc", "1e5", "0x5", "0xabcdef", "", "dai:5"])
def test_a_key_of_unclear_type_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="Name the type of the key"):
        parse_typed_key(text)


def test_an_address_with_a_wrong_checksum_is_refused() -> None:
    """Its slot is another account's, and the zero there would look like an answer."""
    with pytest.raises(UsageError, match=f"its digits give {HOLDER[:-1]}5"):
        parse_typed_key(HOLDER.replace("0xd8dA", "0xd8Da"))


def test_the_command_applies_keys_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    outer = Position(7).mapping(mapping_key("address", HOLDER))
    expected = outer.mapping(mapping_key("int256", -5))
    keys = ["--key", HOLDER, "--key=-5"]
    assert main(["slot", "7", *keys]) == 0
    assert capsys.readouterr().out == f"0x{expected.slot:064x}\n"
    assert main(["slot", "0x7", *keys, "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert (int(output["slot"], 16), output["offset"]) == (expected.slot, 0)


@pytest.mark.parametrize(
    "compute",
    [
        lambda: Position(-1),
        lambda: Position(0, 32),
        lambda: Position(0, 1).mapping(bytes(32)),
        lambda: Position(0).member(-1),
        lambda: Position(0).fixed_array_element(-1),
        lambda: Position(0).fixed_array_element(0, 0),
        lambda: mapping_key("uint256", -1),
        lambda: mapping_key("uint8", 256),
        lambda: mapping_key("uint7", 1),
        lambda: mapping_key("int8", -129),
        lambda: mapping_key("address", bytes(32)),
        lambda: mapping_key("bytes33", bytes(33)),
        lambda: mapping_key("bytes4", bytes(5)),
        lambda: mapping_key("uint8", "five"),
        lambda: mapping_key("tuple", 1),
    ],
)
def test_impossible_positions_and_keys_are_refused(compute: Callable[[], object]) -> None:
    with pytest.raises(UsageError):
        compute()


def test_topics_are_words_of_signatures_and_values() -> None:
    transfer = "Transfer(address,address,uint256)"
    topics = log_filter(HOLDER, transfer, None, [HOLDER.lower(), "7"])["topics"]
    holder, seven = f"0x{24 * '0'}{HOLDER[2:].lower()}", f"0x{7:064x}"
    assert topics == [f"0x{keccak256(transfer.encode()).hex()}", None, [holder, seven]]
    for unclear in ("Transfer", "string:abc", "0xabc"):
        with pytest.raises(UsageError):
            log_filter(HOLDER, unclear)


def test_keccak_equals_the_services_at_lengths_around_the_block_size() -> None:
    for length in (0, *range(130, 142), *range(266, 278)):
        content = (bytes(range(256)) * 2)[:length]
        assert python_keccak256(content) == keccak256(content), length
