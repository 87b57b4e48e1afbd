"""Encode the calldata of the registry's `prove()`: sections of blocks or header chains.

    section  uint8 1, uint64 number, uint64 timestamp, 32 hash, witness
             an accumulated block, whose state root the witness rebuilds
    section  uint8 2, uint16 count, headers, each the parent of the next
             the last one is known to the registry, accumulated, or the target of the last hop
    section  uint8 3, the rest as in 1
             a hop: the witness proves a slot of the history contract (EIP-2935), which holds the
             hash of an earlier block

Headers are sent without RLP framing and without redundant fields; `CompactHeader.sol` decodes them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from itertools import pairwise

from queries.proving.errors import ArgumentMalformedError
from queries.proving.headers import Header, HeaderField
from queries.proving.keccak import EMPTY_UNCLES_HASH, keccak256, number_word
from queries.proving.rlp_items import split_list

PROVE_SELECTOR = keccak256(b"prove()")[:4]
# Block hashes that the contract of EIP-2935 keeps: on Arbitrum as many as in 27 hours.
HISTORY_RING, ARBITRUM_HISTORY_RING = 8191, 393_168
HORIZON = 4_102_444_800  # 2100-01-01: the default time from which registries refuse headers
MAX_BEACON_OFFSET = 255  # exceeded by the long extra data of a proof-of-authority chain


class SectionKind(IntEnum):
    ACCUMULATED_BLOCK = 1
    HEADERS = 2
    ACCUMULATED_HOP = 3


class HeaderFlag(IntFlag):
    """What is omitted from a header, what follows it, and what the registry does with it."""

    NO_UNCLES = 1
    PARENT_KNOWN = 2
    BEACON_KNOWN = 4
    ACCUMULATE = 8
    WITNESS = 16
    FIELDS = 32
    TIMESTAMPS = 64
    HOP = 128


@dataclass(frozen=True, slots=True)
class SectionHeader:
    """A header in a section of headers, and which of its facts to store.

    `parent_known` and `beacon_known` omit hashes that the destination may know itself.
    """

    header: Header
    witness: bytes = b""
    accumulate: bool = False
    fields: frozenset[HeaderField] = field(default_factory=frozenset)
    timestamps: tuple[int, ...] = ()  # at which the parent was the last block
    parent_known: bool = False
    beacon_known: bool = False
    is_hop: bool = False  # the witness proves a hop


def accumulated_section(
    number: int, timestamp: int, block_hash: bytes, witness: bytes, *, is_hop: bool = False
) -> bytes:
    """The section that proves a witness against an accumulated block, or hops from it."""
    kind = SectionKind.ACCUMULATED_HOP if is_hop else SectionKind.ACCUMULATED_BLOCK
    parts = (bytes((kind,)), _encode_uint64(number), _encode_uint64(timestamp), block_hash, witness)
    return b"".join(parts)


def history_slot(number: int, ring: int = HISTORY_RING) -> int:
    """The slot of the history contract that holds the block's hash.

    The hash of the block `ring` later replaces it.
    """
    return number % ring


def headers_section(headers: Sequence[SectionHeader]) -> bytes:
    """The section that proves a chain of headers, oldest first, up to one that the registry knows.

    Raises `ArgumentMalformedError` if a header is not the child of the one before it.
    """
    for parent, child in pairwise(headers):
        if child.header.parent_hash != parent.header.hash:
            raise ArgumentMalformedError(
                f"header {child.header.number} is not the child of header {parent.header.number}"
            )
    parts = [encode_header(entry, first=index == 0) for index, entry in enumerate(headers)]
    return b"".join((bytes((SectionKind.HEADERS,)), len(headers).to_bytes(2, "big"), *parts))


def prove_call(sections: Sequence[bytes]) -> bytes:
    """The calldata that proves these sections in one transaction."""
    return PROVE_SELECTOR + b"".join(sections)


def block_leaf(header: Header) -> bytes:
    """The leaf that the registry stores for an accumulated block."""
    numbers = number_word(header.number) + number_word(header.timestamp)
    return keccak256(numbers + header.hash + header.state_root)


def encode_header(entry: SectionHeader, *, first: bool) -> bytes:
    header = entry.header
    flags = HeaderFlag(0)
    parts = []
    if first and entry.parent_known:
        flags |= HeaderFlag.PARENT_KNOWN
    elif first:
        parts.append(header.parent_hash)
    uncles = header.payload(HeaderField.UNCLES_HASH)
    if uncles == EMPTY_UNCLES_HASH:
        flags |= HeaderFlag.NO_UNCLES
    else:
        parts.append(uncles)
    parts.append(header.payload(HeaderField.COINBASE))
    if entry.witness:
        flags |= HeaderFlag.WITNESS
    else:
        parts.append(header.state_root)
    parts.append(header.payload(HeaderField.TRANSACTIONS_ROOT))
    parts.append(header.payload(HeaderField.RECEIPTS_ROOT))
    parts.append(header.payload(HeaderField.LOGS_BLOOM))
    tail, beacon_offset = _encode_tail(entry)
    if entry.beacon_known:
        flags |= HeaderFlag.BEACON_KNOWN
    parts += [len(tail).to_bytes(2, "big"), tail, beacon_offset, entry.witness]
    if entry.fields:
        flags |= HeaderFlag.FIELDS
        parts.append(sum(1 << number for number in entry.fields).to_bytes(4, "big"))
    if entry.timestamps:
        flags |= HeaderFlag.TIMESTAMPS
        parts += [bytes((len(entry.timestamps),)), *map(_encode_uint64, entry.timestamps)]
    if entry.accumulate:
        flags |= HeaderFlag.ACCUMULATE
    if entry.is_hop:
        flags |= HeaderFlag.HOP
    return b"".join((bytes((flags,)), *parts))


def _encode_tail(entry: SectionHeader) -> tuple[bytes, bytes]:
    """The fields from the difficulty on, and the offset of an omitted beacon root."""
    items = split_list(entry.header.rlp)[HeaderField.DIFFICULTY :]
    if not entry.beacon_known:
        return b"".join(items), b""
    entry.header.payload(HeaderField.PARENT_BEACON_BLOCK_ROOT)  # raises if it is missing
    beacon = HeaderField.PARENT_BEACON_BLOCK_ROOT - HeaderField.DIFFICULTY
    start, end = b"".join(items[:beacon]), b"".join(items[beacon + 1 :])
    if len(start) > MAX_BEACON_OFFSET:
        raise ArgumentMalformedError(f"{len(start)} bytes before the beacon root; at most 255")
    return start + end, bytes((len(start),))


def _encode_uint64(number: int) -> bytes:
    return number.to_bytes(8, "big")
