"""Witnesses that no builder of ours makes: honest ones broken, and ones made up.

What is made up follows the form of a witness but describes nodes that no trie has: branches
without children, extensions without nibbles, chains in chains, numbers with leading zeros. It is
the better way to reach deep into a reader, because a byte changed at random is mostly a hash's.
"""

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from queries.proving.witnesses import HAS_CODE, HAS_STORAGE, NodeKind

# Bytes that tell kinds, counts, depths and lengths are small; those of hashes rarely are.
_SMALL = 0x41
_LARGEST_KIND = max(NodeKind)
_small_bytes = st.integers(0, _LARGEST_KIND + 1) | st.sampled_from((15, 31, 32, 33, 63, 64, 65))
_inserted = st.binary(min_size=1, max_size=34) | st.sampled_from(
    [bytes((NodeKind.CHAIN, depth)) for depth in (0, 1, 2, 63, 64)]
    + [bytes((NodeKind.PASS, 0, 0, 0)), bytes((NodeKind.PASS, 0)), bytes((NodeKind.NONE,))]
)


@st.composite
def broken(draw: st.DrawFn, honest: bytes) -> bytes:
    """An honest witness with one to three faults."""
    content = honest
    for _ in range(draw(st.sampled_from((1, 1, 2, 3)))):
        telling = [place for place, byte in enumerate(content) if byte < _SMALL]
        place = draw(st.integers(0, max(len(content) - 1, 0)) | st.sampled_from(telling or [0]))
        span = draw(st.integers(1, 34))
        content = _with_fault(draw, content, place, span)
    return content


def _with_fault(draw: st.DrawFn, content: bytes, place: int, span: int) -> bytes:
    before, taken, after = content[:place], content[place : place + span], content[place + span :]
    faults = {
        "changed": lambda: before + _changed(draw, taken) + after,
        "left out": lambda: before + after,
        "doubled": lambda: before + taken + taken + after,
        "inserted": lambda: before + draw(_inserted) + taken + after,
        "swapped": lambda: before + after[:span] + taken + after[span:],
        "cut off": lambda: before,
        "extended": lambda: content + draw(_inserted),
    }
    return faults[draw(st.sampled_from(("changed", "changed", *faults)))]()


def _changed(draw: st.DrawFn, taken: bytes) -> bytes:
    """The first byte is another: any, or one that could be a kind, a depth or a length."""
    return bytes((draw(_small_bytes | st.integers(0, 255)),)) + taken[1:]


@st.composite
def made_up(draw: st.DrawFn) -> bytes:
    """A witness of a few accounts, with walks that need not be of any trie."""
    names = sorted(draw(_key_lists))
    slots = [sorted(draw(st.just([]) | _key_lists)) for _ in names]
    asked = [
        name + bytes((draw(st.integers(0, 15)),)) + _count(len(of_account)) + b"".join(of_account)
        for name, of_account in zip(names, slots, strict=True)
    ]

    def slot(_index: int) -> bytes:
        return _number(draw)

    def account(index: int) -> bytes:
        balance, nonce = draw(st.binary(max_size=33)), draw(st.binary(max_size=9))
        hashes = draw(st.sampled_from((0, HAS_STORAGE, HAS_CODE, HAS_STORAGE | HAS_CODE)))
        storage = draw(_hashes) if hashes & HAS_STORAGE else b""
        if slots[index]:
            storage = _MadeUpWalk(draw, slots[index], slot).node(range(len(slots[index])), 0, 4)
        code = draw(_hashes) if hashes & HAS_CODE else b""
        return bytes((len(balance) | hashes, len(nonce))) + balance + nonce + storage + code

    nodes = _MadeUpWalk(draw, names, account).node(range(len(names)), 0, 4)
    return b"".join((_count(len(names)), *asked, nodes))


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
)


