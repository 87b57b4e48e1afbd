"""Accounts and slots: the values of their leaves (yellow paper, 4.1), and the proofs of both.

An `eth_getProof` answer is checked against a state root. Values are read from the proof nodes; the
values that the answer states must agree, because a node that contradicts its proof lies.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from queries.proving.errors import (
    AccountMismatchError,
    AnswerMalformedError,
    ArgumentMalformedError,
    RlpMalformedError,
    SlotMismatchError,
    ValueNotCanonicalError,
)
from queries.proving.json_values import (
    read_bytes,
    read_fixed_bytes,
    read_list,
    read_object,
    read_quantity,
)
from queries.proving.keccak import (
    EMPTY_CODE_HASH,
    EMPTY_TRIE_ROOT,
    HASH_BYTES,
    keccak256,
    number_word,
)
from queries.proving.rlp_items import (
    encode_integer,
    encode_list,
    encode_string,
    read_integer,
    read_string,
    split_list,
)
from queries.proving.tries import (
    MAX_NODE_BYTES,
    MAX_PROOF_NODES,
    CheckedNodes,
    ProvenPath,
    check_proof,
    path_nodes,
)

ADDRESS_BYTES = 20
WORD_LIMIT = 2**256
_ACCOUNT_ITEMS = 4
_MAX_NONCE_BYTES = 8
_MAX_WORD_BYTES = 32
_HASH_WIDTHS = [HASH_BYTES, HASH_BYTES]
# For an absent account, nodes state hashes of zero in some form (geth) or those of an empty account
# (Nethermind, Reth).
_ZERO_HASH = re.compile(r"0x0{0,64}")


@dataclass(frozen=True, slots=True)
class AccountState:
    """An account's record in the state trie."""

    nonce: int
    balance: int
    storage_root: bytes
    code_hash: bytes

    @property
    def words(self) -> tuple[bytes, bytes, bytes, bytes]:
        """The words that a registry stores, in the order of `AccountField`."""
        numbers = number_word(self.nonce), number_word(self.balance)
        return *numbers, self.storage_root, self.code_hash


# The state that is proven by an account's absence from the trie.
ABSENT_ACCOUNT = AccountState(0, 0, EMPTY_TRIE_ROOT, EMPTY_CODE_HASH)


def decode_account(leaf_value: bytes) -> AccountState:
    """Read the value of a leaf of the state trie."""
    try:
        items = split_list(leaf_value)
        if len(items) != _ACCOUNT_ITEMS:
            raise ValueNotCanonicalError(f"an account has 4 items, not {len(items)}")
        nonce, balance, storage_root, code_hash = map(read_string, items)
        state = AccountState(read_integer(nonce), read_integer(balance), storage_root, code_hash)
    except RlpMalformedError as error:
        raise ValueNotCanonicalError(f"a proven account is not canonical: {error}") from error
    widths = [len(item) for item in (nonce, balance, storage_root, code_hash)]
    if widths[0] > _MAX_NONCE_BYTES or widths[1] > _MAX_WORD_BYTES or widths[2:] != _HASH_WIDTHS:
        raise ValueNotCanonicalError(f"an account has fields of {widths} bytes")
    return state


def encode_account(state: AccountState) -> bytes:
    """Write the value of a leaf of the state trie."""
    numbers = encode_integer(state.nonce), encode_integer(state.balance)
    hashes = encode_string(state.storage_root), encode_string(state.code_hash)
    return encode_list(numbers + hashes)


def decode_slot_value(leaf_value: bytes) -> int:
    """Read the value of a storage leaf. Some development nodes keep a zero for a cleared slot."""
    try:
        payload = read_string(leaf_value)
        value = read_integer(payload)
    except RlpMalformedError as error:
        raise ValueNotCanonicalError(f"a proven slot's value is not canonical: {error}") from error
    if len(payload) > _MAX_WORD_BYTES:
        raise ValueNotCanonicalError(f"a proven slot's value has {len(payload)} bytes")
    return value


def encode_slot_value(value: int) -> bytes:
    """Write the value of a leaf of a storage trie."""
    return encode_integer(value)


@dataclass(frozen=True, slots=True)
class SlotProof:
    """A storage slot's proven value; zero if the account's trie does not have it."""

    slot: int
    value: int
    path: ProvenPath

    @classmethod
    def of_path(cls, slot: int, path: ProvenPath) -> Self:
        return cls(slot, 0 if path.value is None else decode_slot_value(path.value), path)


@dataclass(frozen=True, slots=True)
class AccountProof:
    """An account's proven state, and its slots in the requested order."""

    state_root: bytes
    address: bytes | None  # None if only its hash was given
    address_hash: bytes
    exists: bool
    state: AccountState
    path: ProvenPath
    slots: tuple[SlotProof, ...]


