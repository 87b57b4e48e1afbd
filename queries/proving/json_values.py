"""Values of a node's JSON, read strictly: whatever a node sends, the fault is an error of ours.

Sentences quote only the beginning of a text and only the kind of anything else: a value that is
refused may be huge, or nested deeper than Python can print.
"""

import re
from binascii import unhexlify

from queries.proving.errors import AnswerMalformed, AnswerTooLarge

MOST_VALUES = 2**20  # of a text that is read: as objects they take thirty times their bytes
_BEFORE_VALUES = (b"[", b"{", b",")
_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}")
_SHOWN_CHARACTERS = 70


def has_too_many_values(content: bytes | bytearray, most: int = MOST_VALUES) -> bool:
    """Checked before parsing. Each value begins after one of these, which hex does not hold."""
    return sum(map(content.count, _BEFORE_VALUES)) > most


def read_object(value: object, name: str) -> dict[str, object]:
    """Read a JSON object."""
    if not isinstance(value, dict):
        raise AnswerMalformed(f"{name} must be an object, not {shown(value)}")
    return value


def read_list(value: object, name: str, limit: int) -> list[object]:
    """Read a JSON array of at most `limit` entries."""
    if not isinstance(value, list):
        raise AnswerMalformed(f"{name} must be a list, not {shown(value)}")
    if len(value) > limit:
        raise AnswerTooLarge(f"{name} has {len(value)} entries; at most {limit} can be right")
    return value


def read_bytes(value: object, name: str, limit: int) -> bytes:
    """Read 0x-hex of at most `limit` bytes."""
    if not isinstance(value, str) or not value.startswith("0x"):
        raise AnswerMalformed(f"{name} must be 0x-hex, not {shown(value)}")
    if len(value) > 2 + 2 * limit:
        raise AnswerTooLarge(
            f"{name} has {len(value) // 2 - 1} bytes; at most {limit} can be right"
        )
    try:
        # Unlike bytes.fromhex, unhexlify does not skip white space.
        return unhexlify(value[2:])
    except ValueError:
        raise AnswerMalformed(f"{name} must be whole bytes of hex, not {shown(value)}") from None


def read_fixed_bytes(value: object, name: str, width: int) -> bytes:
    """Read 0x-hex of exactly `width` bytes."""
    read = read_bytes(value, name, width)
    if len(read) != width:
        raise AnswerMalformed(f"{name} must have {width} bytes, not {len(read)}")
    return read


def read_quantity(value: object, name: str) -> int:
    """Read an integer below 2^256 in 0x-hex.

    Leading zeros are read although JSON-RPC forbids them, because some nodes send them; what the
    number is stays unambiguous.
    """
    if not isinstance(value, str) or not _QUANTITY.fullmatch(value):
        raise AnswerMalformed(f"{name} must be a number in 0x-hex, not {shown(value)}")
    return int(value, 16)


def shown(value: object) -> str:
    """What to call a value that was not expected."""
    if isinstance(value, str):
        return ascii(value[:_SHOWN_CHARACTERS]) + ("…" if len(value) > _SHOWN_CHARACTERS else "")
    return "null" if value is None else f"a value of type {type(value).__name__}"
