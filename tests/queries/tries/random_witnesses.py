"""Broken, made-up and lying witnesses.

A made-up witness has the right format but describes nodes that no trie has: branches without
children, extensions without nibbles, chains in chains, numbers with leading zeros. It reaches
deeper into a reader than a changed byte does, which is mostly a hash's.

A lying witness has the true nodes of a trie, encoded so that they might pass for something else. A
forger knows the trie and wants its root with another fact below it. So every node is one of the
trie's own; made up is what else a witness may choose: the kind, the key and the depth.
"""

from collections.abc import Callable, Mapping, Sequence

from hypothesis import strategies as st

from queries.proving.keccak import HASH_BYTES
from queries.proving.rlp_items import EMPTY_STRING
from queries.proving.tries import KEY_DIGITS, NO_CHILD, Branch, Extension, Leaf, decode_node
from queries.proving.witnesses import HAS_CODE, HAS_STORAGE, NodeKind
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
from tests.queries.tries.random_states import BuiltState

# Bytes of kinds, counts, depths and lengths are small; those of hashes rarely are.
_SMALL = 0x41
_small_bytes = st.integers(0, max(NodeKind) + 1) | st.sampled_from((15, 31, 32, 33, 63, 64, 65))
_inserted = st.binary(min_size=1, max_size=34) | st.sampled_from(
    [bytes((NodeKind.CHAIN, depth)) for depth in (0, 1, 2, 63, 64)]
    + [bytes((NodeKind.PASS, 0, 0, 0)), bytes((NodeKind.PASS, 0)), EMPTY_NODE]
)


@st.composite
def broken_witness(draw: st.DrawFn, honest: bytes) -> bytes:
    """An honest witness with one to three faults."""
    content = honest
    for _ in range(draw(st.sampled_from((1, 1, 2, 3)))):
        structural = [place for place, byte in enumerate(content) if byte < _SMALL]
        place = draw(st.integers(0, max(len(content) - 1, 0)) | st.sampled_from(structural or [0]))
        end = place + draw(st.integers(1, 34))
        before, taken, after = content[:place], content[place:end], content[end:]
        other = bytes((draw(_small_bytes | st.integers(0, 255)),))
        changed = before + other + taken[1:] + after
        more = draw(_inserted)
        faults = (
            before + after,
            before + taken + taken + after,
            before + more + taken + after,
            before + after[: len(taken)] + taken + after[len(taken) :],
            before,
            content + more,
        )
        content = draw(st.sampled_from((changed, changed, changed, *faults)))
    return content


_hashes = st.integers(0, 255).map(lambda byte: bytes((byte,)) * 32)
_embedded = (st.integers(1, 30) | st.integers(0, 31)).map(
    lambda length: bytes((0xC0 + length,)) + bytes(length)
)
_key_lists = st.lists(
    st.builds(
        lambda first, last: bytes((first,)) + b"\x11" * 30 + bytes((last,)),
        st.sampled_from((0x11, 0x11, 0x12, 0x21)),
        st.integers(0, 255) | st.sampled_from((0x10, 0x11)),
    ),
    min_size=1,
    max_size=4,
    unique=True,
).map(sorted)
_length_prefixed = st.binary(max_size=33).map(lambda content: bytes((len(content),)) + content)


@st.composite
def made_up_witness(draw: st.DrawFn) -> bytes:
    """A witness of a few accounts, with nodes that need not be of any trie."""
    keys = draw(_key_lists)
    slots = [draw(st.just([]) | _key_lists) for _ in keys]

    def account(index: int) -> bytes:
        balance, nonce = draw(st.binary(max_size=33)), draw(st.binary(max_size=9))
        hashes = draw(st.sampled_from((0, HAS_STORAGE, HAS_CODE, HAS_STORAGE | HAS_CODE)))
        storage = draw(_hashes) if hashes & HAS_STORAGE else b""
        if slots[index]:
            storage = _MadeUpNodes(draw, slots[index], lambda _: draw(_length_prefixed)).root()
        code = draw(_hashes) if hashes & HAS_CODE else b""
        return bytes((len(balance) | hashes, len(nonce))) + balance + nonce + storage + code

    requests = [
        request(name, draw(st.integers(0, 15)), key_slots)
        for name, key_slots in zip(keys, slots, strict=True)
    ]
    return encode_witness(requests, _MadeUpNodes(draw, keys, account).root())


