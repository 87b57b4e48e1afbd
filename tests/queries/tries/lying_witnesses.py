"""Witnesses with the true nodes of a trie, encoded so that they might pass for something else.

A forger knows the trie and wants its root with another fact below it. So every node here is one of
the trie's own; made up is what else a witness may choose: the kind, the key and the depth.
"""

from collections.abc import Callable, Mapping, Sequence

from hypothesis import strategies as st

from queries.proving.keccak import HASH_BYTES
from queries.proving.rlp_items import EMPTY_STRING
from queries.proving.tries import KEY_DIGITS, NO_CHILD, Branch, Extension, Leaf, decode_node
from queries.proving.witnesses import NodeKind
from tests.queries.attacks.witness_parts import (
    EMPTY_NODE,
    ChosenTrie,
    compact_account,
    compact_slot,
    encode_witness,
    extension,
    foreign_extension,
    foreign_leaf,
    leaf,
    request,
)
from tests.queries.tries.second_opinion import BuiltState


@st.composite
def lying_witness(
    draw: st.DrawFn,
    built: BuiltState,
    names: Mapping[bytes, bytes] | None = None,
    *,
    shifts: bool = True,
) -> bytes:
    """A witness of the requested accounts.

    `names` maps trie keys to names, if they differ. Unless `shifts` is false, most lies are nodes
    at shifted depths.
    """
    names = names or {}
    slots = {
        account.key.key: sorted(slot.key for slot in account.slots if slot.requested)
        for account in sorted(built.accounts, key=lambda account: account.key.key)
        if account.key.requested
    }

    def encode_account(key: bytes) -> bytes:
        state = built.state(key)
        if state is None:
            return b"\x00\x00"
        if not slots[key]:
            return compact_account(state)
        storage = built.storage[key]
        encoder = _LyingEncoder(
            draw,
            storage,
            slots[key],
            lambda slot: compact_slot(_number(storage, slot)),
            shifts=shifts,
        )
        return compact_account(state, encoder.root())

    encoder = _LyingEncoder(draw, built.trie, list(slots), encode_account, shifts=shifts)
    requests = [
        request(names.get(key, key), 15, [names.get(slot, slot) for slot in account_slots])
        for key, account_slots in slots.items()
    ]
    return encode_witness(requests, encoder.root())


def _number(trie: ChosenTrie, slot: bytes) -> int:
    value = trie.value(slot)
    return int.from_bytes(value if len(value) < 2 else value[1:], "big")


class _LyingEncoder:
    """Encodes the nodes of one trie for some keys, with a few lies."""

    def __init__(
        self,
        draw: st.DrawFn,
        trie: ChosenTrie,
        keys: Sequence[bytes],
        leaf_value: Callable[[bytes], bytes],
        *,
        shifts: bool,
    ) -> None:
        self.shifts = shifts
        self.draw = draw
        self.trie = trie
        self.keys = keys
        self.paths = [key.hex() for key in keys]
        self.leaf_value = leaf_value
        self.lies = 2

    def root(self) -> bytes:
        return self._node(self.trie.root, range(len(self.paths)), 0)

    def _lies_here(self) -> bool:
        """Lie rarely: with another root nothing is claimed."""
        if not self.lies or self.draw(st.booleans()):
            return False
        self.lies -= 1
        return True

    def _node(self, reference: bytes, keys: range, depth: int) -> bytes:
        if len(keys) == 1 and self.shifts and self._lies_here():
            # A depth where a chain may end, or where other nibbles would be compared.
            near = st.sampled_from((depth - 1, depth - 2, 0, depth, depth + 1))
            at = max(self.draw(near | st.integers(0, depth)), 0)
            chain = bytes((NodeKind.CHAIN, at)) + self._node(reference, keys, at)
            return chain + (bytes((NodeKind.PASS, at - depth)) if at > depth else b"")
        encoded = self.trie.encoding(reference)
        if encoded == EMPTY_STRING:
            return EMPTY_NODE
        node = decode_node(encoded)
        if isinstance(node, Branch):
            return self._branch(node, keys, depth)
        if isinstance(node, Extension):
            return self._extension(node, keys, depth)
        return self._leaf(node, keys, depth)

    def _branch(self, node: Branch, keys: range, depth: int) -> bytes:
        children = list(enumerate(node.children))
        child_mask = sum(1 << nibble for nibble, child in children if child != NO_CHILD)
        embedded_mask = sum(
            1 << nibble for nibble, child in children if 0 < len(child) < HASH_BYTES
        )
        parts = [
            bytes((NodeKind.MIXED,)),
            child_mask.to_bytes(2, "big"),
            embedded_mask.to_bytes(2, "big"),
        ]
        for nibble, child in children:
            below = self._matching(keys, depth, f"{nibble:x}")
            is_encoded = len(below) > 0 and child != NO_CHILD
            parts.append(self._node(child, below, depth + 1) if is_encoded else child)
        return b"".join(parts)

    def _extension(self, node: Extension, keys: range, depth: int) -> bytes:
        matching = self._matching(keys, depth, node.path)
        if not matching or self._lies_here():
            return foreign_extension(node.path, node.child)
        nibbles = len(node.path)
        below = self._node(node.child, matching, depth + nibbles)
        return extension(nibbles, below, matching.start - keys.start)

    def _leaf(self, node: Leaf, keys: range, depth: int) -> bytes:
        owner = [key for key in keys if self.paths[key].endswith(node.path)]
        if owner and not self._lies_here():
            return leaf(self.leaf_value(self.keys[owner[0]]), owner[0] - keys.start)
        nibbles = self.draw(st.sampled_from((KEY_DIGITS - depth, len(node.path))))
        return foreign_leaf(node.path.rjust(max(nibbles, 0), "0"), node.value)

    def _matching(self, keys: range, depth: int, path: str) -> range:
        matching = [key for key in keys if self.paths[key].startswith(path, depth)]
        return range(matching[0], matching[-1] + 1) if matching else range(0)
