"""The calldata of the registry's `prove()`: sections, each of one block or of a chain of headers.

    section  uint8 1, uint64 number, uint64 timestamp, 32 hash, witness
             a block that is accumulated: the witness rebuilds its state root
    section  uint8 2, uint16 count, headers, each the parent of the next
             the last one known to the registry, accumulated, or the block of the hop before
    section  uint8 3, the rest as in 1: the witness is that of a hop, one slot of the history
             contract (EIP-2935), which holds the hash of an earlier block

A header is sent without its RLP framing and without what follows from elsewhere; see
`CompactHeader.sol`, whose mirror this is.
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
HISTORY_RING = 8191
HORIZON = 4_102_444_800  # 2100-01-01: by default, registries take no later headers
MAX_BEACON_PLACE = 255  # long extra data, of a proof-of-authority chain, goes beyond


class SectionKind(IntEnum):
    ACCUMULATED_BLOCK = 1
    HEADERS = 2
    ACCUMULATED_HOP = 3


class HeaderFlag(IntFlag):
    """What is left out of a header, and what follows it."""

    NO_UNCLES = 1
    PARENT_KNOWN = 2
    BEACON_KNOWN = 4
    ACCUMULATE = 8
    WITNESS = 16
    FIELDS = 32
    TIMESTAMPS = 64
    HOP = 128


@dataclass(frozen=True, slots=True)
class HeaderStep:
    """One header of a chain, and what of it is to be stored.

    `parent_known` and `beacon_known` leave out hashes that the destination keeps itself: both
    shorten the call, and both make it fail where the destination no longer has them.
    """

    header: Header
    witness: bytes = b""
    accumulate: bool = False
    fields: frozenset[HeaderField] = field(default_factory=frozenset)
    timestamps: tuple[int, ...] = ()  # at which the header before was the last block
    parent_known: bool = False
    beacon_known: bool = False
    is_hop: bool = False  # its witness is that of a hop


def accumulated_section(
    number: int, timestamp: int, block_hash: bytes, witness: bytes, *, is_hop: bool = False
) -> bytes:
    """Prove a witness against a block that the registry has accumulated; or hop from there."""
    kind = SectionKind.ACCUMULATED_HOP if is_hop else SectionKind.ACCUMULATED_BLOCK
    words = (bytes((kind,)), _uint64(number), _uint64(timestamp), block_hash, witness)
    return b"".join(words)


def slot_of_hop(number: int) -> int:
    """The slot of the history contract in which the next 8,191 blocks' states hold its hash."""
    return number % HISTORY_RING


def headers_section(steps: Sequence[HeaderStep]) -> bytes:
    """Prove a chain of headers, the oldest first, up to one that the registry knows."""
    for parent, child in pairwise(steps):
        if child.header.parent_hash != parent.header.hash:
            raise ArgumentMalformedError(
                f"header {child.header.number} is not the child of header {parent.header.number}"
            )
    parts = [_header(step, first=index == 0) for index, step in enumerate(steps)]
    return b"".join((bytes((SectionKind.HEADERS,)), len(steps).to_bytes(2, "big"), *parts))


def prove_call(sections: Sequence[bytes]) -> bytes:
    """The calldata that proves these sections in one transaction."""
    return PROVE_SELECTOR + b"".join(sections)


def leaf_of(header: Header) -> bytes:
    """What the registry keeps of an accumulated block."""
    numbers = number_word(header.number) + number_word(header.timestamp)
    return keccak256(numbers + header.hash + header.state_root)


def _header(step: HeaderStep, *, first: bool) -> bytes:
    header = step.header
    flags = HeaderFlag(0)
    parts = []
    if first and step.parent_known:
        flags |= HeaderFlag.PARENT_KNOWN
    elif first:
        parts.append(header.parent_hash)
    uncles = header.payload(HeaderField.UNCLES_HASH)
    if uncles == EMPTY_UNCLES_HASH:
        flags |= HeaderFlag.NO_UNCLES
    else:
        parts.append(uncles)
    parts.append(header.payload(HeaderField.COINBASE))
    if step.witness:
        flags |= HeaderFlag.WITNESS
    else:
        parts.append(header.state_root)
    parts += [
        header.payload(known)
        for known in (
            HeaderField.TRANSACTIONS_ROOT,
            HeaderField.RECEIPTS_ROOT,
            HeaderField.LOGS_BLOOM,
        )
    ]
    tail, place = _tail(step)
    if step.beacon_known:
        flags |= HeaderFlag.BEACON_KNOWN
    parts += [len(tail).to_bytes(2, "big"), tail, place, step.witness]
    if step.fields:
        flags |= HeaderFlag.FIELDS
        parts.append(sum(1 << known for known in step.fields).to_bytes(4, "big"))
    if step.timestamps:
        flags |= HeaderFlag.TIMESTAMPS
        parts += [bytes((len(step.timestamps),)), *map(_uint64, step.timestamps)]
    if step.accumulate:
        flags |= HeaderFlag.ACCUMULATE
    if step.is_hop:
        flags |= HeaderFlag.HOP
    return b"".join((bytes((flags,)), *parts))


def _tail(step: HeaderStep) -> tuple[bytes, bytes]:
    """The fields from the difficulty on, and where among them the beacon root was left out."""
    items = split_list(step.header.encoded)[HeaderField.DIFFICULTY :]
    if not step.beacon_known:
        return b"".join(items), b""
    step.header.payload(HeaderField.PARENT_BEACON_BLOCK_ROOT)  # refuses a header without one
    beacon = HeaderField.PARENT_BEACON_BLOCK_ROOT - HeaderField.DIFFICULTY
    before, behind = b"".join(items[:beacon]), b"".join(items[beacon + 1 :])
    if len(before) > MAX_BEACON_PLACE:
        raise ArgumentMalformedError(f"{len(before)} bytes before the beacon root; at most 255 fit")
    return before + behind, bytes((len(before),))


def _uint64(number: int) -> bytes:
    return number.to_bytes(8, "big")
