import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries.proving.errors import AnswerMalformed, AnswerTooLarge
from queries.proving.json_values import (
    read_bytes,
    read_fixed_bytes,
    read_list,
    read_object,
    read_quantity,
)

pytestmark = pytest.mark.no_database


@given(st.binary(max_size=40))
def test_bytes(some: bytes) -> None:
    assert read_bytes(f"0x{some.hex()}", "some", 40) == some
    assert read_bytes(f"0x{some.hex().upper()}", "some", 40) == some
    assert read_fixed_bytes(f"0x{some.hex()}", "some", len(some)) == some


@given(st.integers(0, 2**256 - 1))
def test_quantities(number: int) -> None:
    assert read_quantity(hex(number), "number") == number
    assert read_quantity(f"0x{number:064X}", "number") == number


@pytest.mark.parametrize(
    "value",
    [None, 5, True, b"0x12", [], {}, "", "12", "0X12", "0x1", "0x 12", "0x12 ", "0xzz",
     "0x\u0661\u0662",     "0x\ud800\ud800", "0x-1", "0x1_1"],
)  # fmt: skip
def test_what_is_not_bytes_in_hex(value: object) -> None:
    with pytest.raises(AnswerMalformed, match="some"):
        read_bytes(value, "some", 40)


@pytest.mark.parametrize(
    "value",
    [None, 5, True, 1.5, [], {}, "", "0x", "12", "0X1", "0x1 ", " 0x1", "0x+1", "0x-1", "0x1_1",
     "0xg", "0x1\n", f"0x{0:065x}", f"0x{2**256:x}"],
)  # fmt: skip
def test_what_is_not_a_quantity(value: object) -> None:
    with pytest.raises(AnswerMalformed, match="number"):
        read_quantity(value, "number")


def test_bounds() -> None:
    with pytest.raises(AnswerTooLarge, match="3 bytes; at most 2"):
        read_bytes("0x010203", "some", 2)
    with pytest.raises(AnswerMalformed, match="must have 4 bytes, not 3"):
        read_fixed_bytes("0x010203", "some", 4)
    with pytest.raises(AnswerTooLarge, match="3 entries; at most 2"):
        read_list([1, 2, 3], "list", 2)
    assert read_list([1, 2], "list", 2) == [1, 2]
    assert read_object({"a": 1}, "object") == {"a": 1}
    for value in (None, "[]", (1, 2), 1):
        with pytest.raises(AnswerMalformed):
            read_list(value, "list", 2)
        with pytest.raises(AnswerMalformed):
            read_object(value, "object")


def test_a_sentence_stays_short_whatever_was_sent() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    for value in ("0x" + "z" * 10_000_000, deep):
        with pytest.raises(AnswerMalformed) as caught:
            read_bytes(value, "some", 10**9)
        assert len(str(caught.value)) < 200
