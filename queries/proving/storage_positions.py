"""Where Solidity keeps a variable ("Layout of State Variables in Storage").

A position is a slot and a byte in it, and every step into a variable gives the next position:

    Position(3).mapping(address_key(owner)).mapping(address_key(spender))   # allowance
    Position(7).dynamic_array_element(4, size=64).member(1)                 # points[4].y

Slots count modulo 2^256, bytes from the low-order end of the word.
"""

from dataclasses import dataclass

from .errors import ArgumentMalformed
from .keccak import keccak256

WORD_BYTES = 32
SLOT_LIMIT = 2**256
ADDRESS_BYTES = 20


@dataclass(frozen=True, slots=True)
class Position:
    """A variable's slot, and which of the slot's bytes is its lowest."""

    slot: int
    byte_offset: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.slot < SLOT_LIMIT or not 0 <= self.byte_offset < WORD_BYTES:
            raise ArgumentMalformed(f"there is no byte {self.byte_offset} of slot {self.slot}")

    def member(self, slot_offset: int, byte_offset: int = 0) -> "Position":
        """A struct's member, at the place in the struct that the compiler's layout names."""
        self._must_begin_a_slot("struct")
        if slot_offset < 0:
            raise ArgumentMalformed(f"a struct has no member at slot {slot_offset}")
        return Position((self.slot + slot_offset) % SLOT_LIMIT, byte_offset)

    def mapping(self, key: bytes) -> "Position":
        """A mapping's value for a key in the form that the functions below give it."""
        self._must_begin_a_slot("mapping")
        return Position(int.from_bytes(keccak256(key + self._word()), "big"))

    def fixed_array_element(self, index: int, size: int = WORD_BYTES) -> "Position":
        """An element of `T[n]`, where a T takes `size` bytes.

        Elements of at most half a word share slots; none spans two. A longer T, and any struct
        or array, takes whole slots: its size is a multiple of 32.
        """
        self._must_begin_a_slot("array")
        if index < 0:
            raise ArgumentMalformed(f"an array has no element {index}")
        if size < 1 or (size > WORD_BYTES and size % WORD_BYTES):
            raise ArgumentMalformed(f"no element takes {size} bytes")
        if size <= WORD_BYTES:
            slots, place = divmod(index, WORD_BYTES // size)
            return Position((self.slot + slots) % SLOT_LIMIT, place * size)
        return Position((self.slot + index * (size // WORD_BYTES)) % SLOT_LIMIT)

    def dynamic_array_element(self, index: int, size: int = WORD_BYTES) -> "Position":
        """An element of `T[]`; the array's own slot holds its length."""
        return self.dynamic_data().fixed_array_element(index, size)

    def dynamic_data(self) -> "Position":
        """Where a dynamic array's elements begin, or the bytes of a `bytes` or `string` over 31."""
        self._must_begin_a_slot("array")
        return Position(int.from_bytes(keccak256(self._word()), "big"))

    def read(self, word: int, size: int) -> int:
        """Take a variable of `size` bytes, as an unsigned integer, out of its slot's value."""
        if not 1 <= size <= WORD_BYTES - self.byte_offset:
            raise ArgumentMalformed(f"no {size} bytes begin at byte {self.byte_offset} of a slot")
        return word >> 8 * self.byte_offset & (1 << 8 * size) - 1

    def _word(self) -> bytes:
        return self.slot.to_bytes(WORD_BYTES, "big")

    def _must_begin_a_slot(self, kind: str) -> None:
        if self.byte_offset:
            raise ArgumentMalformed(f"a {kind} begins a slot, not at byte {self.byte_offset}")


def unsigned_key(value: int, bits: int = 256) -> bytes:
    """A mapping's key of type uintN, or of an enum (uint8)."""
    if not 0 <= value < 1 << _width(bits):
        raise ArgumentMalformed(f"{value} is not a uint{bits}")
    return value.to_bytes(WORD_BYTES, "big")


def signed_key(value: int, bits: int = 256) -> bytes:
    """A mapping's key of type intN: two's complement over the whole word."""
    half = 1 << _width(bits) - 1
    if not -half <= value < half:
        raise ArgumentMalformed(f"{value} is not an int{bits}")
    return value.to_bytes(WORD_BYTES, "big", signed=True)


def boolean_key(*, value: bool) -> bytes:
    """A mapping's key of type bool."""
    return unsigned_key(int(value), 8)


def address_key(address: bytes) -> bytes:
    """A mapping's key of type address, or of a contract's type."""
    if len(address) != ADDRESS_BYTES:
        raise ArgumentMalformed(f"an address has {ADDRESS_BYTES} bytes, not {len(address)}")
    return address.rjust(WORD_BYTES, b"\x00")


def fixed_bytes_key(value: bytes) -> bytes:
    """A mapping's key of type bytesN, N being its length: padded on the right."""
    if not 1 <= len(value) <= WORD_BYTES:
        raise ArgumentMalformed(f"there is no type bytes{len(value)}")
    return value.ljust(WORD_BYTES, b"\x00")


def text_key(value: str | bytes) -> bytes:
    """A mapping's key of type string or bytes: as it is, of any length."""
    return value.encode() if isinstance(value, str) else value


def _width(bits: int) -> int:
    if bits not in range(8, 257, 8):
        raise ArgumentMalformed(f"there is no integer of {bits} bits")
    return bits
