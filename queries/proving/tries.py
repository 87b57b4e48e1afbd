"""Merkle-Patricia tries (yellow paper, appendix D): one node, and the proof for one key.

A node is read strictly and written back. These are the nodes of Ethereum's account and storage
tries, whose keys are all 32 bytes: no branch holds a value. Paths are texts with a hex digit for
each nibble: a key's `hex()` is its path, and `startswith` compares paths. A reference says where a
child is, by its length: none at all (0 bytes), the child's own encoding (under 32 bytes, embedded),
or the hash of its encoding (32 bytes).

A proof is the nodes from the root to where the key's path ends. It proves the key's value, or that
the trie has no such key, and nothing in it may be more or less than that takes. Two freedoms are
left, because honest nodes differ in them and neither changes what is proven:

- the empty trie is shown by no nodes, or by its one encoding `0x80`;
- an embedded node, whole in its parent already, may be listed after it once more, in the same
  bytes (geth leaves it out; Anvil, and Nethermind since 2026, list it).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import TypeAlias

from queries.proving.errors import (
    ArgumentMalformedError,
    NodeHashMismatchError,
    NodeMalformedError,
    NodeMissing,
    NodeNotCanonicalError,
    NodeOutOfOrderError,
    NodeSurplusError,
    RlpMalformedError,
    RlpNotCanonicalError,
)
from queries.proving.keccak import EMPTY_TRIE_ROOT, HASH_BYTES, keccak256
from queries.proving.rlp_items import (
    EMPTY_STRING,
    encode_list,
    encode_string,
    is_list,
    read_string,
    split_list,
)

NO_CHILD = b""
BRANCH_WIDTH = 16
# A branch with sixteen hashes: no node of these tries is longer.
MAX_NODE_BYTES = 532

_HASH_ITEM = b"\xa0"
_BRANCH_ITEMS = BRANCH_WIDTH + 1
_PAIR_ITEMS = 2
_FULL_BRANCH_PREFIX = b"\xf9\x02\x11"
_FULL_BRANCH_HASHES = Struct("3x" + "x32s" * BRANCH_WIDTH + "x")
_LEAF_FLAG = 2
_ODD_FLAG = 1


@dataclass(frozen=True, slots=True)
class Branch:
    """Where paths part: a child for each next nibble."""

    children: tuple[bytes, ...]

    def encode(self) -> bytes:
        return encode_list([*map(_encode_reference, self.children), EMPTY_STRING])


@dataclass(frozen=True, slots=True)
class Extension:
    """Digits that all keys below share, and the branch where they part."""

    path: str
    child: bytes

    def encode(self) -> bytes:
        items = (encode_string(_encode_path(self.path, 0)), _encode_reference(self.child))
        return encode_list(items)


@dataclass(frozen=True, slots=True)
class Leaf:
    """The rest of one key's path, and its value."""

    path: str
    value: bytes

    def encode(self) -> bytes:
        path = encode_string(_encode_path(self.path, _LEAF_FLAG))
        return encode_list((path, encode_string(self.value)))


Node: TypeAlias = Branch | Extension | Leaf


def reference_to(encoded: bytes) -> bytes:
    """How a parent refers to a node. A root is hashed however short it is: not by this rule."""
    return encoded if len(encoded) < HASH_BYTES else keccak256(encoded)


def decode_node(encoded: bytes) -> Node:
    """Read a node, of which every byte must be as the trie would have written it.

    Embedded children are read too, on the path or not: one that is no node would let a forger
    shift its neighbours.
    """
    # Most nodes of a large trie are full branches. That the bytes are where a full branch has
    # them is all there is to check, since any 32 bytes are a hash.
    if (
        len(encoded) == MAX_NODE_BYTES
        and encoded.startswith(_FULL_BRANCH_PREFIX)
        and encoded[3:531:33] == _HASH_ITEM * BRANCH_WIDTH
        and encoded.endswith(EMPTY_STRING)
    ):
        return Branch(_FULL_BRANCH_HASHES.unpack(encoded))
    try:
        items = split_list(encoded)
        if len(items) == _BRANCH_ITEMS:
            return _decode_branch(items)
        if len(items) == _PAIR_ITEMS:
            return _decode_pair(*items)
    except RlpNotCanonicalError as fault:
        raise NodeNotCanonicalError(f"a trie node is not canonical RLP: {fault}") from fault
    except RlpMalformedError as fault:
        raise NodeMalformedError(f"a trie node is not RLP: {fault}") from fault
    raise NodeMalformedError(f"a trie node has 2 or 17 items, not {len(items)}")


