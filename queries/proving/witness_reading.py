"""Read a witness as the registry does: rebuild the root, and report what holds under it.

This is the contract's mirror, node for node. What it reports is true of every trie that has the
root it returns; whether that root is the block's is the caller's to compare.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from queries.proving.accounts import ABSENT_ACCOUNT, AccountState, encode_account, encode_slot_value
from queries.proving.errors import WitnessMalformed
from queries.proving.keccak import (
    EMPTY_CODE_HASH,
    EMPTY_TRIE_ROOT,
    HASH_BYTES,
    keccak256,
    number_word,
)
from queries.proving.tries import KEY_DIGITS, NO_CHILD, Branch, Extension, Leaf, reference_to
from queries.proving.witnesses import (
    HAS_CODE,
    HAS_STORAGE,
    NodeKind,
    WitnessBytes,
    WitnessedAccount,
)

ADDRESS_BYTES = 20
_LENGTH_BITS = 0x3F
_NONCE_BYTES = 8
_MOST_LEVELS = 64  # that the contract goes down, accounts and slots together; a chain is one

RebuiltNodes = dict[bytes, bytes]  # their encodings, by their hashes


@dataclass(frozen=True, slots=True)
class WitnessReading:
    """What a witness shows, if `state_root` is the block's, and where its bytes end."""

    state_root: bytes
    accounts: tuple[WitnessedAccount, ...]
    end: int


@dataclass(frozen=True, slots=True)
class _Asked:
    name: bytes
    path: str
    mask: int
    slots: tuple[int, ...]


def read_witness(
    content: bytes,
    position: int = 0,
    *,
    by_hash: bool = False,
    slots_by_hash: bool = False,
    rebuilt: RebuiltNodes | None = None,
) -> WitnessReading:
    """Read the witness at `position`.

    `by_hash` where it names accounts by their hashes, `slots_by_hash` where it names slots so.
    The nodes on the way are added to `rebuilt`.
    """
    rebuilt = {} if rebuilt is None else rebuilt
    source = WitnessBytes(content, position)
    asked = [_read_asked(source, by_hash=by_hash) for _ in range(source.number(2))]
    _refuse_disorder([account.path for account in asked])
    accounts: dict[str, WitnessedAccount] = {}

    def present(index: int) -> bytes:
        account = asked[index]
        state, slots = _read_account(source, account.slots, rebuilt, slots_by_hash=slots_by_hash)
        accounts[account.path] = WitnessedAccount(
            account.name, account.mask, exists=True, state=state, slots=slots
        )
        return encode_account(state)

    def absent(index: int) -> None:
        account = asked[index]
        zeros = dict.fromkeys(account.slots, 0)
        accounts[account.path] = WitnessedAccount(
            account.name, account.mask, exists=False, state=ABSENT_ACCOUNT, slots=zeros
        )

    walk = _Walk(source, [account.path for account in asked], present, absent, rebuilt)
    root = walk.root()
    return WitnessReading(root, tuple(accounts[account.path] for account in asked), source.position)


def _read_asked(source: WitnessBytes, *, by_hash: bool) -> _Asked:
    name = source.take(HASH_BYTES if by_hash else ADDRESS_BYTES)
    mask = source.number(1)
    slots = tuple(source.number(HASH_BYTES) for _ in range(source.number(2)))
    return _Asked(name, (name if by_hash else keccak256(name)).hex(), mask, slots)


def _read_account(
    source: WitnessBytes, slots: tuple[int, ...], rebuilt: RebuiltNodes, *, slots_by_hash: bool
) -> tuple[AccountState, dict[int, int]]:
    form = source.number(1)
    nonce_length = source.number(1)
    balance = source.number(_at_most(form & _LENGTH_BITS))
    nonce = source.number(_at_most(nonce_length, _NONCE_BYTES))
    values: dict[int, int] = {}
    storage_root = EMPTY_TRIE_ROOT
    if slots:
        storage_root, values = _read_storage(source, slots, rebuilt, by_hash=slots_by_hash)
    elif form & HAS_STORAGE:
        storage_root = source.take(HASH_BYTES)
    code_hash = source.take(HASH_BYTES) if form & HAS_CODE else EMPTY_CODE_HASH
    return AccountState(nonce, balance, storage_root, code_hash), values


