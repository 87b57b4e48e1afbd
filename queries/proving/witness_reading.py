"""Read a witness like the registry contract: rebuild the root, and return the proven accounts.

The result holds for every trie with the returned root. The caller has to compare that root with the
block's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from queries.proving.accounts import (
    ABSENT_ACCOUNT,
    ADDRESS_BYTES,
    AccountState,
    encode_account,
    encode_slot_value,
)
from queries.proving.errors import WitnessMalformedError
from queries.proving.keccak import (
    EMPTY_CODE_HASH,
    EMPTY_TRIE_ROOT,
    HASH_BYTES,
    keccak256,
    number_word,
)
from queries.proving.tries import KEY_DIGITS, NO_CHILD, Branch, Extension, Leaf, node_reference
from queries.proving.witnesses import (
    HAS_CODE,
    HAS_STORAGE,
    NodeKind,
    WitnessedAccount,
    WitnessReader,
)

_LENGTH_BITS = 0x3F
_NONCE_BYTES = 8
_LIST_PREFIX = 0xC0  # of RLP
_MAX_DEPTH = 64  # recursion levels of the contract, for accounts and slots; a chain is one level

RebuiltNodes = dict[bytes, bytes]  # encodings by hash


@dataclass(frozen=True, slots=True)
class WitnessReading:
    """The accounts that a witness proves for a block with this `state_root`, and its end."""

    state_root: bytes
    accounts: tuple[WitnessedAccount, ...]
    end: int


@dataclass(frozen=True, slots=True)
class _RequestedAccount:
    address_or_hash: bytes
    path: str
    mask: int
    slots: tuple[int, ...]


def read_witness(
    content: bytes,
    position: int = 0,
    *,
    hashed_addresses: bool = False,
    hashed_slots: bool = False,
    nodes: RebuiltNodes | None = None,
) -> WitnessReading:
    """Read the witness at `position`, which may have hashed addresses; add its nodes to `nodes`."""
    nodes = {} if nodes is None else nodes
    source = WitnessReader(content, position)
    requests = [
        _read_request(source, hashed_addresses=hashed_addresses) for _ in range(source.number(2))
    ]
    paths = [account.path for account in requests]
    check_ascending(paths)
    accounts: dict[str, WitnessedAccount] = {}

    def read_leaf(index: int) -> bytes:
        account = requests[index]
        state, slots = _read_account(source, account.slots, nodes, hashed_slots=hashed_slots)
        accounts[account.path] = WitnessedAccount(
            account.address_or_hash, account.mask, exists=True, state=state, slots=slots
        )
        return encode_account(state)

    def mark_absent(index: int) -> None:
        account = requests[index]
        zeros = dict.fromkeys(account.slots, 0)
        accounts[account.path] = WitnessedAccount(
            account.address_or_hash, account.mask, exists=False, state=ABSENT_ACCOUNT, slots=zeros
        )

    root = TrieWalk(source, paths, read_leaf, mark_absent, nodes).root()
    return WitnessReading(root, tuple(accounts[path] for path in paths), source.position)


def _read_request(source: WitnessReader, *, hashed_addresses: bool) -> _RequestedAccount:
    address_or_hash = source.take(HASH_BYTES if hashed_addresses else ADDRESS_BYTES)
    mask = source.number(1)
    slots = tuple(source.number(HASH_BYTES) for _ in range(source.number(2)))
    path = address_or_hash if hashed_addresses else keccak256(address_or_hash)
    return _RequestedAccount(address_or_hash, path.hex(), mask, slots)


def _read_account(
    source: WitnessReader, slots: tuple[int, ...], nodes: RebuiltNodes, *, hashed_slots: bool
) -> tuple[AccountState, dict[int, int]]:
    flags = source.number(1)
    nonce_length = source.number(1)
    balance = source.number(check_length(flags & _LENGTH_BITS))
    nonce = source.number(check_length(nonce_length, _NONCE_BYTES))
    values: dict[int, int] = {}
    storage_root = EMPTY_TRIE_ROOT
    if slots:
        storage_root, values = _read_storage(source, slots, nodes, hashed_slots=hashed_slots)
    elif flags & HAS_STORAGE:
        storage_root = source.take(HASH_BYTES)
    code_hash = source.take(HASH_BYTES) if flags & HAS_CODE else EMPTY_CODE_HASH
    return AccountState(nonce, balance, storage_root, code_hash), values


def _read_storage(
    source: WitnessReader, slots: tuple[int, ...], nodes: RebuiltNodes, *, hashed_slots: bool
) -> tuple[bytes, dict[int, int]]:
    words = [number_word(slot) for slot in slots]
    paths = [(word if hashed_slots else keccak256(word)).hex() for word in words]
    check_ascending(paths)
    values: dict[int, int] = {}

    def read_leaf(index: int) -> bytes:
        value = values[slots[index]] = source.number(check_length(source.number(1)))
        return encode_slot_value(value)

    def mark_absent(index: int) -> None:
        values[slots[index]] = 0

    root = TrieWalk(source, paths, read_leaf, mark_absent, nodes).root()
    return root, {slot: values[slot] for slot in slots}


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
    nodes: RebuiltNodes

    def root(self) -> bytes:
        node = self._node(range(len(self.paths)), 0)
        root = keccak256(node)
        self.nodes[root] = node
        return root

    def _child(self, node: bytes) -> bytes:
        """Store a rebuilt node, and return its parent's reference to it."""
        if node == b"\x80":
            return NO_CHILD
        reference = node_reference(node)
        if len(reference) == HASH_BYTES:
            self.nodes[reference] = node
        return reference

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
        rebuilders: dict[int, Callable[[range, int], bytes]] = {
            NodeKind.PASS: self._shared_extension,
            NodeKind.MISS: self._foreign_extension,
            NodeKind.LEAF: self._key_leaf,
            NodeKind.OTHER: self._foreign_leaf,
            NodeKind.NONE: self._empty,
            NodeKind.CHAIN: self._chain,
        }
        rebuild = rebuilders.get(kind)
        if rebuild is None:
            raise WitnessMalformedError(f"{kind} is not a kind of node")
        return rebuild(keys, depth)

    def _chain(self, keys: range, depth: int) -> bytes:
        """Rebuild the path of a single key, from its last node upwards."""
        if len(keys) != 1:
            raise WitnessMalformedError(f"a chain has {len(keys)} keys")
        path = self.paths[keys[0]]
        level_depth = self.source.number(1)
        if level_depth <= depth:
            raise WitnessMalformedError(f"a chain from depth {depth} ends at {level_depth}")
        node = self._descend(keys, level_depth)
        while level_depth > depth:
            kind = self.source.number(1)
            child = self._child(node)
            if kind <= NodeKind.MIXED:
                level_depth -= 1
                node = self._branch_above(kind, int(path[level_depth], 16), child)
            elif kind == NodeKind.PASS:
                nibbles = self.source.number(1)
                if nibbles > level_depth - depth:
                    raise WitnessMalformedError(f"a path of {nibbles} nibbles above {level_depth}")
                level_depth -= nibbles
                node = Extension(path[level_depth : level_depth + nibbles], child).encode()
            else:
                raise WitnessMalformedError(f"{kind} is not a kind of inner node")
        return node

    def _branch_above(self, kind: int, own_nibble: int, child: bytes) -> bytes:
        if kind == NodeKind.FULL and len(child) == HASH_BYTES:
            children = [self.source.take(HASH_BYTES) for _ in range(15)]
            children.append(children[own_nibble] if own_nibble < len(children) else child)
            children[own_nibble] = child
            return Branch(tuple(children)).encode()
        masks = self._masks(kind)
        return Branch(
            tuple(
                child if nibble == own_nibble else self._sibling(nibble, *masks)
                for nibble in range(16)
            )
        ).encode()

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
