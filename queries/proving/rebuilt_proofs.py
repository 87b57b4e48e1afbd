"""Proofs in the form of `eth_getProof`, made from nodes that are known by their hashes.

A witness leaves out the nodes on the path; reading it rebuilds them.
"""

from collections.abc import Mapping, Sequence

from .account_proofs import AccountProof, SlotProof
from .accounts import ABSENT_ACCOUNT, decode_account, decode_slot_value
from .errors import NodeMissing
from .keccak import EMPTY_TRIE_ROOT, HASH_BYTES, keccak256
from .trie_nodes import NO_CHILD, decode_node
from .trie_proofs import CheckedNodes, ProvenPath, check_proof, follow


def rebuilt_account_proof(
    state_root: bytes,
    address: bytes,
    slots: Sequence[int],
    nodes: Mapping[bytes, bytes],
    checked: CheckedNodes,
) -> AccountProof:
    """`NodeMissing` where they do not lead to the end of a path. `checked` is of one state root."""
    address_hash = keccak256(address)
    path = _path(state_root, address_hash, nodes, checked)
    state = ABSENT_ACCOUNT if path.value is None else decode_account(path.value)
    proven = tuple(_slot(state.storage_root, slot, nodes, checked) for slot in slots)
    exists = path.value is not None
    return AccountProof(state_root, address, address_hash, exists, state, path, proven)


def nodes_along(root: bytes, key: bytes, nodes: Mapping[bytes, bytes]) -> list[bytes]:
    """The nodes on a key's path that are not embedded in the one before, root first."""
    along: list[bytes] = []
    reference, depth, path = root, 0, key.hex()
    if root == EMPTY_TRIE_ROOT:
        return along
    while reference != NO_CHILD:
        encoded = reference
        if len(reference) == HASH_BYTES:
            if reference not in nodes:
                raise NodeMissing(f"the node 0x{reference.hex()} is not at hand")
            encoded = nodes[reference]
            along.append(encoded)
        reference, depth, _ = follow(decode_node(encoded), path, depth)
    return along


def _path(
    root: bytes, key: bytes, nodes: Mapping[bytes, bytes], checked: CheckedNodes
) -> ProvenPath:
    return check_proof(root, key, nodes_along(root, key, nodes), checked)


def _slot(
    storage_root: bytes, slot: int, nodes: Mapping[bytes, bytes], checked: CheckedNodes
) -> SlotProof:
    key = keccak256(slot.to_bytes(HASH_BYTES, "big"))
    path = _path(storage_root, key, nodes, checked)
    return SlotProof(slot, 0 if path.value is None else decode_slot_value(path.value), path)
