"""Encode a witness: proofs of many accounts and slots of a block, in few bytes.

A witness is a depth-first walk through the nodes of the state trie above the requested accounts,
and at an account's leaf through its storage trie. It has only leaves and the hashes next to the
paths. The contract rebuilds the nodes on the paths from them, and compares the resulting root.

    witness  uint16 accounts; for each account: bytes20 address, uint8 mask of fields, uint16 slots,
             and bytes32 for each slot; then the nodes of the state trie
             accounts and slots are in ascending order of their hashes
    node     a byte for its kind, and the content

The same facts always give the same witness.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from itertools import groupby

from queries.proving.accounts import AccountProof, SlotProof
from queries.proving.errors import ArgumentMalformedError, WitnessMalformedError
from queries.proving.keccak import EMPTY_CODE_HASH, EMPTY_TRIE_ROOT, HASH_BYTES, number_word
from queries.proving.rlp_items import integer_payload
from queries.proving.tries import NO_CHILD, Branch, Extension, Leaf, Node


class NodeKind(IntEnum):
    """The encoding of a node on the path, given by its first byte."""

    FULL = 0  # a branch with sixteen hashes
    BRANCH = 1  # a branch: uint16 mask of its children
    MIXED = 2  # the same, and uint16 mask of embedded children
    # Then for each child: its node if keys are below it, else its hash or encoding.
    PASS = 3  # an extension on a key's path: uint16 key, uint8 nibbles, the node below
    MISS = 4  # an extension on no key's path: uint8 nibbles, path, 0 and hash or encoding
    LEAF = 5  # the leaf of a key: uint16 key, its value
    OTHER = 6  # the leaf of a key that was not requested: the rest of its path, uint8 length, value
    NONE = 7  # an empty trie
    CHAIN = 8  # the path of a single key: uint8 depth of its last node, that node, then its parents


class AccountField(IntEnum):
    """The fields of an account, numbered as in the registry's `accountField`."""

    NONCE = 0
    BALANCE = 1
    STORAGE_ROOT = 2
    CODE_HASH = 3


# Flags in the byte of the balance's length: which hashes follow.
HAS_STORAGE = 0x40
HAS_CODE = 0x80


@dataclass(frozen=True, slots=True)
class AccountToStore:
    """A checked proof, and the account fields to store. All slots of the proof are stored."""

    proof: AccountProof
    fields: frozenset[AccountField]

    @property
    def mask(self) -> int:
        return sum(1 << field for field in self.fields)


@dataclass(slots=True)
class WitnessReader:
    """A cursor over a witness that never reads past its end."""

    content: bytes
    position: int = 0
    level: int = 0  # recursion level of a walk

    def take(self, length: int) -> bytes:
        end = self.position + length
        if end > len(self.content):
            raise WitnessMalformedError(
                f"the witness ends at byte {len(self.content)}, inside an item up to byte {end}"
            )
        content = self.content[self.position : end]
        self.position = end
        return content

    def number(self, length: int) -> int:
        return int.from_bytes(self.take(length), "big")


_ALL_CHILDREN = 0xFFFF
_PLACEHOLDER = bytes(HASH_BYTES)  # for a child whose node follows
_MAX_COUNT = 0xFFFF


@dataclass(frozen=True, slots=True)
class Key:
    """A key's path in nibbles, the nodes on it, and a function that encodes its value."""

    path: str
    nodes: tuple[Node, ...]
    encode_leaf_value: Callable[[], bytes]
    is_index: bool = False  # in a list of the block; verifiers accept no CHAIN for it


