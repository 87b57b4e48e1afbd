"""Read values of a node's JSON strictly; every fault is a `ProofError`.

Sentences quote only the beginning of a text and only the type of anything else, because a wrong
value may be huge, or nested deeper than Python can print.
"""

import re
from binascii import unhexlify

from queries.proving.errors import AnswerMalformedError, AnswerTooLargeError

MAX_JSON_VALUES = 2**20  # in a document: as Python objects they take thirty times their bytes
_VALUE_MARKS = (b"[", b"{", b",")
_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}")
_QUOTED_CHARACTERS = 70


def has_too_many_values(content: bytes | bytearray, limit: int = MAX_JSON_VALUES) -> bool:
    """Call before parsing. Counts the marks that precede a value; hex contains none of them."""
    return sum(map(content.count, _VALUE_MARKS)) > limit


def read_object(value: object, name: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise AnswerMalformedError(f"{name} must be an object, not {describe(value)}")
    return value


def read_list(value: object, name: str, limit: int) -> list[object]:
    """Read a JSON array of at most `limit` entries."""
    if not isinstance(value, list):
        raise AnswerMalformedError(f"{name} must be a list, not {describe(value)}")
    if len(value) > limit:
        raise AnswerTooLargeError(f"{name} has {len(value)} entries; at most {limit}")
    return value


def read_bytes(value: object, name: str, limit: int) -> bytes:
    """Read 0x-hex of at most `limit` bytes."""
    if not isinstance(value, str) or not value.startswith("0x"):
        raise AnswerMalformedError(f"{name} must be 0x-hex, not {describe(value)}")
    if len(value) > 2 + 2 * limit:
        raise AnswerTooLargeError(f"{name} has {len(value) // 2 - 1} bytes; at most {limit}")
    try:
        # Unlike bytes.fromhex, unhexlify does not skip white space.
        return unhexlify(value[2:])
    except ValueError:
        raise AnswerMalformedError(f"{name} must be hex bytes, not {describe(value)}") from None


def read_fixed_bytes(value: object, name: str, width: int) -> bytes:
    """Read 0x-hex of exactly `width` bytes."""
    content = read_bytes(value, name, width)
    if len(content) != width:
        raise AnswerMalformedError(f"{name} must have {width} bytes, not {len(content)}")
    return content


def read_quantity(value: object, name: str) -> int:
    """Read an integer below 2^256 in 0x-hex, with leading zeros, which some nodes send."""
    if not isinstance(value, str) or not _QUANTITY.fullmatch(value):
        raise AnswerMalformedError(f"{name} must be a number in 0x-hex, not {describe(value)}")
    return int(value, 16)


def encode_hex(content: bytes) -> str:
    return f"0x{content.hex()}"


def describe(value: object) -> str:
    """Describe an unexpected value in an error sentence."""
    if isinstance(value, str):
        return ascii(value[:_QUOTED_CHARACTERS]) + ("…" if len(value) > _QUOTED_CHARACTERS else "")
    return "null" if value is None else f"a value of type {type(value).__name__}"