class _MadeUpNodes:
    """Nodes for some keys; `leaf_value` makes up the value of a key's leaf."""

    def __init__(
        self, draw: st.DrawFn, keys: Sequence[bytes], leaf_value: Callable[[int], bytes]
    ) -> None:
        self.draw = draw
        self.paths = [key.hex() for key in keys]
        self.leaf_value = leaf_value

    def root(self) -> bytes:
        return self._node(range(len(self.paths)), 0, 4)

    def _node(self, keys: range, depth: int, levels: int) -> bytes:
        kinds = [NodeKind.LEAF, NodeKind.LEAF, NodeKind.OTHER, NodeKind.MISS, NodeKind.NONE]
        if levels:
            kinds += [NodeKind.BRANCH, NodeKind.MIXED, NodeKind.FULL, NodeKind.PASS, NodeKind.PASS]
            kinds += [NodeKind.CHAIN] * (6 if len(keys) == 1 else 1)
        kind = self.draw(st.sampled_from(kinds))
        if kind == NodeKind.NONE:
            return EMPTY_NODE
        if kind == NodeKind.LEAF:
            chosen = self.draw(st.sampled_from(keys))
            return leaf(self.leaf_value(chosen), chosen - keys.start)
        if kind == NodeKind.OTHER:
            value = self.draw(st.binary(max_size=60))
            path = self._path(keys, depth, max(64 - depth, 0))
            return bytes((kind,)) + path + bytes((len(value),)) + value
        if kind == NodeKind.MISS:
            nibbles = max(self.draw(st.integers(0, 4) | st.sampled_from((64 - depth, 65))), 0)
            child = self.draw(_hashes.map(lambda hash_: b"\x00" + hash_) | _embedded)
            return bytes((kind, nibbles)) + self._path(keys, depth, nibbles) + child
        if kind == NodeKind.PASS:
            return self._pass(keys, depth, levels)
        return (self._chain if kind == NodeKind.CHAIN else self._branch)(kind, keys, depth, levels)

    def _pass(self, keys: range, depth: int, levels: int) -> bytes:
        chosen = self.draw(st.sampled_from(keys))
        nibbles = self.draw(st.integers(0, 3) | st.integers(59, 62) | st.sampled_from((63, 64)))
        # 63 and 64 lead to the last nibble and beyond.
        nibbles = max(nibbles - depth, 0) if nibbles > 62 else nibbles
        path = self.paths[chosen][depth : depth + nibbles]
        matching = [key for key in keys if self.paths[key].startswith(path, depth)]
        below = range(matching[0], matching[-1] + 1) if matching else keys
        parts = self._node(below, depth + nibbles, levels - 1)
        return extension(nibbles, parts, chosen - keys.start)

    def _branch(self, kind: NodeKind, keys: range, depth: int, levels: int) -> bytes:
        masks, children = self._children(kind)
        parts = [masks]
        for nibble, child in children.items():
            below = [key for key in keys if self.paths[key][depth : depth + 1] == nibble]
            whole = range(below[0], below[-1] + 1) if below else range(0)
            parts.append(self._node(whole, depth + 1, levels - 1) if below else self.draw(child))
        return b"".join(parts)

    def _chain(self, kind: NodeKind, keys: range, depth: int, levels: int) -> bytes:
        further = (
            st.integers(0, 3) | st.integers(0, 3) | st.sampled_from((-1, 63 - depth, 65 - depth))
        )
        last = max(depth + self.draw(further), 0)
        parts = [bytes((kind, last)), self._node(keys, last, levels - 1)]
        path = self.paths[keys.start]
        while last > depth:
            above = self.draw(st.sampled_from((NodeKind.FULL, NodeKind.BRANCH, NodeKind.MIXED)))
            if last - depth > 4 or self.draw(st.booleans()):
                left = last - depth
                nibbles = self.draw(st.integers(0, left) | st.integers(left, left + 1))
                parts.append(bytes((NodeKind.PASS, nibbles)))
                last -= nibbles
                continue
            last -= 1
            masks, children = self._children(above)
            own = path[last : last + 1]
            parts += [
                masks,
                *(self.draw(child) for nibble, child in children.items() if nibble != own),
            ]
        return b"".join(parts)

    def _children(self, kind: NodeKind) -> tuple[bytes, dict[str, st.SearchStrategy[bytes]]]:
        """A branch's kind and masks, and strategies for its children."""
        # Few children, so that a witness is not mostly hashes.
        children_mask = self.draw(st.integers(0, 0xFFFF)) & self.draw(st.integers(0, 0xFFFF)) | 2
        children_mask = 0xFFFF if kind == NodeKind.FULL else children_mask
        embedded = self.draw(st.integers(0, 0xFFFF)) if kind == NodeKind.MIXED else 0
        masks = {
            NodeKind.FULL: [],
            NodeKind.BRANCH: [children_mask],
            NodeKind.MIXED: [children_mask, embedded],
        }
        children = {
            f"{nibble:x}": _embedded if embedded >> nibble & 1 else _hashes
            for nibble in range(16)
            if children_mask >> nibble & 1
        }
        parts = b"".join(mask.to_bytes(2, "big") for mask in masks[kind])
        return bytes((kind,)) + parts, children

    def _path(self, keys: range, depth: int, nibbles: int) -> bytes:
        """Mostly a path that no key continues with, in whole bytes, with any spare nibble."""
        own = self.paths[keys.start][depth : depth + nibbles].ljust(nibbles, "0")
        path = self.draw(st.sampled_from((own, "e" * nibbles, "e" * nibbles, "e" * nibbles)))
        return bytes.fromhex(self.draw(st.sampled_from("0f")) * (nibbles % 2) + path)


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
