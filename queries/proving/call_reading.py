"""Recover proofs from the calldata of `prove()`: headers, trie nodes and events.

The inverse of `registry_calls`. The result holds for the block with the resulting hash, which the
caller has to compare with a known one. `rebuild_account_proof` turns nodes into an account proof.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from queries.proving.accounts import (
    ABSENT_ACCOUNT,
    ADDRESS_BYTES,
    AccountProof,
    SlotProof,
    decode_account,
    decode_slot_value,
)
from queries.proving.errors import CallMalformedError, NodeMissingError
from queries.proving.event_reading import (
    PROVE_EVENTS_SELECTOR,
    EventWitness,
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
from queries.proving.registry_calls import PROVE_SELECTOR, HeaderFlag, SectionKind
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
from queries.proving.witnesses import WitnessBytes

_BLOOM_BYTES = 256
_OMITTED_HASHES = HeaderFlag.PARENT_KNOWN | HeaderFlag.BEACON_KNOWN


@dataclass(frozen=True, slots=True)
class RecoveredProofs:
    """What was recovered from calls."""

    headers: Mapping[int, Header] = field(default_factory=dict)  # that calls may abbreviate
    nodes: RebuiltNodes = field(default_factory=dict)
    children: dict[bytes, Header] = field(default_factory=dict)  # by their parent's hash
    events: list[EventWitness] = field(default_factory=list)  # a call's groups, of any blocks


def read_call(data: bytes, recovered: RecoveredProofs) -> None:
    """Add what the call contains; raises `ProofError` if the contract would refuse it."""
    if data.startswith(PROVE_EVENTS_SELECTOR):
        section, witness = read_events_call(data)
        recovered.events.append(read_event_witness(witness, has_blocks=not section))
        return
    if not data.startswith(PROVE_SELECTOR):
        raise CallMalformedError("the calldata is not that of prove()")
    source = WitnessBytes(data, len(PROVE_SELECTOR))
    while source.position < len(data):
        kind = source.number(1)
        if kind in {SectionKind.ACCUMULATED_BLOCK, SectionKind.ACCUMULATED_HOP}:
            source.take(8 + 8 + HASH_BYTES)
            _read_witness(source, recovered)
        elif kind == SectionKind.HEADERS:
            _read_headers(source, recovered)
        else:
            raise CallMalformedError(f"{kind} is not a kind of section")


def _read_witness(source: WitnessBytes, recovered: RecoveredProofs) -> bytes:
    """Returns the root that it proves."""
    reading = read_witness(source.content, source.position, nodes=recovered.nodes)
    source.position = reading.end
    return reading.state_root


def _read_headers(source: WitnessBytes, recovered: RecoveredProofs) -> None:
    parent: bytes | None = None
    for _ in range(source.number(2)):
        header = _read_header(source, parent, recovered)
        recovered.children[header.parent_hash] = header
        parent = header.hash


def _read_header(source: WitnessBytes, parent: bytes | None, recovered: RecoveredProofs) -> Header:
    flags = HeaderFlag(source.number(1))
    is_sent = parent is None and not flags & HeaderFlag.PARENT_KNOWN
    parent_hash = source.take(HASH_BYTES) if is_sent else parent or b""
    has_no_uncles = flags & HeaderFlag.NO_UNCLES
    uncles = EMPTY_UNCLES_HASH if has_no_uncles else source.take(HASH_BYTES)
    coinbase = source.take(ADDRESS_BYTES)
    state_root = b"" if flags & HeaderFlag.WITNESS else source.take(HASH_BYTES)
    roots = [source.take(HASH_BYTES), source.take(HASH_BYTES), source.take(_BLOOM_BYTES)]
    tail = source.take(source.number(2))
    if flags & _OMITTED_HASHES:
        full_header = _full_header(tail, recovered)
        parent_hash = parent_hash or full_header.parent_hash
        if flags & HeaderFlag.BEACON_KNOWN:
            place = source.number(1)
            root = full_header.payload(HeaderField.PARENT_BEACON_BLOCK_ROOT)
            tail = tail[:place] + encode_string(root) + tail[place:]
    if flags & (HeaderFlag.WITNESS | HeaderFlag.HOP):
        state_root = _read_witness(source, recovered)
    if flags & HeaderFlag.FIELDS:
        source.take(4)
    if flags & HeaderFlag.TIMESTAMPS:
        source.take(8 * source.number(1))
    payloads = [parent_hash, uncles, coinbase, state_root, *roots]
    return decode_header(encode_list([*map(encode_string, payloads), tail]))


def _full_header(tail: bytes, recovered: RecoveredProofs) -> Header:
    """The complete header to which these fields, from the difficulty on, belong."""
    _, number, *_ = split_list(encode_list([tail]))
    header = recovered.headers.get(read_integer(read_string(number)))
    if header is None:
        raise CallMalformedError("a header leaves out hashes that only its destination has")
    return header


def rebuild_account_proof(
    state_root: bytes,
    address: bytes,
    slots: Sequence[int],
    nodes: Mapping[bytes, bytes],
    checked: CheckedNodes,
) -> AccountProof:
    """Raises `NodeMissingError` if nodes of a path are missing."""

    def check_path(root: bytes, key: bytes) -> ProvenPath:
        return check_proof(root, key, path_nodes(root, key, nodes), checked)

    address_hash = keccak256(address)
    path = check_path(state_root, address_hash)
    exists = path.value is not None
    state = ABSENT_ACCOUNT if path.value is None else decode_account(path.value)
    slot_proofs = []
    for slot in slots:
        slot_path = check_path(state.storage_root, keccak256(number_word(slot)))
        value = 0 if slot_path.value is None else decode_slot_value(slot_path.value)
        slot_proofs.append(SlotProof(slot, value, slot_path))
    return AccountProof(state_root, address, address_hash, exists, state, path, tuple(slot_proofs))


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
                raise NodeMissingError(f"the node 0x{reference.hex()} is missing")
            encoding = nodes[reference]
            encodings.append(encoding)
        reference, depth, _ = follow(decode_node(encoding), path, depth)
    return encodings
