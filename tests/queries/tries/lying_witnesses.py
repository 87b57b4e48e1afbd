"""Witnesses of the true nodes of a trie, told so that they might pass for something else.

A forger knows the trie and wants its root with another fact under it. So every node told here is
one of the trie's own, in its own encoding, as far as its kind lets it be told so; what is made up
is all else that a witness may choose: which kind, which key, at which depth.
"""

from collections.abc import Callable, Mapping, Sequence

from hypothesis import strategies as st

from queries.proving.accounts import AccountState
from queries.proving.keccak import EMPTY_TRIE_ROOT, HASH_BYTES
from queries.proving.rlp_items import EMPTY_STRING
from queries.proving.tries import NO_CHILD, Branch, Extension, Leaf, decode_node
from queries.proving.witnesses import NodeKind
from tests.queries.attacks.witness_parts import account_told, packed
from tests.queries.tries.second_opinion import BuiltState, SecondOpinion

_DEPTH = 64


@st.composite
def lying(
    draw: st.DrawFn,
    built: BuiltState,
    names: Mapping[bytes, bytes] | None = None,
    *,
    shifts: bool = True,
) -> bytes:
    """A witness about the accounts asked for.

    `names` are what keys of the tries are named by, where that is not the keys themselves. Most
    lies are nodes at shifted depths, where these are not left out.
    """
    names = names or {}
    asked = sorted(
        (account for account in built.accounts if account.key.asked),
        key=lambda account: account.key.key,
    )
    slots = [sorted(slot.key for slot in account.slots if slot.asked) for account in asked]
    named = [
        names.get(account.key.key, account.key.key)
        + b"\x0f"
        + _count(len(of_account))
        + b"".join(names.get(slot, slot) for slot in of_account)
        for account, of_account in zip(asked, slots, strict=True)
    ]

    def told_account(index: int) -> bytes:
        state = built.state(asked[index].key.key)
        return b"\x00\x00" if state is None else account_told(state, told_storage(index, state))

    def told_storage(index: int, state: AccountState) -> bytes | None:
        storage = built.storage[asked[index].key.key]
        return _storage(draw, storage, slots[index], state, shifts=shifts)

    keys = [account.key.key for account in asked]
    liar = _Liar(draw, built.trie, keys, told_account, shifts=shifts)
    return b"".join((_count(len(asked)), *named, liar.root()))


def _storage(
    draw: st.DrawFn,
    trie: SecondOpinion,
    slots: Sequence[bytes],
    state: AccountState,
    *,
    shifts: bool,
) -> bytes | None:
    def told_slot(index: int) -> bytes:
        value = trie.value(slots[index])
        number = value if len(value) < 2 else value[1:]
        return bytes((len(number),)) + number

    if not slots or not state:
        return None
    return _Liar(draw, trie, slots, told_slot, shifts=shifts).root()


class _Liar:
    """Tells the nodes of one trie for some keys."""

    def __init__(
        self,
        draw: st.DrawFn,
        trie: SecondOpinion,
        keys: Sequence[bytes],
        leaf_value: Callable[[int], bytes],
        *,
        shifts: bool,
    ) -> None:
        self.shifts = shifts
        self.draw = draw
        self.trie = trie
        self.paths = [key.hex() for key in keys]
        self.leaf_value = leaf_value
        self.lies = 2

    def root(self) -> bytes:
        return self._node(self._encoding(self.trie.root), range(len(self.paths)), 0)

    def _encoding(self, reference: bytes) -> bytes:
        if reference == EMPTY_TRIE_ROOT:
            return EMPTY_STRING
        return bytes(self.trie.trie.db[reference]) if len(reference) == HASH_BYTES else reference

    def _lie(self) -> bool:
        """Few at a time: the root must come out, or nothing is claimed."""
        if not self.lies or self.draw(st.booleans()):
            return False
        self.lies -= 1
        return True

    def _node(self, encoded: bytes, keys: range, depth: int) -> bytes:
        if len(keys) == 1 and self.shifts and self._lie():
            # Where a chain may end, or where it would be compared with other nibbles.
            other = self.draw(
                st.sampled_from((depth - 1, depth - 2, 0, depth, depth + 1)).map(
                    lambda at: max(at, 0)
                )
                | st.integers(0, depth)
            )
            chain = bytes((NodeKind.CHAIN, other)) + self._node(encoded, keys, other)
            return chain + (bytes((NodeKind.PASS, other - depth)) if other > depth else b"")
        if encoded == EMPTY_STRING:
            return bytes((NodeKind.NONE,))
        node = decode_node(encoded)
        if isinstance(node, Branch):
            return self._branch(node, keys, depth)
        if isinstance(node, Extension):
            return self._extension(node, keys, depth)
        return self._leaf(node, keys, depth)

    def _branch(self, node: Branch, keys: range, depth: int) -> bytes:
        there = sum(1 << nibble for nibble, child in enumerate(node.children) if child != NO_CHILD)
        short = sum(
            1 << nibble for nibble, child in enumerate(node.children) if 0 < len(child) < HASH_BYTES
        )
        told = [bytes((NodeKind.MIXED,)), _count(there), _count(short)]
        for nibble, child in enumerate(node.children):
            below = self._matching(keys, depth, f"{nibble:x}")
            is_told = len(below) > 0 and child != NO_CHILD
            told.append(self._node(self._encoding(child), below, depth + 1) if is_told else child)
        return b"".join(told)

    def _extension(self, node: Extension, keys: range, depth: int) -> bytes:
        passing = self._matching(keys, depth, node.path)
        nibbles = bytes((len(node.path),))
        if passing and not self._lie():
            which = _count(passing.start - keys.start)
            below = self._node(self._encoding(node.child), passing, depth + len(node.path))
            return bytes((NodeKind.PASS,)) + which + nibbles + below
        child = node.child if len(node.child) < HASH_BYTES else b"\x00" + node.child
        return bytes((NodeKind.MISS,)) + nibbles + packed(node.path) + child

    def _leaf(self, node: Leaf, keys: range, depth: int) -> bytes:
        owner = [key for key in keys if self.paths[key].endswith(node.path)]
        if owner and not self._lie():
            return (
                bytes((NodeKind.LEAF,)) + _count(owner[0] - keys.start) + self.leaf_value(owner[0])
            )
        nibbles = self.draw(st.sampled_from((_DEPTH - depth, len(node.path))))
        path = node.path.rjust(max(nibbles, 0), "0")
        value = bytes((len(node.value),)) + node.value
        return bytes((NodeKind.OTHER,)) + packed(path) + value

    def _matching(self, keys: range, depth: int, path: str) -> range:
        matching = [key for key in keys if self.paths[key].startswith(path, depth)]
        return range(matching[0], matching[-1] + 1) if matching else range(0)


def _count(number: int) -> bytes:
    return number.to_bytes(2, "big")
