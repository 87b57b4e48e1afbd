"""Recursive Length Prefix (yellow paper, appendix B), read strictly.

Only one level is read at a time: a list is split into its items' encodings, and a caller that needs
an inner list splits that. So no input makes this recurse, and a node is read several times
faster than by the `rlp` library, which builds nested lists and checks types on the way.
Every item that is read has exactly one encoding; each other one is refused.
"""

from collections.abc import Iterable

from queries.proving.errors import RlpMalformedError, RlpNotCanonicalError

EMPTY_STRING = b"\x80"
_SHORT_LIMIT = 56
_STRING = 0x80
_LONG_STRING = 0xB7
_LIST = 0xC0
_LONG_LIST = 0xF7
_HASH = 0xA0
_HASH_ITEM_BYTES = 33


def is_list(item: bytes) -> bool:
    """Whether an item's encoding begins as a list's does."""
    return item[:1] >= b"\xc0"


def split_list(encoded: bytes) -> list[bytes]:
    """Split one encoded list into the encodings of its items.

    Inner lists are delimited, not looked into.
    """
    if not is_list(encoded):
        raise RlpMalformedError(f"a list was expected, not {_shown(encoded)}")
    position, end = _payload(encoded, 0, len(encoded))
    if end != len(encoded):
        raise RlpMalformedError(f"{len(encoded) - end} bytes follow the list {_shown(encoded)}")
    items = []
    while position < end:
        first = encoded[position]
        # Nearly all items of a trie's nodes are one of these two, and both are canonical.
        if first == _STRING:
            following = position + 1
        elif first == _HASH and position + _HASH_ITEM_BYTES <= end:
            following = position + _HASH_ITEM_BYTES
        else:
            following = _payload(encoded, position, end)[1]
        items.append(encoded[position:following])
        position = following
    return items


def read_string(encoded: bytes) -> bytes:
    """Read one encoded string that takes up all the bytes given."""
    if is_list(encoded):
        raise RlpMalformedError(f"a string was expected, not the list {_shown(encoded)}")
    start, end = _payload(encoded, 0, len(encoded))
    if end != len(encoded):
        raise RlpMalformedError(f"{len(encoded) - end} bytes follow the string {_shown(encoded)}")
    return encoded[start:end]


def read_integer(payload: bytes) -> int:
    """Read a string's payload as an integer: big-endian, without leading zeros."""
    if payload[:1] == b"\x00":
        raise RlpNotCanonicalError(f"the integer {_shown(payload)} has leading zeros")
    return int.from_bytes(payload, "big")


def encode_string(payload: bytes) -> bytes:
    """Encode a byte string."""
    if len(payload) == 1 and payload[0] < _STRING:
        return payload
    return _prefix(len(payload), _STRING, _LONG_STRING) + payload


def encode_integer(number: int) -> bytes:
    """Encode an integer; zero is the empty string."""
    return encode_string(number.to_bytes((number.bit_length() + 7) // 8, "big"))


def encode_list(items: Iterable[bytes]) -> bytes:
    """Encode a list of items that are encoded already."""
    payload = b"".join(items)
    return _prefix(len(payload), _LIST, _LONG_LIST) + payload


def _prefix(length: int, short: int, long: int) -> bytes:
    if length < _SHORT_LIMIT:
        return bytes((short + length,))
    digits = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes((long + len(digits),)) + digits


def _payload(encoded: bytes, position: int, end: int) -> tuple[int, int]:
    """Where the payload of the item at `position` begins and ends, which is before `end`."""
    if position >= end:
        raise RlpMalformedError("an item was expected, and there are no bytes left")
    first = encoded[position]
    if first < _STRING:
        return position, position + 1
    base, long = (_STRING, _LONG_STRING) if first < _LIST else (_LIST, _LONG_LIST)
    start = position + 1
    if first <= long:
        length = first - base
    else:
        start += first - long
        digits = encoded[position + 1 : min(start, end)]
        length = int.from_bytes(digits, "big")
        if digits[:1] == b"\x00" or length < _SHORT_LIMIT:
            raise RlpNotCanonicalError(f"the length {_shown(digits)} has a shorter form")
    if start + length > end:
        raise RlpMalformedError(f"an item of {length} bytes is cut off after {max(end - start, 0)}")
    if first == _STRING + 1 and encoded[start] < _STRING:
        raise RlpNotCanonicalError(f"the byte {encoded[start]:#04x} is its own encoding")
    return start, start + length


def _shown(some: bytes) -> str:
    """Enough of the bytes to recognise them by."""
    return f"0x{some[:40].hex()}" + ("…" if len(some) > 40 else "")  # noqa: PLR2004
