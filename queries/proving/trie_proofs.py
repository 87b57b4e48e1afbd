"""An ordered proof for one key of a trie: the nodes from the root to where the path ends.

It proves the key's value, or that the trie has no such key, and nothing in it may be more or
less than that takes. Two freedoms are left, because honest nodes differ in them and neither
changes what is proven:

- the empty trie is shown by no nodes, or by its one encoding `0x80`;
- an embedded node, whole in its parent already, may be listed after it once more, in the same
  bytes (geth leaves it out; Anvil, and Nethermind since 2026, list it).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from .errors import (
    ArgumentMalformed,
    NodeHashMismatch,
    NodeMalformed,
    NodeMissing,
    NodeNotCanonical,
    NodeOutOfOrder,
    NodeSurplus,
)
from .keccak import EMPTY_TRIE_ROOT, HASH_BYTES, keccak256
from .rlp_items import EMPTY_STRING
from .trie_nodes import NO_CHILD, Branch, Extension, Node, decode_node

KEY_DIGITS = 2 * HASH_BYTES
# A node above each digit of the key, and a leaf below the last.
MAX_PROOF_NODES = KEY_DIGITS + 1


@dataclass(frozen=True, slots=True)
class ProvenPath:
    """A key's value, None where the key is absent, and the nodes that prove it, root first.

    Embedded nodes are among them, whether or not the proof listed them.
    """

    key: bytes
    value: bytes | None
    nodes: tuple[Node, ...]


class CheckedNodes(dict[bytes, tuple[bytes, Node]]):
    """Nodes found to have the hash they are kept under, with the bytes that have it.

    The upper nodes of a trie are in every proof. A caller that checks many proofs of one root
    passes the same object to each; a node met again is then compared instead of hashed and read.
    It is not needed for correctness, and grows until it is dropped.
    """


def check_proof(
    root: bytes, key: bytes, proof: Sequence[bytes], checked: CheckedNodes | None = None
) -> ProvenPath:
    """Follow the hashed key from the root through the proof's nodes to its value or its absence."""
    if len(root) != HASH_BYTES or len(key) != HASH_BYTES:
        raise ArgumentMalformed(
            f"a root of {len(root)} and a key of {len(key)} bytes; both have 32"
        )
    if root == EMPTY_TRIE_ROOT:
        _refuse_surplus(proof, 1 if proof and proof[0] == EMPTY_STRING else 0)
        return ProvenPath(key, None, ())
    known = CheckedNodes() if checked is None else checked
    nodes: list[Node] = []
    path = key.hex()
    depth = 0
    value = None
    reference = root
    listed = 0
    while reference != NO_CHILD:
        if len(reference) == HASH_BYTES:
            node = _node_of_hash(reference, proof, listed, known)
            listed += 1
        else:
            node = decode_node(reference)
            if listed < len(proof) and proof[listed] == reference:
                listed += 1
        if nodes and isinstance(nodes[-1], Extension) and not isinstance(node, Branch):
            raise NodeNotCanonical(f"the child of the extension {nodes[-1].path} is not a branch")
        nodes.append(node)
        reference, depth, value = follow(node, path, depth)
    _refuse_surplus(proof, listed)
    return ProvenPath(key, value, tuple(nodes))


def follow(node: Node, path: str, depth: int) -> tuple[bytes, int, bytes | None]:
    """One step along the path: the child it leads to and how deep that is, or no child and what
    is proven: the leaf's value, or None where the path leads out of the trie.
    """
    if isinstance(node, Branch):
        if depth == KEY_DIGITS:
            raise NodeMalformed("a branch stands below the last digit of the key")
        return node.children[int(path[depth], 16)], depth + 1, None
    below = depth + len(node.path)
    if isinstance(node, Extension):
        if below >= KEY_DIGITS:
            raise NodeMalformed(f"the extension {node.path} reaches past the key's digits")
        return (node.child if path.startswith(node.path, depth) else NO_CHILD), below, None
    if below != KEY_DIGITS:
        raise NodeMalformed(f"the leaf {node.path} at depth {depth} has no key of 32 bytes")
    return NO_CHILD, below, (node.value if path.endswith(node.path) else None)


def _node_of_hash(
    reference: bytes, proof: Sequence[bytes], listed: int, known: CheckedNodes
) -> Node:
    """Read the proof's next node, which must have the hash that is referred to."""
    if listed == len(proof):
        raise NodeMissing(
            f"the proof ends after {listed} nodes, and the path goes on to 0x{reference.hex()}"
        )
    encoded = proof[listed]
    met = known.get(reference)
    if met is not None and met[0] == encoded:
        return met[1]
    found = keccak256(encoded)
    if found != reference:
        sentence = f"node {listed} has the hash 0x{found.hex()}, not 0x{reference.hex()}"
        if reference not in map(keccak256, proof):
            raise NodeHashMismatch(sentence)
        # It comes later, so the one before it is repeated, or of no path shown here, or moved.
        if encoded in proof[:listed] or not any(found in node for node in proof):
            raise NodeSurplus(f"{sentence}, which a later node of the proof has")
        raise NodeOutOfOrder(f"{sentence}, which another node of the proof has")
    # Only a root is hashed however short it is.
    if len(encoded) < HASH_BYTES and listed:
        raise NodeNotCanonical(f"node {listed} has {len(encoded)} bytes, and is not embedded")
    node = decode_node(encoded)
    known[reference] = (encoded, node)
    return node


def _refuse_surplus(proof: Sequence[bytes], listed: int) -> None:
    if len(proof) > listed:
        raise NodeSurplus(f"the path ends after {listed} of the proof's {len(proof)} nodes")
