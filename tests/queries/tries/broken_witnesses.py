"""Witnesses that no builder of ours makes: honest ones broken, and ones made up.

What is made up follows the form of a witness but describes nodes that no trie has: branches
without children, extensions without nibbles, chains in chains, numbers with leading zeros. It is
the better way to reach deep into a reader, because a byte changed at random is mostly a hash's.
"""

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from queries.proving.witnesses import HAS_CODE, HAS_STORAGE, NodeKind
from tests.queries.attacks.witness_parts import (
    EMPTY_NODE,
    account_request,
    encode_witness,
    leaf,
    passed_extension,
)

# Bytes that tell kinds, counts, depths and lengths are small; those of hashes rarely are.
_SMALL = 0x41
_small_bytes = st.integers(0, max(NodeKind) + 1) | st.sampled_from((15, 31, 32, 33, 63, 64, 65))
_inserted = st.binary(min_size=1, max_size=34) | st.sampled_from(
    [bytes((NodeKind.CHAIN, depth)) for depth in (0, 1, 2, 63, 64)]
    + [bytes((NodeKind.PASS, 0, 0, 0)), bytes((NodeKind.PASS, 0)), EMPTY_NODE]
)


@st.composite
def broken(draw: st.DrawFn, honest: bytes) -> bytes:
    """An honest witness with one to three faults."""
    content = honest
    for _ in range(draw(st.sampled_from((1, 1, 2, 3)))):
        telling = [place for place, byte in enumerate(content) if byte < _SMALL]
        place = draw(st.integers(0, max(len(content) - 1, 0)) | st.sampled_from(telling or [0]))
        end = place + draw(st.integers(1, 34))
        before, taken, after = content[:place], content[place:end], content[end:]
        # Any other byte, or one that could be a kind, a depth or a length.
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
_counted = st.binary(max_size=33).map(lambda content: bytes((len(content),)) + content)


@st.composite
def made_up(draw: st.DrawFn) -> bytes:
    """A witness of a few accounts, with walks that need not be of any trie."""
    names = draw(_key_lists)
    slots = [draw(st.just([]) | _key_lists) for _ in names]

    def account(index: int) -> bytes:
        balance, nonce = draw(st.binary(max_size=33)), draw(st.binary(max_size=9))
        hashes = draw(st.sampled_from((0, HAS_STORAGE, HAS_CODE, HAS_STORAGE | HAS_CODE)))
        storage = draw(_hashes) if hashes & HAS_STORAGE else b""
        if slots[index]:
            storage = _MadeUpWalk(draw, slots[index], lambda _: draw(_counted)).root()
        code = draw(_hashes) if hashes & HAS_CODE else b""
        return bytes((len(balance) | hashes, len(nonce))) + balance + nonce + storage + code

    named = [
        account_request(each, draw(st.integers(0, 15)), of)
        for each, of in zip(names, slots, strict=True)
    ]
    return encode_witness(named, _MadeUpWalk(draw, names, account).root())


class _MadeUpWalk:
    """Nodes over some keys; `leaf_value` makes up what stands at a key's leaf."""

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
        # Two of these lead to the last nibble, and behind it.
        nibbles = max(nibbles - depth, 0) if nibbles > 62 else nibbles
        path = self.paths[chosen][depth : depth + nibbles]
        through = [key for key in keys if self.paths[key].startswith(path, depth)]
        below = range(through[0], through[-1] + 1) if through else keys
        told = self._node(below, depth + nibbles, levels - 1)
        return passed_extension(nibbles, told, chosen - keys.start)

    def _branch(self, kind: NodeKind, keys: range, depth: int, levels: int) -> bytes:
        masks, children = self._children(kind)
        told = [masks]
        for nibble, child in children.items():
            below = [key for key in keys if self.paths[key][depth : depth + 1] == nibble]
            whole = range(below[0], below[-1] + 1) if below else range(0)
            told.append(self._node(whole, depth + 1, levels - 1) if below else self.draw(child))
        return b"".join(told)

    def _chain(self, kind: NodeKind, keys: range, depth: int, levels: int) -> bytes:
        further = (
            st.integers(0, 3) | st.integers(0, 3) | st.sampled_from((-1, 63 - depth, 65 - depth))
        )
        last = max(depth + self.draw(further), 0)
        told = [bytes((kind, last)), self._node(keys, last, levels - 1)]
        path = self.paths[keys.start]
        while last > depth:
            above = self.draw(st.sampled_from((NodeKind.FULL, NodeKind.BRANCH, NodeKind.MIXED)))
            if last - depth > 4 or self.draw(st.booleans()):
                left = last - depth
                nibbles = self.draw(st.integers(0, left) | st.integers(left, left + 1))
                told.append(bytes((NodeKind.PASS, nibbles)))
                last -= nibbles
                continue
            last -= 1
            masks, children = self._children(above)
            own = path[last : last + 1]
            told += [masks, *(self.draw(of) for nibble, of in children.items() if nibble != own)]
        return b"".join(told)

    def _children(self, kind: NodeKind) -> tuple[bytes, dict[str, st.SearchStrategy[bytes]]]:
        """A branch's kind and masks, and of which kind its children are."""
        # Not too many children, or a witness is nothing but made-up hashes.
        there = self.draw(st.integers(0, 0xFFFF)) & self.draw(st.integers(0, 0xFFFF)) | 2
        there = 0xFFFF if kind == NodeKind.FULL else there
        embedded = self.draw(st.integers(0, 0xFFFF)) if kind == NodeKind.MIXED else 0
        masks = {NodeKind.FULL: [], NodeKind.BRANCH: [there], NodeKind.MIXED: [there, embedded]}
        children = {
            f"{nibble:x}": _embedded if embedded >> nibble & 1 else _hashes
            for nibble in range(16)
            if there >> nibble & 1
        }
        told = b"".join(mask.to_bytes(2, "big") for mask in masks[kind])
        return bytes((kind,)) + told, children

    def _path(self, keys: range, depth: int, nibbles: int) -> bytes:
        """Mostly a path that no key goes on with, in whole bytes, with any spare nibble."""
        own = self.paths[keys.start][depth : depth + nibbles].ljust(nibbles, "0")
        path = self.draw(st.sampled_from((own, "e" * nibbles, "e" * nibbles, "e" * nibbles)))
        return bytes.fromhex(self.draw(st.sampled_from("0f")) * (nibbles % 2) + path)
