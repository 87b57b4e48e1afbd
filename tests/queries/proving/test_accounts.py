import pytest
import rlp
from hypothesis import given
from hypothesis import strategies as st

from queries.proving.accounts import (
    ABSENT_ACCOUNT,
    AccountState,
    decode_account,
    decode_slot_value,
    encode_account,
    encode_slot_value,
)
from queries.proving.errors import ValueNotCanonicalError

pytestmark = pytest.mark.no_database

hashes = st.binary(min_size=32, max_size=32)
states = st.builds(
    AccountState, st.integers(0, 2**64 - 1), st.integers(0, 2**256 - 1), hashes, hashes
)


@given(states)
def test_accounts_are_encoded_like_by_the_rlp_library(state: AccountState) -> None:
    encoded = rlp.encode([state.nonce, state.balance, state.storage_root, state.code_hash])
    assert encode_account(state) == encoded
    assert decode_account(encoded) == state


@given(st.integers(1, 2**256 - 1))
def test_slot_values_are_encoded_like_by_the_rlp_library(value: int) -> None:
    assert encode_slot_value(value) == rlp.encode(value)
    assert decode_slot_value(rlp.encode(value)) == value


ROOT, CODE = ABSENT_ACCOUNT.storage_root, ABSENT_ACCOUNT.code_hash


@pytest.mark.parametrize(
    "items",
    [
        [b"\x01", b"", ROOT],
        [b"\x01", b"", ROOT, CODE, b""],
        [b"\x00", b"", ROOT, CODE],
        [b"", b"\x00\x01", ROOT, CODE],
        [b"\x01" * 9, b"", ROOT, CODE],
        [b"", b"\x01" * 33, ROOT, CODE],
        [b"", b"", ROOT[:31], CODE],
        [b"", b"", ROOT, b""],
        [b"", b"", ROOT, CODE + b"\x00"],
        [[], b"", ROOT, CODE],
    ],
)
def test_malformed_accounts_are_refused(items: list[object]) -> None:
    with pytest.raises(ValueNotCanonicalError):
        decode_account(rlp.encode(items))


def test_broken_encodings_of_accounts_are_refused() -> None:
    encoded = encode_account(ABSENT_ACCOUNT)
    for broken in (b"", b"\x80", encoded[:-1], encoded + b"\x00", b"\xf9\x00" + encoded[1:]):
        with pytest.raises(ValueNotCanonicalError):
            decode_account(broken)


@pytest.mark.parametrize(
    "leaf_value",
    ["", "00", "8100", "8101", "820001", "c0", "c101", f"a1{'01' * 33}", f"a0{'00' * 32}",
     "0101", f"a0{'01' * 31}"],
)  # fmt: skip
def test_malformed_slot_values_are_refused(leaf_value: str) -> None:
    with pytest.raises(ValueNotCanonicalError):
        decode_slot_value(bytes.fromhex(leaf_value))


def test_a_leaf_of_zero_is_zero() -> None:
    """Some development nodes keep one for a cleared slot."""
    assert decode_slot_value(b"\x80") == 0
    assert encode_slot_value(0) == b"\x80"
