"""Storage positions: where Solidity stores variables."""

import re
from dataclasses import dataclass

from queries.client.python.errors import UsageError
from queries.proving import ADDRESS_BYTES, checksum_address, keccak256

WORD = 32  # bytes
SLOT_LIMIT = 2**256


@dataclass(frozen=True, slots=True)
class Position:
    """The storage of a Solidity variable: its slot, and its lowest byte in the slot.

    Each method steps into the variable. The position of `points[4].y` is:

        Position(7).dynamic_array_element(4, size=64).member(1)
    """

    slot: int
    byte_offset: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.slot < SLOT_LIMIT or not 0 <= self.byte_offset < WORD:
            raise UsageError(f"There is no byte {self.byte_offset} of slot {self.slot}.")

    @property
    def word(self) -> bytes:
        return self.slot.to_bytes(WORD, "big")

    def member(self, slot_offset: int, byte_offset: int = 0) -> "Position":
        """A struct's member, at its offsets in the compiler's layout."""
        self._check_starts_slot("struct")
        if slot_offset < 0:
            raise UsageError(f"A struct has no member at slot {slot_offset}.")
        return Position((self.slot + slot_offset) % SLOT_LIMIT, byte_offset)

    def mapping(self, key: bytes) -> "Position":
        """A mapping's value for a key encoded by `mapping_key`."""
        self._check_starts_slot("mapping")
        return Position(int.from_bytes(keccak256(key + self.word), "big"))

    def fixed_array_element(self, index: int, size: int = WORD) -> "Position":
        """An element of `T[n]`, where a T takes `size` bytes.

        Elements of at most half a word share slots; none spans two. A longer T, and any struct
        or array, takes whole slots: its size is a multiple of 32.
        """
        self._check_starts_slot("array")
        if index < 0:
            raise UsageError(f"An array has no element {index}.")
        if size < 1 or (size > WORD and size % WORD):
            raise UsageError(f"No element takes {size} bytes.")
        if size <= WORD:
            slots, index_in_slot = divmod(index, WORD // size)
            return Position((self.slot + slots) % SLOT_LIMIT, index_in_slot * size)
        return Position((self.slot + index * (size // WORD)) % SLOT_LIMIT)

    def dynamic_array_element(self, index: int, size: int = WORD) -> "Position":
        """An element of `T[]`; the array's own slot holds its length."""
        return self.dynamic_data().fixed_array_element(index, size)

    def dynamic_data(self) -> "Position":
        """The position of a dynamic array's first element, or of the data of a `bytes` or `string`.

        A `bytes` or `string` of at most 31 bytes is in its own slot instead.
        """
        self._check_starts_slot("array")
        return Position(int.from_bytes(keccak256(self.word), "big"))

    def _check_starts_slot(self, kind: str) -> None:
        if self.byte_offset:
            raise UsageError(f"A {kind} begins a slot, not at byte {self.byte_offset}.")


TYPE_NAME = re.compile(r"(address|bool|string|bytes(?:\d*)|u?int(?:\d*))")


def mapping_key(kind: str, key: str | int | bytes) -> bytes:
    """Encode a mapping's key as Solidity hashes it; `kind` is its type, such as uint64."""
    text = f"0x{key.hex()}" if isinstance(key, bytes) else str(key)
    name, digits = kind.rstrip("0123456789"), kind.lstrip("abcdefghijklmnopqrstuvwxyz")
    match name:
        case "address":
            return parse_address(text).rjust(WORD, b"\0")
        case "string":
            return text.encode(errors="surrogateescape")
        case "bool" if text.lower() in {"true", "false"}:
            return mapping_key("uint", int(text.lower() == "true"))
        case "bytes" if not digits:
            return parse_hex(text)
        case "bytes" if 1 <= int(digits) <= WORD and len(parse_hex(text)) == int(digits):
            return parse_hex(text).ljust(WORD, b"\0")
        case "uint" | "int" if int(digits or 256) in range(8, 257, 8):
            number, is_signed = parse_integer(text), name == "int"
            bits = int(digits or 256) - is_signed
            if -(1 << bits) * is_signed <= number < 1 << bits:
                return number.to_bytes(WORD, "big", signed=is_signed)
    raise UsageError(f"{text} is not a key of type {kind}.")


def parse_integer(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise UsageError(f"{text!r} is not a whole number in decimal or 0x-hex.") from None


def parse_hex(text: str) -> bytes:
    if not re.fullmatch(r"0x([0-9a-fA-F]{2})*", text):
        raise UsageError(f"{text!r} is not 0x-hex with two digits for each byte.")
    return bytes.fromhex(text[2:])


def parse_address(text: str) -> bytes:
    """Check the EIP-55 checksum: a mistyped address would give a wrong slot without an error."""
    address = parse_hex(text)
    if len(address) != ADDRESS_BYTES:
        raise UsageError(f"An address has {ADDRESS_BYTES} bytes, not {len(address)} as {text} has.")
    digits, checksum = text[2:], checksum_address(address)
    if digits not in {digits.lower(), digits.upper(), checksum[2:]}:
        raise UsageError(f"{text} has a wrong checksum (EIP-55); its digits give {checksum}.")
    return address


def parse_typed_key(text: str) -> bytes:
    """Encode a key such as `uint64:5`, or an address, 32 bytes, a number, true or false."""
    kind, colon, key = text.partition(":")
    if colon and TYPE_NAME.fullmatch(kind):
        return mapping_key(kind, key)
    shapes = {
        "address": r"0x.{40}",
        "bytes32": r"0x.{64}",
        "bool": "true|false",
        "uint": "[0-9]+",
        "int": "-[0-9]+",
    }
    for guess, shape in shapes.items():
        if re.fullmatch(shape, text):
            return mapping_key(guess, text)
    raise UsageError(f"Name the type of the key {text}, such as string:{text} or bytes4:0x….")
