"""Read a witness of accounts like the registry contract: rebuild the root, and return the accounts.

The contract is compared with it.
"""

from collections.abc import Callable
from dataclasses import dataclass

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
from queries.proving.tries import Branch, Extension
from queries.proving.witness_reading import TrieWalk, check_ascending, check_length
from queries.proving.witnesses import HAS_CODE, HAS_STORAGE, NodeKind, WitnessReader

_LENGTH_BITS = 0x3F
_NONCE_BYTES = 8


@dataclass(frozen=True, slots=True)
class WitnessedAccount:
    """The state and slots of an account that a witness proves."""

    address_or_hash: bytes
    mask: int
    exists: bool
    state: AccountState
    slots: dict[int, int]


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
    content: bytes, position: int = 0, *, hashed_addresses: bool = False, hashed_slots: bool = False
) -> WitnessReading:
    """Read the witness at `position`, which may have hashed addresses."""
    source = WitnessReader(content, position)
    requests = [
        _read_request(source, hashed_addresses=hashed_addresses) for _ in range(source.number(2))
    ]
    paths = [account.path for account in requests]
    check_ascending(paths)
    accounts: dict[str, WitnessedAccount] = {}

    def read_leaf(index: int) -> bytes:
        account = requests[index]
        state, slots = _read_account(source, account.slots, hashed_slots=hashed_slots)
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

    root = AccountWalk(source, paths, read_leaf, mark_absent).root()
    return WitnessReading(root, tuple(accounts[path] for path in paths), source.position)


def _read_request(source: WitnessReader, *, hashed_addresses: bool) -> _RequestedAccount:
    address_or_hash = source.take(HASH_BYTES if hashed_addresses else ADDRESS_BYTES)
    mask = source.number(1)
    slots = tuple(source.number(HASH_BYTES) for _ in range(source.number(2)))
    path = address_or_hash if hashed_addresses else keccak256(address_or_hash)
    return _RequestedAccount(address_or_hash, path.hex(), mask, slots)


def _read_account(
    source: WitnessReader, slots: tuple[int, ...], *, hashed_slots: bool
) -> tuple[AccountState, dict[int, int]]:
    flags = source.number(1)
    nonce_length = source.number(1)
    balance = source.number(check_length(flags & _LENGTH_BITS))
    nonce = source.number(check_length(nonce_length, _NONCE_BYTES))
    values: dict[int, int] = {}
    storage_root = EMPTY_TRIE_ROOT
    if slots:
        storage_root, values = _read_storage(source, slots, hashed_slots=hashed_slots)
    elif flags & HAS_STORAGE:
        storage_root = source.take(HASH_BYTES)
    code_hash = source.take(HASH_BYTES) if flags & HAS_CODE else EMPTY_CODE_HASH
    return AccountState(nonce, balance, storage_root, code_hash), values


def _read_storage(
    source: WitnessReader, slots: tuple[int, ...], *, hashed_slots: bool
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

    root = AccountWalk(source, paths, read_leaf, mark_absent).root()
    return root, {slot: values[slot] for slot in slots}


class AccountWalk(TrieWalk):
    """A walk through a trie with keys of 32 bytes, which may have chains."""

    def _rebuilders(self) -> dict[int, Callable[[range, int], bytes]]:
        return {**super()._rebuilders(), NodeKind.CHAIN: self._chain}

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
