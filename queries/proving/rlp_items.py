"""Recursive Length Prefix (yellow paper, appendix B), decoded strictly.

A list is split into its items' encodings, one level at a time, so no input causes recursion, and
several times faster than by the `rlp` library. Only canonical encodings are accepted.
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
_QUOTED_BYTES = 40  # in sentences


def is_list(item: bytes) -> bool:
    """True if the encoding begins like a list."""
    return item[:1] >= b"\xc0"


def split_list(encoding: bytes) -> list[bytes]:
    """Split a list into the encodings of its items; inner lists are not decoded."""
    if not is_list(encoding):
        raise RlpMalformedError(f"a list was expected, not {_abbreviate(encoding)}")
    position, end = _payload_range(encoding, 0, len(encoding))
    if end != len(encoding):
        raise RlpMalformedError(
            f"{len(encoding) - end} bytes follow the list {_abbreviate(encoding)}"
        )
    items = []
    while position < end:
        first = encoding[position]
        # Fast path for the empty string and for hashes: nearly all items of trie nodes.
        if first == _STRING:
            next_position = position + 1
        elif first == _HASH and position + _HASH_ITEM_BYTES <= end:
            next_position = position + _HASH_ITEM_BYTES
        else:
            next_position = _payload_range(encoding, position, end)[1]
        items.append(encoding[position:next_position])
        position = next_position
    return items


def read_string(encoding: bytes) -> bytes:
    """Decode a string; all bytes must belong to it."""
    if is_list(encoding):
        raise RlpMalformedError(f"a string was expected, not the list {_abbreviate(encoding)}")
    start, end = _payload_range(encoding, 0, len(encoding))
    if end != len(encoding):
        raise RlpMalformedError(
            f"{len(encoding) - end} bytes follow the string {_abbreviate(encoding)}"
        )
    return encoding[start:end]


def read_integer(payload: bytes) -> int:
    """Decode a payload as a big-endian integer without leading zeros."""
    if payload[:1] == b"\x00":
        raise RlpNotCanonicalError(f"the integer {_abbreviate(payload)} has leading zeros")
    return int.from_bytes(payload, "big")


def encode_string(payload: bytes) -> bytes:
    if len(payload) == 1 and payload[0] < _STRING:
        return payload
    return _length_prefix(len(payload), _STRING, _LONG_STRING) + payload


def encode_integer(number: int) -> bytes:
    """Encode an integer; zero is the empty string."""
    return encode_string(integer_payload(number))


def integer_payload(number: int) -> bytes:
    """An integer's bytes without leading zeros."""
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def encode_list(items: Iterable[bytes]) -> bytes:
    """Encode a list of encoded items."""
    payload = b"".join(items)
    return _length_prefix(len(payload), _LIST, _LONG_LIST) + payload


def _length_prefix(length: int, short: int, long: int) -> bytes:
    if length < _SHORT_LIMIT:
        return bytes((short + length,))
    digits = integer_payload(length)
    return bytes((long + len(digits),)) + digits


def _payload_range(encoding: bytes, position: int, end: int) -> tuple[int, int]:
    """The start and end of the payload of the item at `position`."""
    if position >= end:
        raise RlpMalformedError("an item is missing at the end")
    first = encoding[position]
    if first < _STRING:
        return position, position + 1
    base, long = (_STRING, _LONG_STRING) if first < _LIST else (_LIST, _LONG_LIST)
    start = position + 1
    if first <= long:
        length = first - base
    else:
        start += first - long
        digits = encoding[position + 1 : min(start, end)]
        length = int.from_bytes(digits, "big")
        if digits[:1] == b"\x00" or length < _SHORT_LIMIT:
            raise RlpNotCanonicalError(f"the length {_abbreviate(digits)} has a shorter form")
    if start + length > end:
        raise RlpMalformedError(f"an item of {length} bytes is cut off after {max(end - start, 0)}")
    if first == _STRING + 1 and encoding[start] < _STRING:
        raise RlpNotCanonicalError(f"the byte {encoding[start]:#04x} is its own encoding")
    return start, start + length


def _abbreviate(content: bytes) -> str:
    """Abbreviate bytes for a sentence."""
    return f"0x{content[:_QUOTED_BYTES].hex()}" + ("…" if len(content) > _QUOTED_BYTES else "")
