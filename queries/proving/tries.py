"""Merkle-Patricia tries (yellow paper, appendix D): nodes, and the proof for a key.

Nodes are decoded strictly. In Ethereum's account and storage tries all keys have 32 bytes, so no
branch has a value. A path is text with a hex digit per nibble: a key's `hex()` is its path. The
length of a reference says what it is: no child (0 bytes), an embedded child's encoding (under 32
bytes), or the hash of the child's encoding (32 bytes).

A proof is the list of nodes from the root to the end of the key's path. It proves the key's value,
or that the trie has no such key. Missing and additional trie nodes are refused, with two exceptions
in which honest Ethereum clients differ:

- the empty trie is proven by no nodes, or by its encoding `0x80`;
- an embedded node may be listed again after its parent (Anvil, and Nethermind since 2026, list it;
  geth does not).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import TypeAlias

from queries.proving.errors import (
    ArgumentMalformedError,
    RlpMalformedError,
    RlpNotCanonicalError,
    TrieNodeHashMismatchError,
    TrieNodeMalformedError,
    TrieNodeMissingError,
    TrieNodeNotCanonicalError,
    TrieNodeSurplusError,
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

_HASH_PREFIX = b"\xa0"
_BRANCH_ITEMS = BRANCH_WIDTH + 1
_PAIR_ITEMS = 2
_MIN_CHILDREN = 2
_FULL_BRANCH_PREFIX = b"\xf9\x02\x11"
_FULL_BRANCH_HASHES = Struct("3x" + "x32s" * BRANCH_WIDTH + "x")
_LEAF_FLAG = 2
_ODD_FLAG = 1


@dataclass(frozen=True, slots=True)
class Branch:
    """A node where paths part: a child for each next nibble."""

    children: tuple[bytes, ...]

    def encode(self) -> bytes:
        return encode_list([*map(_encode_reference, self.children), EMPTY_STRING])


@dataclass(frozen=True, slots=True)
class Extension:
    """Nibbles that all keys below share, and the branch where they part."""

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


def node_reference(rlp: bytes) -> bytes:
    """The reference of a parent to a node. Roots are always hashed, so this is not for them."""
    return rlp if len(rlp) < HASH_BYTES else keccak256(rlp)


def decode_node(rlp: bytes) -> Node:
    """Decode a node in canonical form.

    Embedded children are decoded too: a malformed one would let a forger shift its neighbours.
    """
    # Fast path for full branches, which are most nodes of a large trie. Only the framing has to be
    # checked, because any 32 bytes are a hash.
    if (
        len(rlp) == MAX_NODE_BYTES
        and rlp.startswith(_FULL_BRANCH_PREFIX)
        and rlp[3:531:33] == _HASH_PREFIX * BRANCH_WIDTH
        and rlp.endswith(EMPTY_STRING)
    ):
        return Branch(_FULL_BRANCH_HASHES.unpack(rlp))
    try:
        items = split_list(rlp)
        if len(items) == _BRANCH_ITEMS:
            return _decode_branch(items)
        if len(items) == _PAIR_ITEMS:
            return _decode_pair(*items)
    except RlpNotCanonicalError as error:
        raise TrieNodeNotCanonicalError(f"a trie node is not canonical RLP: {error}") from error
    except RlpMalformedError as error:
        raise TrieNodeMalformedError(f"a trie node is not RLP: {error}") from error
    raise TrieNodeMalformedError(f"a trie node has 2 or 17 items, not {len(items)}")


def _decode_branch(items: list[bytes]) -> Branch:
    value = items.pop()
    if value != EMPTY_STRING:
        raise TrieNodeMalformedError(f"a branch has the value 0x{value[:40].hex()}")
    children = tuple(map(_decode_reference, items))
    present = BRANCH_WIDTH - children.count(NO_CHILD)
    if present < _MIN_CHILDREN:
        raise TrieNodeNotCanonicalError(
            f"a branch has {present} children, not at least {_MIN_CHILDREN}"
        )
    return Branch(children)


def _decode_pair(path_item: bytes, second: bytes) -> Extension | Leaf:
    path, is_leaf = _decode_path(read_string(path_item))
    if is_leaf:
        value = read_string(second)
        if not value:
            raise TrieNodeNotCanonicalError("a leaf has an empty value")
        return Leaf(path, value)
    if not path:
        raise TrieNodeNotCanonicalError("an extension has an empty path")
    child = _decode_reference(second)
    if child == NO_CHILD:
        raise TrieNodeMalformedError(f"the extension {path} has no child")
    if len(child) < HASH_BYTES and not isinstance(decode_node(child), Branch):
        raise TrieNodeNotCanonicalError(f"the child of the extension {path} is not a branch")
    return Extension(path, child)


def _decode_reference(item: bytes) -> bytes:
    if item == EMPTY_STRING:
        return NO_CHILD
    if item.startswith(_HASH_PREFIX):
        return item[1:]
    if is_list(item):
        if len(item) >= HASH_BYTES:
            raise TrieNodeNotCanonicalError(
                f"a node of {len(item)} bytes is embedded; from 32 bytes on, its hash is required"
            )
        decode_node(item)
        return item
    raise TrieNodeMalformedError(
        f"a reference has {len(read_string(item))} bytes, not {HASH_BYTES}"
    )


def _encode_reference(reference: bytes) -> bytes:
    if reference == NO_CHILD:
        return EMPTY_STRING
    return _HASH_PREFIX + reference if len(reference) == HASH_BYTES else reference


def _decode_path(hex_prefix: bytes) -> tuple[str, bool]:
    """Decode the hex-prefix form: two flags, a zero if the length is even, and the nibbles."""
    nibbles = hex_prefix.hex()
    if not nibbles or nibbles[0] not in "0123":
        raise TrieNodeMalformedError(
            f"the path 0x{nibbles} does not begin with the flags of a leaf or extension"
        )
    flags = int(nibbles[0])
    if flags & _ODD_FLAG:
        return nibbles[1:], flags >= _LEAF_FLAG
    if nibbles[1] != "0":
        raise TrieNodeNotCanonicalError(f"the path 0x{nibbles} is padded with {nibbles[1]}, not 0")
    return nibbles[2:], flags >= _LEAF_FLAG


def _encode_path(path: str, flag: int) -> bytes:
    return bytes.fromhex(f"{flag | _ODD_FLAG}{path}" if len(path) % 2 else f"{flag}0{path}")


KEY_DIGITS = 2 * HASH_BYTES
# A node above each nibble of the key, and a leaf below the last.
MAX_PROOF_NODES = KEY_DIGITS + 1


@dataclass(frozen=True, slots=True)
class ProvenPath:
    """A key's value or None, and the nodes that prove it, root first, with embedded ones."""

    key: bytes
    value: bytes | None
    nodes: tuple[Node, ...]

    @property
    def hashed_nodes(self) -> list[bytes]:
        """The encoded nodes without embedded ones, which are part of their parents."""
        encodings = [node.encode() for node in self.nodes]
        return [rlp for i, rlp in enumerate(encodings) if i == 0 or len(rlp) >= HASH_BYTES]


