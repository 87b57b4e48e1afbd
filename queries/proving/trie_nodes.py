"""One node of a Merkle-Patricia trie (yellow paper, appendix D), read strictly and written back.

These are the nodes of Ethereum's account and storage tries, whose keys are all 32 bytes: no
branch holds a value. Paths are texts of hex digits, a digit a nibble, because a key's `hex()` is
its path and `startswith` compares paths.

A reference says where a child is, by its length: none at all (0 bytes), the child's own encoding
(under 32 bytes, embedded), or the hash of its encoding (32 bytes).
"""

from dataclasses import dataclass
from struct import Struct
from typing import TypeAlias

from .errors import NodeMalformed, NodeNotCanonical, RlpMalformed, RlpNotCanonical
from .keccak import HASH_BYTES, keccak256
from .rlp_items import EMPTY_STRING, encode_list, encode_string, is_list, read_string, split_list

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
    """Where paths part: a child for each next digit."""

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

    Embedded children are read too, on the path or not: one that is no node would let whoever
    shows it shift its neighbours.
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
    except RlpNotCanonical as fault:
        raise NodeNotCanonical(f"a trie node is not canonical RLP: {fault}") from fault
    except RlpMalformed as fault:
        raise NodeMalformed(f"a trie node is not RLP: {fault}") from fault
    raise NodeMalformed(f"a trie node has 2 or 17 items, not {len(items)}")


def _decode_branch(items: list[bytes]) -> Branch:
    value = items.pop()
    if value != EMPTY_STRING:
        raise NodeMalformed(f"a branch holds the value 0x{value[:40].hex()}; no key ends there")
    children = tuple(map(_decode_reference, items))
    present = BRANCH_WIDTH - children.count(NO_CHILD)
    if present < 2:  # noqa: PLR2004
        raise NodeNotCanonical(f"a branch has {present} children; with one it would not exist")
    return Branch(children)


def _decode_pair(path_item: bytes, second: bytes) -> Extension | Leaf:
    path, is_leaf = _decode_path(read_string(path_item))
    if is_leaf:
        value = read_string(second)
        if not value:
            raise NodeNotCanonical("a leaf holds the empty value, which would remove it")
        return Leaf(path, value)
    if not path:
        raise NodeNotCanonical("an extension has no path")
    child = _decode_reference(second)
    if child == NO_CHILD:
        raise NodeMalformed(f"the extension {path} has no child")
    if len(child) < HASH_BYTES and not isinstance(decode_node(child), Branch):
        raise NodeNotCanonical(f"the child of the extension {path} is not a branch")
    return Extension(path, child)


def _decode_reference(item: bytes) -> bytes:
    if item == EMPTY_STRING:
        return NO_CHILD
    if item.startswith(_HASH_ITEM):
        return item[1:]
    if is_list(item):
        if len(item) >= HASH_BYTES:
            raise NodeNotCanonical(f"a node of {len(item)} bytes is embedded, not hashed")
        decode_node(item)
        return item
    raise NodeMalformed(f"a reference has {len(read_string(item))} bytes; a hash has {HASH_BYTES}")


def _encode_reference(reference: bytes) -> bytes:
    if reference == NO_CHILD:
        return EMPTY_STRING
    return _HASH_ITEM + reference if len(reference) == HASH_BYTES else reference


def _decode_path(hex_prefix: bytes) -> tuple[str, bool]:
    """Read the hex-prefix form: two flags, a zero where the rest would be half a byte, digits."""
    digits = hex_prefix.hex()
    if not digits or digits[0] not in "0123":
        raise NodeMalformed(f"the path 0x{digits} has no flags of a leaf or an extension")
    flags = int(digits[0])
    if flags & _ODD_FLAG:
        return digits[1:], flags >= _LEAF_FLAG
    if digits[1] != "0":
        raise NodeNotCanonical(f"the path 0x{digits} is padded with {digits[1]}, not 0")
    return digits[2:], flags >= _LEAF_FLAG


def _encode_path(path: str, flag: int) -> bytes:
    return bytes.fromhex(f"{flag | _ODD_FLAG}{path}" if len(path) % 2 else f"{flag}0{path}")
