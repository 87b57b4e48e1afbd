"""The client finds variables where the service's own arithmetic does.

Two of them, because the one imports nothing of ours, and the other nothing that could ask anyone.
"""

import json
from collections.abc import Callable
from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries.proving import storage_positions as own
from queries.tacitus import SLOT_LIMIT, Misused, Position, main, mapping_key, typed_key

pytestmark = pytest.mark.no_database

slots = st.integers(0, SLOT_LIMIT - 1)
indexes = st.integers(0, 2**64)
widths = st.integers(1, 32).map(lambda count: 8 * count)
sizes = st.integers(1, 32) | st.integers(2, 100).map(lambda words: 32 * words)
addresses = st.binary(min_size=20, max_size=20)
HOLDER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"


@given(widths, st.data())
def test_integers_as_keys(bits: int, data: st.DataObject) -> None:
    unsigned = data.draw(st.integers(0, 2**bits - 1))
    signed = data.draw(st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))
    assert mapping_key(f"uint{bits}", unsigned) == own.unsigned_key(unsigned, bits)
    assert mapping_key(f"int{bits}", signed) == own.signed_key(signed, bits)
    assert mapping_key(f"uint{bits}", hex(unsigned)) == own.unsigned_key(unsigned, bits)


@given(addresses, st.booleans(), st.binary(min_size=1, max_size=32), st.text(max_size=50))
def test_other_keys(
    address: bytes,
    truth: bool,  # noqa: FBT001
    some: bytes,
    text: str,
) -> None:
    assert mapping_key("address", address) == own.address_key(address)
    assert mapping_key("bool", truth) == own.boolean_key(value=truth)
    assert mapping_key(f"bytes{len(some)}", some) == own.fixed_bytes_key(some)
    assert mapping_key("bytes", some) == own.text_key(some)
    assert mapping_key("string", text) == own.text_key(text)


@given(slots, addresses, indexes, sizes, st.integers(0, 2**64))
def test_steps_into_a_variable(
    slot: int, address: bytes, index: int, size: int, member: int
) -> None:
    ours, theirs = own.Position(slot), Position(slot)
    for kind in ("fixed_array_element", "dynamic_array_element"):
        expected = getattr(ours, kind)(index, size)
        assert astuple(getattr(theirs, kind)(index, size)) == astuple(expected)
    expected = ours.mapping(own.address_key(address)).dynamic_array_element(index, 64)
    found = theirs.mapping(mapping_key("address", address)).dynamic_array_element(index, 64)
    assert astuple(found.member(member, 3)) == astuple(expected.member(member, 3))
    assert astuple(theirs.dynamic_data()) == astuple(ours.dynamic_data())


@pytest.mark.parametrize(
    ("text", "kind", "key"),
    [
        (HOLDER, "address", HOLDER),
        (HOLDER.lower(), "address", HOLDER),
        ("0x" + HOLDER[2:].upper(), "address", HOLDER),
        ("0x" + 32 * "ab", "bytes32", "0x" + 32 * "ab"),
        ("7", "uint256", 7),
        ("-7", "int256", -7),
        ("true", "bool", "true"),
        ("false", "uint256", 0),
        ("uint8:0xff", "uint256", 255),
        ("int8:-128", "int256", -128),
        ("uint:5", "uint256", 5),
        ("string:uint:5", "string", "uint:5"),
        ("string:", "string", ""),
        ("bytes4:0xa9059cbb", "bytes4", "0xa9059cbb"),
        ("bytes:0xabcd", "bytes", "0xABCD"),
    ],
)
def test_a_keys_type_is_seen_from_it_or_given(text: str, kind: str, key: str | int) -> None:
    assert typed_key(text) == mapping_key(kind, key)


@pytest.mark.parametrize("text", ["abc", "1e5", "0x5", "0xabcdef", "", "dai:5"])
def test_a_key_of_no_clear_type_is_asked_about(text: str) -> None:
    with pytest.raises(Misused, match="Say of which type"):
        typed_key(text)


def test_an_address_with_a_wrong_digit_is_not_taken() -> None:
    """Its slots would be a stranger's, and zero there looks like an answer."""
    with pytest.raises(Misused, match=f"Or {HOLDER[:-1]}5?"):
        typed_key(HOLDER.replace("0xd8dA", "0xd8Da"))


@pytest.mark.parametrize(
    ("steps", "expected", "said"),
    [
        ("", Position(7), ""),
        ("--index 4 --size 64 --member 1", Position(7).dynamic_array_element(4, 64).member(1), ""),
        ("--index 9 --index 1", Position(7).dynamic_array_element(9).dynamic_array_element(1), ""),
        ("--member 0x2", Position(9), ""),
        (
            "--member 1 --fixed-index 5 --size 8",
            Position(9, 8),
            "from byte 8 of the slot's low end",
        ),
        (
            f"--key {HOLDER} --key=-5 --index 0",
            Position(7)
            .mapping(mapping_key("address", HOLDER))
            .mapping(mapping_key("int256", -5))
            .dynamic_array_element(0),
            "",
        ),
    ],
)
def test_the_command_takes_steps_in_their_order(
    capsys: pytest.CaptureFixture[str], steps: str, expected: Position, said: str
) -> None:
    assert main(["slot", "7", *steps.split()]) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err.strip()) == (f"0x{expected.slot:064x}\n", said)
    assert main(["slot", "0x7", *steps.split(), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (int(told["slot"], 16), told["offset"]) == (expected.slot, expected.byte_offset)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Position(-1),
        lambda: Position(2**256),
        lambda: Position(0, 32),
        lambda: Position(0, 1).mapping(bytes(32)),
        lambda: Position(0, 1).dynamic_data(),
        lambda: Position(0, 1).member(0),
        lambda: Position(0).member(-1),
        lambda: Position(0).fixed_array_element(-1),
        lambda: Position(0).fixed_array_element(0, 0),
        lambda: Position(0).fixed_array_element(0, 33),
        lambda: mapping_key("uint256", -1),
        lambda: mapping_key("uint256", 2**256),
        lambda: mapping_key("uint8", 256),
        lambda: mapping_key("uint7", 1),
        lambda: mapping_key("int8", 128),
        lambda: mapping_key("int8", -129),
        lambda: mapping_key("address", bytes(32)),
        lambda: mapping_key("bytes0", b""),
        lambda: mapping_key("bytes33", bytes(33)),
        lambda: mapping_key("bytes4", bytes(5)),
        lambda: mapping_key("bool", "2"),
        lambda: mapping_key("uint8", "five"),
        lambda: mapping_key("bytes", "0xabc"),
        lambda: mapping_key("tuple", 1),
    ],
)
def test_positions_that_no_compiler_lays_out(wrong: Callable[[], object]) -> None:
    with pytest.raises(Misused):
        wrong()
