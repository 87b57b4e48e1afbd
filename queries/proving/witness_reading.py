"""Read the nodes of a witness like the contracts: rebuild the root of the trie.

What was read holds for every trie with that root. The caller has to compare it with the block's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from queries.proving.errors import WitnessMalformedError
from queries.proving.keccak import HASH_BYTES, keccak256
from queries.proving.tries import KEY_DIGITS, NO_CHILD, Branch, Extension, Leaf, node_reference
from queries.proving.witnesses import NodeKind, WitnessReader

_LIST_PREFIX = 0xC0  # of RLP
_MAX_DEPTH = 64  # recursion levels of the contract, for accounts and slots; a chain is one level


def check_ascending(paths: Sequence[str]) -> None:
    for index, (previous, path) in enumerate(pairwise(paths), 1):
        if path <= previous:
            raise WitnessMalformedError(f"key {index} is not greater than the one before")


def check_length(length: int, limit: int = HASH_BYTES) -> int:
    if length > limit:
        raise WitnessMalformedError(f"a number has {length} bytes, more than {limit}")
    return length


@dataclass(frozen=True, slots=True)
class TrieWalk:
    """A walk through one trie."""

    source: WitnessReader
    paths: Sequence[str]
    read_leaf: Callable[[int], bytes]
    mark_absent: Callable[[int], None]

    def root(self) -> bytes:
        return keccak256(self._node(range(len(self.paths)), 0))

    def _child(self, node: bytes) -> bytes:
        """The reference to a rebuilt node in its parent."""
        return NO_CHILD if node == b"\x80" else node_reference(node)

    def _descend(self, keys: range, depth: int) -> bytes:
        """Rebuild a node one recursion level further down."""
        if self.source.level == _MAX_DEPTH:
            raise WitnessMalformedError(f"the witness nests deeper than {_MAX_DEPTH} levels")
        self.source.level += 1
        node = self._node(keys, depth)
        self.source.level -= 1
        return node

    def _node(self, keys: range, depth: int) -> bytes:
        """Rebuild the node above these keys, which share `depth` nibbles."""
        if depth > KEY_DIGITS:
            raise WitnessMalformedError(f"a node is at depth {depth} of {KEY_DIGITS}")
        kind = self.source.number(1)
        if kind <= NodeKind.MIXED:
            return self._branch(kind, keys, depth)
        rebuild = self._rebuilders().get(kind)
        if rebuild is None:
            raise WitnessMalformedError(f"{kind} is not a kind of node")
        return rebuild(keys, depth)

    def _rebuilders(self) -> dict[int, Callable[[range, int], bytes]]:
        return {
            NodeKind.PASS: self._shared_extension,
            NodeKind.MISS: self._foreign_extension,
            NodeKind.LEAF: self._key_leaf,
            NodeKind.OTHER: self._foreign_leaf,
            NodeKind.NONE: self._empty,
        }

    def _branch(self, kind: int, keys: range, depth: int) -> bytes:
        if keys and depth >= len(self.paths[keys.start]):
            raise WitnessMalformedError("a branch is below the last nibble of the keys")
        present_mask, embedded_mask = self._masks(kind)
        children = []
        for nibble in range(16):
            matching_keys = self._matching(keys, depth, f"{nibble:x}")
            if present_mask >> nibble & 1 and matching_keys:
                children.append(self._child(self._descend(matching_keys, depth + 1)))
            else:
                self._mark_all_absent(matching_keys)
                children.append(self._sibling(nibble, present_mask, embedded_mask))
        return Branch(tuple(children)).encode()

    def _masks(self, kind: int) -> tuple[int, int]:
        present_mask = 0xFFFF if kind == NodeKind.FULL else self.source.number(2)
        return present_mask, self.source.number(2) if kind == NodeKind.MIXED else 0

    def _sibling(self, nibble: int, present_mask: int, embedded_mask: int) -> bytes:
        if not present_mask >> nibble & 1:
            return NO_CHILD
        is_embedded = embedded_mask >> nibble & 1
        return self._read_embedded() if is_embedded else self.source.take(HASH_BYTES)

    def _shared_extension(self, keys: range, depth: int) -> bytes:
        key_path = self.paths[self._chosen_key(keys)]
        nibbles = self._read_nibble_count(depth)
        if not nibbles:
            raise WitnessMalformedError(f"an extension of no nibbles at depth {depth}")
        path = key_path[depth : depth + nibbles]
        matching_keys = self._matching(keys, depth, path)
        self._mark_all_absent(range(keys.start, matching_keys.start))
        self._mark_all_absent(range(matching_keys.stop, keys.stop))
        return Extension(path, self._child(self._descend(matching_keys, depth + nibbles))).encode()

    def _foreign_extension(self, keys: range, depth: int) -> bytes:
        nibbles = self._read_nibble_count(depth)
        path = self._foreign_path(keys, depth, nibbles)
        if self.source.content[self.source.position : self.source.position + 1] == b"\x00":
            self.source.take(1)
            return Extension(path, self.source.take(HASH_BYTES)).encode()
        return Extension(path, self._read_embedded()).encode()

    def _key_leaf(self, keys: range, depth: int) -> bytes:
        owner = self._chosen_key(keys)
        self._mark_all_absent(range(keys.start, owner))
        self._mark_all_absent(range(owner + 1, keys.stop))
        return Leaf(self.paths[owner][depth:], self.read_leaf(owner)).encode()

    def _foreign_leaf(self, keys: range, depth: int) -> bytes:
        path = self._foreign_path(keys, depth, KEY_DIGITS - depth)
        return Leaf(path, self.source.take(self.source.number(1))).encode()

    def _empty(self, keys: range, _depth: int) -> bytes:
        self._mark_all_absent(keys)
        return b"\x80"

    def _matching(self, keys: range, depth: int, path: str) -> range:
        """The keys that continue with `path`; keys ascend, so these are adjacent."""
        matches = [key for key in keys if self.paths[key].startswith(path, depth)]
        return range(matches[0], matches[-1] + 1) if matches else range(keys.stop, keys.stop)

    def _chosen_key(self, keys: range) -> int:
        offset = self.source.number(2)
        if offset >= len(keys):
            raise WitnessMalformedError(f"key {offset} of {len(keys)} does not exist")
        return keys[offset]

    def _read_nibble_count(self, depth: int) -> int:
        nibbles = self.source.number(1)
        if depth + nibbles > KEY_DIGITS:
            raise WitnessMalformedError(f"an extension of {nibbles} nibbles below {depth}")
        return nibbles

    def _foreign_path(self, keys: range, depth: int, nibbles: int) -> str:
        """Read a path with which no key continues, so that all keys are absent."""
        digits = self.source.take((nibbles + 1) // 2).hex()
        path = digits[len(digits) - nibbles :]
        for key in keys:
            if self.paths[key].startswith(path, depth):
                raise WitnessMalformedError(f"key {key} is on the path, so it cannot be absent")
        self._mark_all_absent(keys)
        return path

    def _read_embedded(self) -> bytes:
        prefix = self.source.number(1)
        length = prefix - _LIST_PREFIX
        if not 0 < length < HASH_BYTES - 1:
            raise WitnessMalformedError("an embedded node is not a list of less than 32 bytes")
        return bytes((prefix,)) + self.source.take(length)

    def _mark_all_absent(self, keys: range) -> None:
        for key in keys:
            self.mark_absent(key)
