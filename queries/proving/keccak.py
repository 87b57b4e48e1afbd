"""Keccak-256, and the three hashes of emptiness that the protocol names."""

from collections.abc import Callable

from eth_hash.utils import load_backend

HASH_BYTES = 32


def _fastest_backend() -> Callable[[bytes], bytes]:
    """Hashing is most of a proof's cost, and pysha3's call is some 2 to 5 times as short.

    `eth_hash` on its own would take pycryptodome wherever it is installed.
    """
    try:
        return load_backend("pysha3").keccak256
    except ImportError:
        return load_backend("pycryptodome").keccak256


keccak256 = _fastest_backend()


def number_word(number: int) -> bytes:
    """A number as contracts hash and store it."""
    return number.to_bytes(HASH_BYTES, "big")


# The hash of the empty string's RLP: a trie without any key.
EMPTY_TRIE_ROOT = keccak256(b"\x80")
# The hash of no bytes: an account without code.
EMPTY_CODE_HASH = keccak256(b"")
# The hash of the empty list's RLP: every header since the merge.
EMPTY_UNCLES_HASH = keccak256(b"\xc0")