def _decode_branch(items: list[bytes]) -> Branch:
    value = items.pop()
    if value != EMPTY_STRING:
        raise NodeMalformedError(f"a branch holds the value 0x{value[:40].hex()}")
    children = tuple(map(_decode_reference, items))
    present = BRANCH_WIDTH - children.count(NO_CHILD)
    if present < 2:  # noqa: PLR2004
        raise NodeNotCanonicalError(f"a branch has {present} children; with one it would not exist")
    return Branch(children)


def _decode_pair(path_item: bytes, second: bytes) -> Extension | Leaf:
    path, is_leaf = _decode_path(read_string(path_item))
    if is_leaf:
        value = read_string(second)
        if not value:
            raise NodeNotCanonicalError("a leaf holds the empty value, which would remove it")
        return Leaf(path, value)
    if not path:
        raise NodeNotCanonicalError("an extension has no path")
    child = _decode_reference(second)
    if child == NO_CHILD:
        raise NodeMalformedError(f"the extension {path} has no child")
    if len(child) < HASH_BYTES and not isinstance(decode_node(child), Branch):
        raise NodeNotCanonicalError(f"the child of the extension {path} is not a branch")
    return Extension(path, child)


def _decode_reference(item: bytes) -> bytes:
    if item == EMPTY_STRING:
        return NO_CHILD
    if item.startswith(_HASH_ITEM):
        return item[1:]
    if is_list(item):
        if len(item) >= HASH_BYTES:
            raise NodeNotCanonicalError(f"a node of {len(item)} bytes is embedded, not hashed")
        decode_node(item)
        return item
    raise NodeMalformedError(f"a reference has {len(read_string(item))} bytes, not {HASH_BYTES}")


def _encode_reference(reference: bytes) -> bytes:
    if reference == NO_CHILD:
        return EMPTY_STRING
    return _HASH_ITEM + reference if len(reference) == HASH_BYTES else reference


def _decode_path(hex_prefix: bytes) -> tuple[str, bool]:
    """Read the hex-prefix form: two flags, a zero where the rest would be half a byte, nibbles."""
    nibbles = hex_prefix.hex()
    if not nibbles or nibbles[0] not in "0123":
        raise NodeMalformedError(f"the path 0x{nibbles} has no flags of a leaf or an extension")
    flags = int(nibbles[0])
    if flags & _ODD_FLAG:
        return nibbles[1:], flags >= _LEAF_FLAG
    if nibbles[1] != "0":
        raise NodeNotCanonicalError(f"the path 0x{nibbles} is padded with {nibbles[1]}, not 0")
    return nibbles[2:], flags >= _LEAF_FLAG


def _encode_path(path: str, flag: int) -> bytes:
    return bytes.fromhex(f"{flag | _ODD_FLAG}{path}" if len(path) % 2 else f"{flag}0{path}")


KEY_DIGITS = 2 * HASH_BYTES
# A node above each nibble of the key, and a leaf below the last.
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
        raise ArgumentMalformedError(
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
            raise NodeNotCanonicalError(f"the child of extension {nodes[-1].path} is not a branch")
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
            raise NodeMalformedError("a branch is below the last nibble of the key")
        return node.children[int(path[depth], 16)], depth + 1, None
    below = depth + len(node.path)
    if isinstance(node, Extension):
        if below >= KEY_DIGITS:
            raise NodeMalformedError(f"the extension {node.path} reaches past the key's nibbles")
        return (node.child if path.startswith(node.path, depth) else NO_CHILD), below, None
    if below != KEY_DIGITS:
        raise NodeMalformedError(f"the leaf {node.path} at depth {depth} has no key of 32 bytes")
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
            raise NodeHashMismatchError(sentence)
        # It comes later, so the one before it is repeated, or of no path shown here, or moved.
        if encoded in proof[:listed] or not any(found in node for node in proof):
            raise NodeSurplusError(f"{sentence}, which a later node of the proof has")
        raise NodeOutOfOrderError(f"{sentence}, which another node of the proof has")
    # Only a root is hashed however short it is.
    if len(encoded) < HASH_BYTES and listed:
        raise NodeNotCanonicalError(f"node {listed} has {len(encoded)} bytes, and is not embedded")
    node = decode_node(encoded)
    known[reference] = (encoded, node)
    return node


def _refuse_surplus(proof: Sequence[bytes], listed: int) -> None:
    if len(proof) > listed:
        raise NodeSurplusError(f"the path ends after {listed} of the proof's {len(proof)} nodes")
