"""The value of an account's leaf (yellow paper, 4.1), and of a storage slot's leaf."""

from dataclasses import dataclass

from .errors import RlpMalformed, ValueNotCanonical
from .keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, HASH_BYTES
from .rlp_items import (
    encode_integer,
    encode_list,
    encode_string,
    read_integer,
    read_string,
    split_list,
)

_ACCOUNT_ITEMS = 4
_MAX_NONCE_BYTES = 8
_MAX_WORD_BYTES = 32


@dataclass(frozen=True, slots=True)
class AccountState:
    """What the state trie holds of an account."""

    nonce: int
    balance: int
    storage_root: bytes
    code_hash: bytes


# An account that the trie does not hold has this state: that is what its absence proves.
ABSENT_ACCOUNT = AccountState(0, 0, EMPTY_TRIE_ROOT, EMPTY_CODE_HASH)


def decode_account(leaf_value: bytes) -> AccountState:
    """Read the value of a leaf of the state trie."""
    try:
        items = split_list(leaf_value)
        if len(items) != _ACCOUNT_ITEMS:
            raise ValueNotCanonical(f"an account has 4 items, not {len(items)}")
        nonce, balance, storage_root, code_hash = map(read_string, items)
        state = AccountState(read_integer(nonce), read_integer(balance), storage_root, code_hash)
    except RlpMalformed as fault:
        raise ValueNotCanonical(f"a proven account is not canonical: {fault}") from fault
    if len(nonce) > _MAX_NONCE_BYTES or len(balance) > _MAX_WORD_BYTES:
        raise ValueNotCanonical(
            f"an account has a nonce of {len(nonce)} and a balance of {len(balance)} bytes"
        )
    if len(storage_root) != HASH_BYTES or len(code_hash) != HASH_BYTES:
        raise ValueNotCanonical(
            f"an account has hashes of {len(storage_root)} and {len(code_hash)} bytes"
        )
    return state


def encode_account(state: AccountState) -> bytes:
    """Write the value of a leaf of the state trie."""
    return encode_list(
        (
            encode_integer(state.nonce),
            encode_integer(state.balance),
            encode_string(state.storage_root),
            encode_string(state.code_hash),
        )
    )


def decode_slot_value(leaf_value: bytes) -> int:
    """Read the value of a leaf of a storage trie.

    No chain has a leaf of zero, but a development node keeps one where a slot was set back to it.
    """
    try:
        payload = read_string(leaf_value)
        value = read_integer(payload)
    except RlpMalformed as fault:
        raise ValueNotCanonical(f"a proven slot's value is not canonical: {fault}") from fault
    if len(payload) > _MAX_WORD_BYTES:
        raise ValueNotCanonical(f"a proven slot's value has {len(payload)} bytes")
    return value


def encode_slot_value(value: int) -> bytes:
    """Write the value of a leaf of a storage trie."""
    return encode_integer(value)