class CheckedNodes(dict[bytes, tuple[bytes, Node]]):
    """Checked nodes by hash, each with its encoding: a cache for many proofs of the same root.

    Known nodes are compared instead of hashed and decoded. The cache has no limit.
    """


def check_proof(
    root: bytes, key: bytes, proof: Sequence[bytes], cache: CheckedNodes | None = None
) -> ProvenPath:
    """Check the proof of a hashed key against the root, and return its path. Raises ProofError."""
    if len(root) != HASH_BYTES or len(key) != HASH_BYTES:
        raise ArgumentMalformedError(f"root and key have {len(root)} and {len(key)} bytes, not 32")
    if root == EMPTY_TRIE_ROOT:
        _refuse_surplus(proof, 1 if proof and proof[0] == EMPTY_STRING else 0)
        return ProvenPath(key, None, ())
    checked_nodes = CheckedNodes() if cache is None else cache
    nodes: list[Node] = []
    path = key.hex()
    depth = 0
    value = None
    reference = root
    nodes_used = 0
    while reference != NO_CHILD:
        if len(reference) == HASH_BYTES:
            node = _next_node(reference, proof, nodes_used, checked_nodes)
            nodes_used += 1
        else:
            node = decode_node(reference)
            if nodes_used < len(proof) and proof[nodes_used] == reference:
                nodes_used += 1
        if nodes and isinstance(nodes[-1], Extension) and not isinstance(node, Branch):
            raise TrieNodeNotCanonicalError(
                f"the child of extension {nodes[-1].path} is not a branch"
            )
        nodes.append(node)
        reference, depth, value = follow(node, path, depth)
    _refuse_surplus(proof, nodes_used)
    return ProvenPath(key, value, tuple(nodes))


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


def follow(node: Node, path: str, depth: int) -> tuple[bytes, int, bytes | None]:
    """Take a step along the path: return the child and its depth, or at the end the value."""
    if isinstance(node, Branch):
        if depth == KEY_DIGITS:
            raise TrieNodeMalformedError("a branch is below the last nibble of the key")
        return node.children[int(path[depth], 16)], depth + 1, None
    end = depth + len(node.path)
    if isinstance(node, Extension):
        if end >= KEY_DIGITS:
            raise TrieNodeMalformedError(
                f"the extension {node.path} at depth {depth} reaches the end of the key"
            )
        return (node.child if path.startswith(node.path, depth) else NO_CHILD), end, None
    if end != KEY_DIGITS:
        raise TrieNodeMalformedError(
            f"the leaf {node.path} at depth {depth} does not end a key of 32 bytes"
        )
    return NO_CHILD, end, (node.value if path.endswith(node.path) else None)


def _next_node(
    reference: bytes, proof: Sequence[bytes], nodes_used: int, checked_nodes: CheckedNodes
) -> Node:
    """Decode the proof's next node, which must have the hash in `reference`."""
    if nodes_used == len(proof):
        raise TrieNodeMissingError(
            f"the proof ends after {nodes_used} nodes; node 0x{reference.hex()} is missing"
        )
    rlp = proof[nodes_used]
    entry = checked_nodes.get(reference)
    if entry is not None and entry[0] == rlp:
        return entry[1]
    actual_hash = keccak256(rlp)
    if actual_hash != reference:
        raise TrieNodeHashMismatchError(
            f"node {nodes_used} has the hash 0x{actual_hash.hex()}, not 0x{reference.hex()}"
        )
    # Only a root is referenced by its hash even if it is short.
    if len(rlp) < HASH_BYTES and nodes_used:
        raise TrieNodeNotCanonicalError(
            f"node {nodes_used} has {len(rlp)} bytes; below 32 bytes, it must be embedded"
        )
    node = decode_node(rlp)
    checked_nodes[reference] = (rlp, node)
    return node


def _refuse_surplus(proof: Sequence[bytes], nodes_used: int) -> None:
    if len(proof) > nodes_used:
        raise TrieNodeSurplusError(
            f"the path ends after {nodes_used} nodes, and the proof has {len(proof)}"
        )