def _read_storage(
    source: WitnessBytes, slots: tuple[int, ...], rebuilt: RebuiltNodes, *, by_hash: bool
) -> tuple[bytes, dict[int, int]]:
    words = [number_word(slot) for slot in slots]
    paths = [(word if by_hash else keccak256(word)).hex() for word in words]
    _refuse_disorder(paths)
    values: dict[int, int] = {}

    def present(index: int) -> bytes:
        value = values[slots[index]] = source.number(_at_most(source.number(1)))
        return encode_slot_value(value)

    def absent(index: int) -> None:
        values[slots[index]] = 0

    root = _Walk(source, paths, present, absent, rebuilt).root()
    return root, {slot: values[slot] for slot in slots}


def _refuse_disorder(paths: Sequence[str]) -> None:
    for index, (before, path) in enumerate(pairwise(paths), 1):
        if path <= before:
            raise WitnessMalformed(f"key {index} does not come after the one before it")


def _at_most(length: int, limit: int = HASH_BYTES) -> int:
    if length > limit:
        raise WitnessMalformed(f"a number of {length} bytes; it has {limit} at most")
    return length


@dataclass(frozen=True, slots=True)
class _Walk:
    """A walk through one trie."""

    source: WitnessBytes
    paths: Sequence[str]
    present: Callable[[int], bytes]
    absent: Callable[[int], None]
    rebuilt: RebuiltNodes

    def root(self) -> bytes:
        node = self._node(range(len(self.paths)), 0)
        root = keccak256(node)
        self.rebuilt[root] = node
        return root

    def _child(self, node: bytes) -> bytes:
        """How the node above refers to this one, which is rebuilt."""
        if node == b"\x80":
            return NO_CHILD
        reference = reference_to(node)
        if len(reference) == HASH_BYTES:
            self.rebuilt[reference] = node
        return reference

    def _deeper(self, keys: range, depth: int) -> bytes:
        """One level of the recursion further down."""
        if self.source.level == _MOST_LEVELS:
            raise WitnessMalformed(f"the witness nests deeper than {_MOST_LEVELS} levels")
        self.source.level += 1
        node = self._node(keys, depth)
        self.source.level -= 1
        return node

    def _node(self, keys: range, depth: int) -> bytes:
        """The encoding of the node that covers these keys, which agree in `depth` nibbles."""
        if depth > KEY_DIGITS:
            raise WitnessMalformed(f"a node is at depth {depth} of {KEY_DIGITS}")
        kind = self.source.number(1)
        if kind <= NodeKind.MIXED:
            return self._branch(kind, keys, depth)
        rebuilders: dict[int, Callable[[range, int], bytes]] = {
            NodeKind.PASS: self._pass,
            NodeKind.MISS: self._miss,
            NodeKind.LEAF: self._leaf,
            NodeKind.OTHER: self._other,
            NodeKind.NONE: self._none,
            NodeKind.CHAIN: self._chain,
        }
        rebuild = rebuilders.get(kind)
        if rebuild is None:
            raise WitnessMalformed(f"{kind} is no kind of node")
        return rebuild(keys, depth)

    def _chain(self, keys: range, depth: int) -> bytes:
        """The last node of a key that is alone, and from there upwards those above it."""
        if len(keys) != 1:
            raise WitnessMalformed(f"a chain is shown where {len(keys)} keys lie")
        path = self.paths[keys[0]]
        above = self.source.number(1)
        if above <= depth:
            raise WitnessMalformed(f"a chain that begins at depth {depth} ends at {above}")
        node = self._deeper(keys, above)
        while above > depth:
            kind = self.source.number(1)
            child = self._child(node)
            if kind <= NodeKind.MIXED:
                above -= 1
                node = self._branch_above(kind, int(path[above], 16), child)
            elif kind == NodeKind.PASS:
                nibbles = self.source.number(1)
                if nibbles > above - depth:
                    raise WitnessMalformed(f"an extension of {nibbles} nibbles above {above}")
                above -= nibbles
                node = Extension(path[above : above + nibbles], child).encode()
            else:
                raise WitnessMalformed(f"{kind} is no kind of node above another")
        return node

    def _branch_above(self, kind: int, own: int, child: bytes) -> bytes:
        if kind == NodeKind.FULL and len(child) == HASH_BYTES:
            children = [self.source.take(HASH_BYTES) for _ in range(15)]
            children.append(children[own] if own < len(children) else child)
            children[own] = child
            return Branch(tuple(children)).encode()
        there, embedded = self._masks(kind)
        return Branch(
            tuple(
                child
                if nibble == own
                else self._sibling(there >> nibble & 1, embedded >> nibble & 1)
                for nibble in range(16)
            )
        ).encode()

    def _branch(self, kind: int, keys: range, depth: int) -> bytes:
        if depth == KEY_DIGITS:
            raise WitnessMalformed("a branch is below the last nibble of the keys")
        there, embedded = self._masks(kind)
        children = []
        for nibble in range(16):
            below = self._matching(keys, depth, f"{nibble:x}")
            if there >> nibble & 1 and below:
                children.append(self._child(self._deeper(below, depth + 1)))
            else:
                self._all_absent(below)
                children.append(self._sibling(there >> nibble & 1, embedded >> nibble & 1))
        return Branch(tuple(children)).encode()

    def _masks(self, kind: int) -> tuple[int, int]:
        there = 0xFFFF if kind == NodeKind.FULL else self.source.number(2)
        return there, self.source.number(2) if kind == NodeKind.MIXED else 0

    def _sibling(self, there: int, embedded: int) -> bytes:
        if not there:
            return NO_CHILD
        return self._embedded() if embedded else self.source.take(HASH_BYTES)

    def _pass(self, keys: range, depth: int) -> bytes:
        chosen = self.paths[self._chosen(keys)]
        nibbles = self._nibbles(depth)
        if not nibbles:
            raise WitnessMalformed(f"an extension of no nibbles at depth {depth}")
        path = chosen[depth : depth + nibbles]
        below = self._matching(keys, depth, path)
        self._all_absent(range(keys.start, below.start))
        self._all_absent(range(below.stop, keys.stop))
        return Extension(path, self._child(self._deeper(below, depth + nibbles))).encode()

    def _miss(self, keys: range, depth: int) -> bytes:
        nibbles = self._nibbles(depth)
        path = self._foreign_path(keys, depth, nibbles)
        if self.source.content[self.source.position : self.source.position + 1] == b"\x00":
            self.source.take(1)
            return Extension(path, self.source.take(HASH_BYTES)).encode()
        return Extension(path, self._embedded()).encode()

    def _leaf(self, keys: range, depth: int) -> bytes:
        owner = self._chosen(keys)
        self._all_absent(range(keys.start, owner))
        self._all_absent(range(owner + 1, keys.stop))
        return Leaf(self.paths[owner][depth:], self.present(owner)).encode()

    def _other(self, keys: range, depth: int) -> bytes:
        path = self._foreign_path(keys, depth, KEY_DIGITS - depth)
        return Leaf(path, self.source.take(self.source.number(1))).encode()

    def _none(self, keys: range, _depth: int) -> bytes:
        self._all_absent(keys)
        return b"\x80"

    def _matching(self, keys: range, depth: int, path: str) -> range:
        """Those of the keys that go on with `path`; they ascend, so these are adjacent."""
        matching = [key for key in keys if self.paths[key].startswith(path, depth)]
        return range(matching[0], matching[-1] + 1) if matching else range(keys.stop, keys.stop)

    def _chosen(self, keys: range) -> int:
        offset = self.source.number(2)
        if offset >= len(keys):
            raise WitnessMalformed(f"key {offset} of {len(keys)} is said to be here")
        return keys[offset]

    def _nibbles(self, depth: int) -> int:
        nibbles = self.source.number(1)
        if depth + nibbles > KEY_DIGITS:
            raise WitnessMalformed(f"an extension of {nibbles} nibbles below {depth}")
        return nibbles

    def _foreign_path(self, keys: range, depth: int, nibbles: int) -> str:
        """A path that none of the keys goes on with, so that all of them are absent."""
        packed = self.source.take((nibbles + 1) // 2).hex()
        path = packed[len(packed) - nibbles :]
        for key in keys:
            if self.paths[key].startswith(path, depth):
                raise WitnessMalformed(f"key {key} is said to be absent, and lies on the path")
        self._all_absent(keys)
        return path

    def _embedded(self) -> bytes:
        first = self.source.number(1)
        if not 0xC0 < first <= 0xDE:  # noqa: PLR2004
            raise WitnessMalformed("an embedded node is no list of less than 32 bytes")
        return bytes((first,)) + self.source.take(first - 0xC0)

    def _all_absent(self, keys: range) -> None:
        for key in keys:
            self.absent(key)
