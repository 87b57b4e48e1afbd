"""What a call of `prove()` brings to a registry, by a reader of the checker's own.

The form is told at the top of `FactsRegistry.sol`, `CompactHeader.sol` and `TrieWitness.sol`. Only
where things end is followed here: whether they are true the registry has decided.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from eth_utils.crypto import keccak

PROVE = keccak(text="prove()")[:4]
ACCOUNT_FIELD = "tryAccountField(address,uint256,uint8)"
SLOT = "tryAccountStorageSlotValues(address,uint256,bytes32)"
HEADER_FIELD = "tryHeaderField(uint256,uint8)"
TIME = "tryBlockNumberAt(uint256)"
HEADER = "accumulated(uint256)"

ACCUMULATED_BLOCK, HEADERS = 1, 2  # sections
NO_UNCLES, PARENT_KNOWN, BEACON_KNOWN, ACCUMULATE, WITNESS, FIELDS, TIMESTAMPS = (
    1 << bit for bit in range(7)
)
FULL, BRANCH, MIXED, PASS, MISS, LEAF, OTHER, NONE, CHAIN = range(9)  # nodes
HASH, ALL = 32, 0xFFFF


@dataclass(frozen=True, order=True)
class Brought:
    """One thing that a registry is to keep: the getter that tells of it, and what that is asked."""

    getter: str
    words: tuple[int, ...]

    @property
    def question(self) -> str:
        """The calldata. In the answer the first word is zero where it is not kept."""
        words = "".join(f"{each:064x}" for each in self.words)
        return f"0x{keccak(text=self.getter)[:4].hex()}{words}"

    def __str__(self) -> str:
        return f"{self.getter.partition('(')[0]}({', '.join(map(hex, self.words))})"


def brought_by(call: bytes) -> list[Brought]:
    """In the order of the calldata; nothing where the call is another one."""
    return list(_Reader(call).read()) if call.startswith(PROVE) else []


@dataclass(frozen=True)
class _Key:
    """An account or a slot that a witness is about."""

    path: str  # 64 hex digits
    slots: tuple["_Key", ...] = ()


class _Reader:
    def __init__(self, call: bytes) -> None:
        self.call = call
        self.position = len(PROVE)

    def read(self) -> Iterator[Brought]:
        while self.position < len(self.call):
            kind = self._number(1)
            if kind == ACCUMULATED_BLOCK:
                block = self._number(8)
                self._take(8 + HASH)
                yield from self._witness(block)
            elif kind == HEADERS:
                for place in range(self._number(2)):
                    yield from self._header(first=place == 0)
            else:
                raise ValueError(f"{kind} begins no section")

    def _take(self, length: int) -> bytes:
        taken = self.call[self.position : self.position + length]
        if len(taken) < length:
            raise ValueError("the call ends too early")
        self.position += length
        return taken

    def _number(self, length: int) -> int:
        return int.from_bytes(self._take(length))

    def _header(self, *, first: bool) -> Iterator[Brought]:
        flags = self._number(1)
        self._take(HASH if first and not flags & PARENT_KNOWN else 0)
        self._take(0 if flags & NO_UNCLES else HASH)
        self._take(20 + (0 if flags & WITNESS else HASH) + HASH + HASH + 256)
        block = _number_of_tail(self._take(self._number(2)))
        self._take(1 if flags & BEACON_KNOWN else 0)
        if flags & WITNESS:
            yield from self._witness(block)
        if flags & FIELDS:
            for field in _bits(self._number(4)):
                yield Brought(HEADER_FIELD, (block, field))
        if flags & TIMESTAMPS:
            for _ in range(self._number(1)):
                yield Brought(TIME, (self._number(8),))
        if flags & ACCUMULATE:
            yield Brought(HEADER, (block,))

    def _witness(self, block: int) -> Iterator[Brought]:
        keys = []
        for _ in range(self._number(2)):
            name = self._take(20)
            account, mask = int.from_bytes(name), self._number(1)
            slots = [self._take(HASH) for _ in range(self._number(2))]
            for field in _bits(mask):
                yield Brought(ACCOUNT_FIELD, (account, block, field))
            for slot in slots:
                yield Brought(SLOT, (account, block, int.from_bytes(slot)))
            paths = tuple(_Key(keccak(slot).hex()) for slot in slots)
            keys.append(_Key(keccak(name).hex(), paths))
        self._node(keys, 0, self._account)

    def _account(self, key: _Key) -> None:
        form, nonce = self._number(1), self._number(1)
        self._take((form & 0x3F) + nonce)
        if key.slots:
            self._node(key.slots, 0, lambda _: self._take(self._number(1)))
        else:
            self._take(HASH if form & 0x40 else 0)
        self._take(HASH if form & 0x80 else 0)

    def _node(self, keys: Sequence[_Key], depth: int, leaf: Callable[[_Key], object]) -> None:
        """To behind the node that covers these keys."""
        kind = self._number(1)
        if kind <= MIXED:
            self._branch(kind, keys, depth, leaf)
        elif kind == PASS:
            passing, end = keys[self._number(2)].path, depth + self._number(1)
            part = passing[depth:end]
            self._node([each for each in keys if each.path[depth:end] == part], end, leaf)
        elif kind == LEAF:
            leaf(keys[self._number(2)])
        elif kind == CHAIN:
            self._chain(keys, depth, leaf)
        else:
            self._beside(kind, depth)

    def _beside(self, kind: int, depth: int) -> None:
        """A node that none of the keys passes."""
        if kind == OTHER:
            self._take((64 - depth + 1) // 2)
            self._take(self._number(1))
        elif kind == MISS:
            self._take((self._number(1) + 1) // 2)
            is_hash = self.call[self.position] == 0
            self._take(1 if is_hash else 0)
            self._sibling(there=1, embedded=not is_hash)
        elif kind != NONE:
            raise ValueError(f"{kind} is no kind of node")

    def _branch(
        self, kind: int, keys: Sequence[_Key], depth: int, leaf: Callable[[_Key], object]
    ) -> None:
        there, embedded = self._masks(kind)
        for digit in range(16):
            below = [each for each in keys if int(each.path[depth], 16) == digit]
            if not below:
                self._sibling(there >> digit & 1, embedded >> digit & 1)
            elif there >> digit & 1:
                self._node(below, depth + 1, leaf)

    def _chain(self, keys: Sequence[_Key], depth: int, leaf: Callable[[_Key], object]) -> None:
        (key,) = keys
        above = self._number(1)
        self._node(keys, above, leaf)
        while above > depth:
            kind = self._number(1)
            if kind == PASS:
                above -= self._number(1)
                continue
            above -= 1
            there, embedded = self._masks(kind)
            for digit in range(16):
                if digit != int(key.path[above], 16):
                    self._sibling(there >> digit & 1, embedded >> digit & 1)

    def _masks(self, kind: int) -> tuple[int, int]:
        if kind > MIXED:
            raise ValueError(f"{kind} is no branch")
        there = ALL if kind == FULL else self._number(2)
        return there, self._number(2) if kind == MIXED else 0

    def _sibling(self, there: int, embedded: int) -> None:
        if there:
            self._take(self.call[self.position] - 0xBF if embedded else HASH)


def _bits(mask: int) -> Iterator[int]:
    return (bit for bit in range(mask.bit_length()) if mask >> bit & 1)


def _number_of_tail(tail: bytes) -> int:
    """The block's: the second of its strings, behind the difficulty; none of them is long."""
    start = end = 0
    for _ in range(2):
        head = tail[end]
        start, length = (end + 1, head - 0x80) if head >= 0x80 else (end, 1)
        end = start + length
    return int.from_bytes(tail[start:end])
