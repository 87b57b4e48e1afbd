import pytest
import rlp
from hypothesis import example, given
from hypothesis import strategies as st

from queries.proving.errors import RlpMalformedError, RlpNotCanonicalError
from queries.proving.rlp_items import (
    encode_integer,
    encode_list,
    encode_string,
    read_integer,
    read_string,
    split_list,
)

pytestmark = pytest.mark.no_database

strings = st.binary(max_size=70) | st.binary(min_size=250, max_size=300)
nested = st.recursive(strings, lambda inner: st.lists(inner, max_size=5), max_leaves=12)


@given(strings)
@example(b"\x7f")
@example(b"\x80")
@example(bytes(70_000))
def test_strings_are_encoded_like_by_the_rlp_library(payload: bytes) -> None:
    encoded = rlp.encode(payload)
    assert encode_string(payload) == encoded
    assert read_string(encoded) == payload


@given(st.integers(min_value=0, max_value=2**256 - 1))
def test_integers_are_encoded_like_by_the_rlp_library(number: int) -> None:
    encoded = rlp.encode(number)
    assert encode_integer(number) == encoded
    assert read_integer(read_string(encoded)) == number


@given(st.lists(nested, max_size=20))
def test_lists_are_encoded_like_by_the_rlp_library(items: list[object]) -> None:
    encoded_items = [rlp.encode(item) for item in items]
    encoded = rlp.encode(items)
    assert encode_list(encoded_items) == encoded
    assert split_list(encoded) == encoded_items


@given(st.binary(max_size=12) | st.binary(max_size=70).map(lambda tail: b"\xf8" + tail))
def test_only_canonical_encodings_are_decoded(encoded: bytes) -> None:
    try:
        assert encode_list(split_list(encoded)) == encoded
    except RlpMalformedError:
        with pytest.raises((rlp.DecodingError, AssertionError, IndexError)):
            assert isinstance(rlp.decode(encoded), list)
    try:
        assert encode_string(read_string(encoded)) == encoded
    except RlpMalformedError:
        with pytest.raises((rlp.DecodingError, AssertionError, IndexError)):
            assert isinstance(rlp.decode(encoded), bytes)


@pytest.mark.parametrize(
    "encoded",
    [
        "8105",  # a byte that is its own encoding
        "b80161",  # a long form for one byte
        f"b837{'61' * 55}",  # a long form for 55 bytes
        f"b90038{'61' * 56}",  # a length with a leading zero
        f"bf0000000000000038{'61' * 56}",
    ],
)
def test_strings_with_a_shorter_encoding_are_refused(encoded: str) -> None:
    with pytest.raises(RlpNotCanonicalError):
        read_string(bytes.fromhex(encoded))
    with pytest.raises(RlpNotCanonicalError):
        split_list(encode_list([bytes.fromhex(encoded)]))


@pytest.mark.parametrize("encoded", ["f800", "f80180", f"f837{'80' * 55}", f"f90038{'80' * 56}"])
def test_lists_with_a_shorter_encoding_are_refused(encoded: str) -> None:
    with pytest.raises(RlpNotCanonicalError):
        split_list(bytes.fromhex(encoded))


@pytest.mark.parametrize(
    "encoded",
    [
        "",
        "80",  # a string
        "c0c0",  # trailing bytes
        "c2",  # cut off before the first item
        "c281",  # cut off in an item
        "c182",  # the item reaches past the list
        "c1a0",
        "f9",  # cut off in the length
        "f901",
        "ffffffffffffffffff",
    ],
)
def test_broken_lists_are_refused(encoded: str) -> None:
    with pytest.raises(RlpMalformedError):
        split_list(bytes.fromhex(encoded))


@pytest.mark.parametrize("encoded", ["", "c0", "8080", "82", "8261", "b8", "bfffffffffffffffff"])
def test_broken_strings_are_refused(encoded: str) -> None:
    with pytest.raises(RlpMalformedError):
        read_string(bytes.fromhex(encoded))


def test_integers_with_leading_zeros_are_refused() -> None:
    assert read_integer(b"") == 0
    for payload in (b"\x00", b"\x00\x01"):
        with pytest.raises(RlpNotCanonicalError):
            read_integer(payload)
