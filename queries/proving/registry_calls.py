"""Encode and read the calldata of the registry's `prove()`: sections of blocks or header chains.

    section  uint8 1, uint64 number, uint64 timestamp, 32 hash, witness
             an accumulated block, whose state root the witness rebuilds
    section  uint8 2, uint16 count, headers, each the parent of the next
             the last one is known to the registry, accumulated, or the target of the last hop
    section  uint8 3, the rest as in 1
             a hop: the witness proves a slot of the history contract (EIP-2935), which holds the
             hash of an earlier block

Headers are sent without RLP framing and without redundant fields; `CompactHeader.sol` decodes them.
Reading recovers headers, trie nodes and events. The result holds for the block with the resulting
hash, which the caller has to compare with a known one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from itertools import pairwise

from queries.proving.accounts import (
    ABSENT_ACCOUNT,
    ADDRESS_BYTES,
    AccountProof,
    SlotProof,
    decode_account,
)
from queries.proving.block_items import BLOOM_BYTES
from queries.proving.errors import ArgumentMalformedError, CallMalformedError, TrieNodeMissingError
from queries.proving.event_witness import (
    PROVE_EVENTS_SELECTOR,
    EventGroups,
    read_event_witness,
    read_events_call,
)
from queries.proving.headers import Header, HeaderField, decode_header
from queries.proving.keccak import (
    EMPTY_TRIE_ROOT,
    EMPTY_UNCLES_HASH,
    HASH_BYTES,
    keccak256,
    number_word,
)
from queries.proving.rlp_items import (
    encode_list,
    encode_string,
    read_integer,
    read_string,
    split_list,
)
from queries.proving.tries import (
    NO_CHILD,
    CheckedNodes,
    ProvenPath,
    check_proof,
    decode_node,
    follow,
)
from queries.proving.witness_reading import RebuiltNodes, read_witness
from queries.proving.witnesses import WitnessReader

PROVE_SELECTOR = keccak256(b"prove()")[:4]
HISTORY_RING = 8191  # block hashes that the contract of EIP-2935 keeps
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


_OMITTED_HASHES = HeaderFlag.PARENT_KNOWN | HeaderFlag.BEACON_KNOWN


@dataclass(frozen=True, slots=True)
class HeaderStep:
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


def history_slot(number: int) -> int:
    """The slot of the history contract that holds the block's hash.

    The hash of the block 8,191 later replaces it.
    """
    return number % HISTORY_RING


def headers_section(steps: Sequence[HeaderStep]) -> bytes:
    """The section that proves a chain of headers, oldest first, up to one that the registry knows.

    Raises `ArgumentMalformedError` if a header is not the child of the one before it.
    """
    for parent, child in pairwise(steps):
        if child.header.parent_hash != parent.header.hash:
            raise ArgumentMalformedError(
                f"header {child.header.number} is not the child of header {parent.header.number}"
            )
    parts = [encode_header(step, first=index == 0) for index, step in enumerate(steps)]
    return b"".join((bytes((SectionKind.HEADERS,)), len(steps).to_bytes(2, "big"), *parts))


def prove_call(sections: Sequence[bytes]) -> bytes:
    """The calldata that proves these sections in one transaction."""
    return PROVE_SELECTOR + b"".join(sections)


def block_leaf(header: Header) -> bytes:
    """The leaf that the registry stores for an accumulated block."""
    numbers = number_word(header.number) + number_word(header.timestamp)
    return keccak256(numbers + header.hash + header.state_root)


def encode_header(step: HeaderStep, *, first: bool) -> bytes:
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
    parts.append(header.payload(HeaderField.TRANSACTIONS_ROOT))
    parts.append(header.payload(HeaderField.RECEIPTS_ROOT))
    parts.append(header.payload(HeaderField.LOGS_BLOOM))
    tail, beacon_offset = _encode_tail(step)
    if step.beacon_known:
        flags |= HeaderFlag.BEACON_KNOWN
    parts += [len(tail).to_bytes(2, "big"), tail, beacon_offset, step.witness]
    if step.fields:
        flags |= HeaderFlag.FIELDS
        parts.append(sum(1 << number for number in step.fields).to_bytes(4, "big"))
    if step.timestamps:
        flags |= HeaderFlag.TIMESTAMPS
        parts += [bytes((len(step.timestamps),)), *map(_encode_uint64, step.timestamps)]
    if step.accumulate:
        flags |= HeaderFlag.ACCUMULATE
    if step.is_hop:
        flags |= HeaderFlag.HOP
    return b"".join((bytes((flags,)), *parts))


def _encode_tail(step: HeaderStep) -> tuple[bytes, bytes]:
    """The fields from the difficulty on, and the offset of an omitted beacon root."""
    items = split_list(step.header.rlp)[HeaderField.DIFFICULTY :]
    if not step.beacon_known:
        return b"".join(items), b""
    step.header.payload(HeaderField.PARENT_BEACON_BLOCK_ROOT)  # raises if it is missing
    beacon = HeaderField.PARENT_BEACON_BLOCK_ROOT - HeaderField.DIFFICULTY
    start, end = b"".join(items[:beacon]), b"".join(items[beacon + 1 :])
    if len(start) > MAX_BEACON_OFFSET:
        raise ArgumentMalformedError(f"{len(start)} bytes before the beacon root; at most 255")
    return start + end, bytes((len(start),))


def _encode_uint64(number: int) -> bytes:
    return number.to_bytes(8, "big")


# Reading


@dataclass(frozen=True, slots=True)
class RecoveredProofs:
    """What was recovered from calls, and the known headers that reading needs."""

    # By number; they complete the headers that calls abbreviate.
    known_headers: Mapping[int, Header] = field(default_factory=dict)
    nodes: RebuiltNodes = field(default_factory=dict)
    children: dict[bytes, Header] = field(default_factory=dict)  # by their parent's hash
    events: list[EventGroups] = field(default_factory=list)  # a call's groups, of any blocks


def read_call(data: bytes, proofs: RecoveredProofs) -> None:
    """Add what the call contains to `proofs`. Raises `ProofError` if it cannot be read."""
    if data.startswith(PROVE_EVENTS_SELECTOR):
        section, witness = read_events_call(data)
        proofs.events.append(read_event_witness(witness, has_blocks=not section))
        return
    if not data.startswith(PROVE_SELECTOR):
        raise CallMalformedError("the calldata is not that of prove()")
    reader = WitnessReader(data, len(PROVE_SELECTOR))
    while reader.position < len(data):
        kind = reader.number(1)
        if kind in {SectionKind.ACCUMULATED_BLOCK, SectionKind.ACCUMULATED_HOP}:
            reader.take(8 + 8 + HASH_BYTES)
            _read_witness(reader, proofs)
        elif kind == SectionKind.HEADERS:
            _read_headers(reader, proofs)
        else:
            raise CallMalformedError(f"{kind} is not a kind of section")


def _read_witness(reader: WitnessReader, proofs: RecoveredProofs) -> bytes:
    """Returns the root that it proves."""
    reading = read_witness(reader.content, reader.position, nodes=proofs.nodes)
    reader.position = reading.end
    return reading.state_root


def _read_headers(reader: WitnessReader, proofs: RecoveredProofs) -> None:
    parent: bytes | None = None
    for _ in range(reader.number(2)):
        header = _read_header(reader, parent, proofs)
        proofs.children[header.parent_hash] = header
        parent = header.hash


def _read_header(reader: WitnessReader, parent: bytes | None, proofs: RecoveredProofs) -> Header:
    flags = HeaderFlag(reader.number(1))
    has_parent_hash = parent is None and not flags & HeaderFlag.PARENT_KNOWN
    parent_hash = reader.take(HASH_BYTES) if has_parent_hash else parent or b""
    has_no_uncles = flags & HeaderFlag.NO_UNCLES
    uncles = EMPTY_UNCLES_HASH if has_no_uncles else reader.take(HASH_BYTES)
    coinbase = reader.take(ADDRESS_BYTES)
    state_root = b"" if flags & HeaderFlag.WITNESS else reader.take(HASH_BYTES)
    roots_and_bloom = [reader.take(HASH_BYTES), reader.take(HASH_BYTES), reader.take(BLOOM_BYTES)]
    tail = reader.take(reader.number(2))
    if flags & _OMITTED_HASHES:
        full_header = _full_header(tail, proofs)
        parent_hash = parent_hash or full_header.parent_hash
        if flags & HeaderFlag.BEACON_KNOWN:
            beacon_offset = reader.number(1)
            root = full_header.payload(HeaderField.PARENT_BEACON_BLOCK_ROOT)
            tail = tail[:beacon_offset] + encode_string(root) + tail[beacon_offset:]
    if flags & (HeaderFlag.WITNESS | HeaderFlag.HOP):
        state_root = _read_witness(reader, proofs)
    if flags & HeaderFlag.FIELDS:
        reader.take(4)
    if flags & HeaderFlag.TIMESTAMPS:
        reader.take(8 * reader.number(1))
    payloads = [parent_hash, uncles, coinbase, state_root, *roots_and_bloom]
    return decode_header(encode_list([*map(encode_string, payloads), tail]))


def _full_header(tail: bytes, proofs: RecoveredProofs) -> Header:
    """The complete header to which these fields, from the difficulty on, belong."""
    _, number, *_ = split_list(encode_list([tail]))
    header = proofs.known_headers.get(read_integer(read_string(number)))
    if header is None:
        raise CallMalformedError("a header leaves out hashes that only its destination has")
    return header


def rebuild_account_proof(
    state_root: bytes,
    address: bytes,
    slots: Sequence[int],
    nodes: Mapping[bytes, bytes],
    checked_nodes: CheckedNodes,
) -> AccountProof:
    """Rebuild and check the proof of an account and its slots from trie nodes by hash.

    Raises `TrieNodeMissingError` if a node is missing.
    """

    def check_path(root: bytes, key: bytes) -> ProvenPath:
        return check_proof(root, key, path_nodes(root, key, nodes), checked_nodes)

    address_hash = keccak256(address)
    path = check_path(state_root, address_hash)
    exists = path.value is not None
    state = ABSENT_ACCOUNT if path.value is None else decode_account(path.value)
    slot_proofs = tuple(
        SlotProof.of_path(slot, check_path(state.storage_root, keccak256(number_word(slot))))
        for slot in slots
    )
    return AccountProof(state_root, address, address_hash, exists, state, path, slot_proofs)


def path_nodes(root: bytes, key: bytes, nodes: Mapping[bytes, bytes]) -> list[bytes]:
    """The nodes on a key's path, root first, without embedded ones."""
    encodings: list[bytes] = []
    reference, depth, path = root, 0, key.hex()
    if root == EMPTY_TRIE_ROOT:
        return encodings
    while reference != NO_CHILD:
        encoding = reference
        if len(reference) == HASH_BYTES:
            if reference not in nodes:
                raise TrieNodeMissingError(f"the node 0x{reference.hex()} is missing")
            encoding = nodes[reference]
            encodings.append(encoding)
        reference, depth, _ = follow(decode_node(encoding), path, depth)
    return encodings