class _MadeUpWalk:
    """Nodes over some keys; `leaf_value` makes up what stands at a key's leaf."""

    def __init__(
        self, draw: st.DrawFn, keys: Sequence[bytes], leaf_value: Callable[[int], bytes]
    ) -> None:
        self.draw = draw
        self.paths = [key.hex() for key in keys]
        self.leaf_value = leaf_value

    def node(self, keys: range, depth: int, levels: int) -> bytes:
        kinds = [NodeKind.LEAF, NodeKind.LEAF, NodeKind.OTHER, NodeKind.MISS, NodeKind.NONE]
        if levels:
            kinds += [NodeKind.BRANCH, NodeKind.MIXED, NodeKind.FULL, NodeKind.PASS, NodeKind.PASS]
            kinds += [NodeKind.CHAIN] * (6 if len(keys) == 1 else 1)
        kind = self.draw(st.sampled_from(kinds))
        tellers: dict[NodeKind, Callable[[range, int, int], bytes]] = {
            NodeKind.LEAF: self._leaf,
            NodeKind.OTHER: self._other,
            NodeKind.MISS: self._block,
            NodeKind.NONE: lambda *_: b"",
            NodeKind.PASS: self._pass,
            NodeKind.CHAIN: self._chain,
        }
        if kind in tellers:
            return bytes((kind,)) + tellers[kind](keys, depth, levels)
        return bytes((kind,)) + self._branch(kind, keys, depth, levels)

    def _leaf(self, keys: range, _depth: int, _levels: int) -> bytes:
        chosen = self._chosen(keys)
        return _count(chosen - keys.start) + self.leaf_value(chosen)

    def _other(self, keys: range, depth: int, _levels: int) -> bytes:
        value = self.draw(st.binary(max_size=60))
        return self._path(keys, depth, max(64 - depth, 0)) + bytes((len(value),)) + value

    def _block(self, keys: range, depth: int, _levels: int) -> bytes:
        nibbles = self.draw(st.integers(0, 4) | st.just(64 - depth) | st.just(65))
        child = self.draw(_hashes.map(lambda hash_: b"\x00" + hash_) | _embedded)
        return bytes((max(nibbles, 0),)) + self._path(keys, depth, max(nibbles, 0)) + child

    def _pass(self, keys: range, depth: int, levels: int) -> bytes:
        chosen = self._chosen(keys)
        nibbles = self.draw(st.integers(0, 3) | st.integers(59, 62) | st.sampled_from((63, 64)))
        # Two of these lead to the last nibble, and behind it.
        nibbles = max(nibbles - depth, 0) if nibbles > 62 else nibbles
        which = _count(chosen - keys.start)
        path = self.paths[chosen][depth : depth + nibbles]
        passing = [key for key in keys if self.paths[key].startswith(path, depth)]
        keys = range(passing[0], passing[-1] + 1) if passing else keys
        below = self.node(keys, depth + nibbles, levels - 1)
        return which + bytes((nibbles,)) + below

    def _branch(self, kind: NodeKind, keys: range, depth: int, levels: int) -> bytes:
        masks, there, embedded = self._masks(kind)
        told = [masks]
        for nibble in range(16):
            below = [key for key in keys if self.paths[key][depth : depth + 1] == f"{nibble:x}"]
            if there >> nibble & 1 and below:
                told.append(self.node(range(below[0], below[-1] + 1), depth + 1, levels - 1))
            elif there >> nibble & 1:
                told.append(self.draw(_embedded if embedded >> nibble & 1 else _hashes))
        return b"".join(told)

    def _chain(self, keys: range, depth: int, levels: int) -> bytes:
        further = (
            st.integers(0, 3) | st.integers(0, 3) | st.sampled_from((-1, 63 - depth, 65 - depth))
        )
        last = max(depth + self.draw(further), 0)
        told = [bytes((last,)), self.node(keys, last, levels - 1)]
        path = self.paths[keys.start]
        while last > depth:
            kind = self.draw(st.sampled_from((NodeKind.FULL, NodeKind.BRANCH, NodeKind.MIXED)))
            if last - depth > 4 or self.draw(st.booleans()):
                nibbles = self.draw(
                    st.integers(0, last - depth) | st.integers(last - depth, last - depth + 1)
                )
                told.append(bytes((NodeKind.PASS, nibbles)))
                last -= nibbles
                continue
            last -= 1
            masks, there, embedded = self._masks(kind)
            told += [bytes((kind,)), masks]
            told += [
                self.draw(_embedded if embedded >> nibble & 1 else _hashes)
                for nibble in range(16)
                if there >> nibble & 1 and f"{nibble:x}" != path[last : last + 1]
            ]
        return b"".join(told)

    def _masks(self, kind: NodeKind) -> tuple[bytes, int, int]:
        if kind == NodeKind.FULL:
            return b"", 0xFFFF, 0
        # Not too many children, or a witness is nothing but made-up hashes.
        there = self.draw(st.integers(0, 0xFFFF)) & self.draw(st.integers(0, 0xFFFF)) | 2
        if kind == NodeKind.BRANCH:
            return _count(there), there, 0
        embedded = self.draw(st.integers(0, 0xFFFF))
        return _count(there) + _count(embedded), there, embedded

    def _chosen(self, keys: range) -> int:
        return self.draw(st.sampled_from(keys))

    def _path(self, keys: range, depth: int, nibbles: int) -> bytes:
        """Mostly a path that no key goes on with, in whole bytes, with any spare nibble."""
        spare = nibbles % 2
        own = self.paths[keys.start][depth : depth + nibbles].ljust(nibbles, "0")
        path = self.draw(st.sampled_from((own, "e" * nibbles, "e" * nibbles, "e" * nibbles)))
        return bytes.fromhex(self.draw(st.sampled_from("0f")) * spare + path)


def _number(draw: st.DrawFn) -> bytes:
    content = draw(st.binary(max_size=33))
    return bytes((len(content),)) + content


def _count(number: int) -> bytes:
    return number.to_bytes(2, "big")