def build_witness(requests: Sequence[AccountToStore]) -> bytes:
    """Encode the witness of these accounts and their slots, which share a state root."""
    if not requests:
        raise ArgumentMalformedError("a witness of no accounts")
    if len({request.proof.state_root for request in requests}) > 1:
        raise ArgumentMalformedError("the proofs of a witness have different state roots")
    requests = sorted(requests, key=lambda request: request.proof.address_hash)
    if len({request.proof.address_hash for request in requests}) < len(requests):
        raise ArgumentMalformedError("an account is requested twice in a witness")
    keys = [
        Key(
            request.proof.address_hash.hex(),
            request.proof.path.nodes,
            partial(_encode_account_value, request.proof),
        )
        for request in requests
    ]
    nodes = encode_nodes(keys)
    return b"".join((encode_uint16(len(requests)), *map(_encode_request, requests), nodes))


def _encode_request(request: AccountToStore) -> bytes:
    proof = request.proof
    address_or_hash = proof.address_hash if proof.address is None else proof.address
    slots = [number_word(slot.slot) for slot in _sorted_slots(proof)]
    return b"".join((address_or_hash, bytes((request.mask,)), encode_uint16(len(slots)), *slots))


def _sorted_slots(proof: AccountProof) -> list[SlotProof]:
    """The proof's distinct slots in the order of their keys."""
    slots_by_key = {slot.path.key: slot for slot in proof.slots}
    return [slots_by_key[key] for key in sorted(slots_by_key)]


def _encode_account_value(proof: AccountProof) -> bytes:
    """Encode a present account's state, with the nodes of its storage trie."""
    state = proof.state
    balance, nonce = integer_payload(state.balance), integer_payload(state.nonce)
    storage = b""
    flags = len(balance)
    if proof.slots:
        storage = _storage_nodes(proof)
    elif state.storage_root != EMPTY_TRIE_ROOT:
        flags |= HAS_STORAGE
        storage = state.storage_root
    code = b""
    if state.code_hash != EMPTY_CODE_HASH:
        flags |= HAS_CODE
        code = state.code_hash
    return bytes((flags, len(nonce))) + balance + nonce + storage + code


def _storage_nodes(proof: AccountProof) -> bytes:
    keys = [
        Key(slot.path.key.hex(), slot.path.nodes, partial(_encode_slot, slot))
        for slot in _sorted_slots(proof)
    ]
    return encode_nodes(keys)


def _encode_slot(slot: SlotProof) -> bytes:
    return _add_length_prefix(integer_payload(slot.value))


def encode_nodes(keys: Sequence[Key], depth: int = 0, level: int = 0) -> bytes:
    """Encode the node that these keys share at `nodes[level]`, and the nodes below it. The keys
    ascend, and share their first `depth` nibbles.
    """
    if len(keys) == 1 and not keys[0].is_index:
        return _encode_chain(keys[0], depth, level)
    if level == len(keys[0].nodes):
        return bytes((NodeKind.NONE,))
    node = keys[0].nodes[level]
    if isinstance(node, Branch):
        return _encode_branch(node, keys, depth, level)
    if isinstance(node, Extension):
        return _encode_extension(node, keys, depth, level)
    return _encode_leaf(node, keys, depth)


def _encode_chain(key: Key, depth: int, level: int) -> bytes:
    """Encode the remaining nodes of a single key, the last one first."""
    encoded_parents = []
    last_depth = depth
    for node in key.nodes[level:]:
        if isinstance(node, Branch):
            encoded_parents.append(_encode_branch_above(node, int(key.path[last_depth], 16)))
            last_depth += 1
        elif isinstance(node, Extension) and key.path.startswith(node.path, last_depth):
            encoded_parents.append(bytes((NodeKind.PASS, len(node.path))))
            last_depth += len(node.path)
    last = key.nodes[-1] if len(key.nodes) > level + len(encoded_parents) else None
    if isinstance(last, Leaf):
        bottom_node = _encode_leaf(last, [key], last_depth)
    elif isinstance(last, Extension):
        bottom_node = _encode_extension(last, [key], last_depth, level + len(encoded_parents))
    else:
        bottom_node = bytes((NodeKind.NONE,))
    if not encoded_parents:
        return bottom_node
    return bytes((NodeKind.CHAIN, last_depth)) + bottom_node + b"".join(reversed(encoded_parents))


