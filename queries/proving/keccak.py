"""Keccak-256, the hashes of the empty trie, code and uncle list, and checksummed addresses."""

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module

HASH_BYTES = 32
RATE, LANES, ROUNDS = 136, 25, 24  # of Keccak-256: bytes a block, lanes of 8 bytes
LANE = 2**64 - 1


def python_keccak256(content: bytes) -> bytes:
    """Ethereum's hash, slowly. hashlib has only the later SHA-3, whose padding differs."""
    message = bytearray(content + b"\x01" + bytes(-(len(content) + 1) % RATE))
    message[-1] |= 0x80
    lanes = [0] * LANES
    for block in range(0, len(message), RATE):
        for index in range(RATE // 8):
            start = block + 8 * index
            lanes[index] ^= int.from_bytes(message[start : start + 8], "little")
        lanes = _permute(lanes)
    return b"".join(lane.to_bytes(8, "little") for lane in lanes[:4])


def _permute(lanes: list[int]) -> list[int]:
    """Keccak-f[1600], with the steps of FIPS 202; the lane A[x, y] has index x + 5y."""
    for constant in ROUND_CONSTANTS:
        # theta
        columns = [lanes[x] ^ lanes[x + 5] ^ lanes[x + 10] ^ lanes[x + 15] ^ lanes[x + 20]
                   for x in range(5)]  # fmt: skip
        parities = [columns[x - 1] ^ _rotate_left(columns[(x + 1) % 5], 1) for x in range(5)]
        # rho and pi
        state = [_rotate_left(lanes[index] ^ parities[index % 5], bits) for index, bits in MOVES]
        # chi
        rows = [state[start : start + 5] for start in range(0, LANES, 5)]
        lanes = [row[x] ^ ~row[x - 4] & row[x - 3] for row in rows for x in range(5)]
        # iota
        lanes[0] ^= constant
    return lanes


def _rotate_left(lane: int, bits: int) -> int:
    return (lane << bits | lane >> 64 - bits) & LANE


def _moves() -> list[tuple[int, int]]:
    """Each lane after pi: its index before rho, and the bits by which rho rotates it."""
    moves, x, y = {0: (0, 0)}, 1, 0
    for t in range(1, 25):
        source, x, y = x + 5 * y, y, (2 * x + 3 * y) % 5
        moves[x + 5 * y] = source, t * (t + 1) // 2 % 64
    return [moves[index] for index in range(LANES)]


def _round_constants() -> list[int]:
    register, constants = 1, [0] * ROUNDS
    for number in range(ROUNDS):
        for bit in range(7):
            register = (register << 1 ^ (register >> 7) * 0x71) % 256
            constants[number] ^= (register >> 1 & 1) << (1 << bit) - 1
    return constants


MOVES, ROUND_CONSTANTS = _moves(), _round_constants()


def _load_keccak() -> Callable[[bytes], bytes]:
    """Prefer pysha3, unlike `eth_hash`: it is 2 to 5 times as fast as pycryptodome."""
    for name in ("pysha3", "pycryptodome"):
        with suppress(ImportError):
            keccak: Callable[[bytes], bytes] = import_module(
                f"eth_hash.backends.{name}"
            ).backend.keccak256
            return keccak
    return python_keccak256  # in the client's file, which installs nothing


keccak256 = _load_keccak()


def number_word(number: int) -> bytes:
    """Encode a number as a 32-byte word."""
    return number.to_bytes(HASH_BYTES, "big")


def checksum_address(address: bytes) -> str:
    """The address in hex, in which capitals check the digits (EIP-55)."""
    digits = address.hex()
    checks = keccak256(digits.encode()).hex()
    pairs = zip(digits, checks, strict=False)
    return "0x" + "".join(digit.upper() if check > "7" else digit for digit, check in pairs)


EMPTY_TRIE_ROOT = keccak256(b"\x80")  # the RLP of the empty string
EMPTY_CODE_HASH = keccak256(b"")
EMPTY_UNCLES_HASH = keccak256(b"\xc0")  # the RLP of the empty list; in every header since the merge