def check_account_proof(
    answer: object,
    state_root: bytes,
    account: bytes,
    slots: Sequence[int] = (),
    checked_nodes: CheckedNodes | None = None,
) -> AccountProof:
    """Check the answer for an account, given by its address or, in 32 bytes, the address's hash.

    Callers with many accounts of one state root pass `checked_nodes`; see `CheckedNodes`.
    """
    if len(account) not in (ADDRESS_BYTES, HASH_BYTES):
        raise ArgumentMalformedError(f"an account of {len(account)} bytes; an address has 20")
    if not all(0 <= slot < WORD_LIMIT for slot in slots):
        raise ArgumentMalformedError("a slot is not an integer of 256 bits")
    fields = read_object(answer, "an eth_getProof answer")
    address = account if len(account) == ADDRESS_BYTES else None
    address_hash = account if address is None else keccak256(address)
    _compare_address(fields, address)
    proof = _read_proof(fields.get("accountProof"), "accountProof")
    path = check_proof(state_root, address_hash, proof, checked_nodes)
    exists = path.value is not None
    state = ABSENT_ACCOUNT if path.value is None else decode_account(path.value)
    _compare_state(fields, state, exists=exists)
    slot_proofs = _check_slots(fields, state.storage_root, slots)
    return AccountProof(state_root, address, address_hash, exists, state, path, slot_proofs)


def rebuild_account_proof(
    state_root: bytes,
    address: bytes,
    slots: Sequence[int],
    nodes: Mapping[bytes, bytes],
    checked_nodes: CheckedNodes,
) -> AccountProof:
    """Rebuild and check the proof of an account and its slots from trie nodes by hash.

    Raises `TrieNodeMissingError` if a node is missing.
    """

    def check_path(root: bytes, key: bytes) -> ProvenPath:
        return check_proof(root, key, path_nodes(root, key, nodes), checked_nodes)

    address_hash = keccak256(address)
    path = check_path(state_root, address_hash)
    exists = path.value is not None
    state = ABSENT_ACCOUNT if path.value is None else decode_account(path.value)
    slot_proofs = tuple(
        SlotProof.of_path(slot, check_path(state.storage_root, keccak256(number_word(slot))))
        for slot in slots
    )
    return AccountProof(state_root, address, address_hash, exists, state, path, slot_proofs)


def root_of_answer(answer: object) -> bytes:
    """The state root that the answer claims. It is not checked."""
    fields = read_object(answer, "an eth_getProof answer")
    proof = _read_proof(fields.get("accountProof"), "accountProof")
    if not proof:
        raise AnswerMalformedError("a proof without nodes has no root")
    return keccak256(proof[0])


def _check_slots(
    fields: dict[str, object], storage_root: bytes, slots: Sequence[int]
) -> tuple[SlotProof, ...]:
    # Some nodes leave the list out if no slot was requested.
    proofs = fields.get("storageProof")
    entries = [] if proofs is None else read_list(proofs, "storageProof", max(len(slots), 1))
    if len(entries) != len(slots):
        raise SlotMismatchError(f"{len(slots)} slots were requested, and {len(entries)} answered")
    checked_nodes = CheckedNodes()
    return tuple(
        _check_slot(read_object(entry, f"storageProof[{index}]"), storage_root, slot, checked_nodes)
        for index, (entry, slot) in enumerate(zip(entries, slots, strict=True))
    )


def _check_slot(
    entry: dict[str, object], storage_root: bytes, slot: int, checked_nodes: CheckedNodes
) -> SlotProof:
    name = f"slot {slot:#x}"
    stated_slot = read_quantity(entry.get("key"), f"key of {name}")
    if stated_slot != slot:
        raise SlotMismatchError(f"{name} was requested, and slot {stated_slot:#x} answered")
    key = keccak256(number_word(slot))
    proof = _read_proof(entry.get("proof"), f"proof of {name}")
    slot_proof = SlotProof.of_path(slot, check_proof(storage_root, key, proof, checked_nodes))
    stated_value = read_quantity(entry.get("value"), f"value of {name}")
    if stated_value != slot_proof.value:
        raise SlotMismatchError(
            f"{name} is stated as {stated_value:#x}, proven as {slot_proof.value:#x}"
        )
    return slot_proof


def _read_proof(value: object, name: str) -> list[bytes]:
    entries = read_list(value, name, MAX_PROOF_NODES)
    return [read_bytes(entry, name, MAX_NODE_BYTES) for entry in entries]


def _compare_address(fields: dict[str, object], address: bytes | None) -> None:
    stated_address = fields.get("address")
    if stated_address is None or address is None:
        return
    if read_fixed_bytes(stated_address, "address", ADDRESS_BYTES) != address:
        raise AccountMismatchError(f"account 0x{address.hex()} was requested, not {stated_address}")


def _compare_state(fields: dict[str, object], state: AccountState, *, exists: bool) -> None:
    for key, number in (("nonce", state.nonce), ("balance", state.balance)):
        stated_number = read_quantity(fields.get(key), key)
        if stated_number != number:
            raise AccountMismatchError(f"{key} is stated as {stated_number}, proven as {number}")
    for key, value_hash in (("storageHash", state.storage_root), ("codeHash", state.code_hash)):
        stated_hash = fields.get(key)
        if not exists and isinstance(stated_hash, str) and _ZERO_HASH.fullmatch(stated_hash):
            continue
        if read_fixed_bytes(stated_hash, key, HASH_BYTES) != value_hash:
            raise AccountMismatchError(
                f"{key} is stated as {stated_hash}, proven as 0x{value_hash.hex()}"
            )