def _encode_branch_above(node: Branch, own_nibble: int) -> bytes:
    """Encode the children of a branch except the one on the path."""
    others = [b"" if nibble == own_nibble else child for nibble, child in enumerate(node.children)]
    if len(node.children[own_nibble]) == HASH_BYTES and all(
        len(child) == HASH_BYTES for nibble, child in enumerate(others) if nibble != own_nibble
    ):
        # The last child's hash takes the position of the child on the path.
        others[own_nibble] = others.pop() if own_nibble < len(others) - 1 else b""
        return bytes((NodeKind.FULL,)) + b"".join(others)
    return encode_masks(others) + b"".join(others)


def _encode_branch(node: Branch, keys: Sequence[Key], depth: int, level: int) -> bytes:
    children = list(node.children)
    parts = list(node.children)
    # The keys ascend, so those of a child are adjacent.
    for hex_nibble, group in groupby(keys, lambda key: key.path[depth]):
        nibble = int(hex_nibble, 16)
        if node.children[nibble] != NO_CHILD:
            children[nibble] = _PLACEHOLDER
            parts[nibble] = encode_nodes(list(group), depth + 1, level + 1)
    return encode_masks(children) + b"".join(parts)


def encode_masks(children: Sequence[bytes]) -> bytes:
    """Encode the kind and masks of a branch."""
    present_mask = sum(1 << nibble for nibble, child in enumerate(children) if child != NO_CHILD)
    embedded_mask = sum(
        1 << nibble for nibble, child in enumerate(children) if 0 < len(child) < HASH_BYTES
    )
    if embedded_mask:
        return bytes((NodeKind.MIXED,)) + encode_uint16(present_mask) + encode_uint16(embedded_mask)
    if present_mask != _ALL_CHILDREN:
        return bytes((NodeKind.BRANCH,)) + encode_uint16(present_mask)
    return bytes((NodeKind.FULL,))


def _encode_extension(node: Extension, keys: Sequence[Key], depth: int, level: int) -> bytes:
    nibble_count = len(node.path)
    keys_below = [key for key in keys if key.path.startswith(node.path, depth)]
    if keys_below:
        key_index = encode_uint16(keys.index(keys_below[0]))
        head = bytes((NodeKind.PASS,)) + key_index + bytes((nibble_count,))
        return head + encode_nodes(keys_below, depth + nibble_count, level + 1)
    child = node.child if len(node.child) < HASH_BYTES else b"\x00" + node.child
    return bytes((NodeKind.MISS, nibble_count)) + pack_path(node.path) + child


def _encode_leaf(node: Leaf, keys: Sequence[Key], depth: int) -> bytes:
    for index, key in enumerate(keys):
        if key.path[depth:] == node.path:
            return bytes((NodeKind.LEAF,)) + encode_uint16(index) + key.encode_leaf_value()
    if keys[0].is_index:  # another key's path has any length, and its value may be long
        head = bytes((NodeKind.OTHER, len(node.path))) + pack_path(node.path)
        return head + len(node.value).to_bytes(3, "big") + node.value
    return bytes((NodeKind.OTHER,)) + pack_path(node.path) + _add_length_prefix(node.value)


def pack_path(path: str) -> bytes:
    """Encode nibbles in whole bytes, with a leading zero if their number is odd."""
    return bytes.fromhex(path.rjust(len(path) + len(path) % 2, "0"))


def _add_length_prefix(content: bytes) -> bytes:
    return bytes((len(content),)) + content


def encode_uint16(number: int) -> bytes:
    if number > _MAX_COUNT:
        raise ArgumentMalformedError(
            f"a list of {number} entries in a witness; at most {_MAX_COUNT}"
        )
    return number.to_bytes(2, "big")
