"""Accounts and slots: the values of their leaves (yellow paper, 4.1), and the proofs of both.

An `eth_getProof` answer is checked against a state root. What counts is what the nodes prove. What
the answer states beside them must agree: a node that contradicts its own proof is broken or lies,
and nothing of its answer is used.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from queries.proving.errors import (
    AccountMismatch,
    AnswerMalformed,
    ArgumentMalformed,
    RlpMalformed,
    SlotMismatch,
    ValueNotCanonical,
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
)

_ACCOUNT_ITEMS = 4
_MAX_NONCE_BYTES = 8
_MAX_WORD_BYTES = 32


@dataclass(frozen=True, slots=True)
class AccountState:
    """What the state trie holds of an account."""

    nonce: int
    balance: int
    storage_root: bytes
    code_hash: bytes


# An account that the trie does not hold has this state: that is what its absence proves.
ABSENT_ACCOUNT = AccountState(0, 0, EMPTY_TRIE_ROOT, EMPTY_CODE_HASH)


def decode_account(leaf_value: bytes) -> AccountState:
    """Read the value of a leaf of the state trie."""
    try:
        items = split_list(leaf_value)
        if len(items) != _ACCOUNT_ITEMS:
            raise ValueNotCanonical(f"an account has 4 items, not {len(items)}")
        nonce, balance, storage_root, code_hash = map(read_string, items)
        state = AccountState(read_integer(nonce), read_integer(balance), storage_root, code_hash)
    except RlpMalformed as fault:
        raise ValueNotCanonical(f"a proven account is not canonical: {fault}") from fault
    if len(nonce) > _MAX_NONCE_BYTES or len(balance) > _MAX_WORD_BYTES:
        raise ValueNotCanonical(
            f"an account has a nonce of {len(nonce)} and a balance of {len(balance)} bytes"
        )
    if len(storage_root) != HASH_BYTES or len(code_hash) != HASH_BYTES:
        raise ValueNotCanonical(
            f"an account has hashes of {len(storage_root)} and {len(code_hash)} bytes"
        )
    return state


def encode_account(state: AccountState) -> bytes:
    """Write the value of a leaf of the state trie."""
    return encode_list(
        (
            encode_integer(state.nonce),
            encode_integer(state.balance),
            encode_string(state.storage_root),
            encode_string(state.code_hash),
        )
    )


def decode_slot_value(leaf_value: bytes) -> int:
    """Read the value of a leaf of a storage trie.

    No chain has a leaf of zero, but a development node keeps one where a slot was set back to it.
    """
    try:
        payload = read_string(leaf_value)
        value = read_integer(payload)
    except RlpMalformed as fault:
        raise ValueNotCanonical(f"a proven slot's value is not canonical: {fault}") from fault
    if len(payload) > _MAX_WORD_BYTES:
        raise ValueNotCanonical(f"a proven slot's value has {len(payload)} bytes")
    return value


def encode_slot_value(value: int) -> bytes:
    """Write the value of a leaf of a storage trie."""
    return encode_integer(value)


ADDRESS_BYTES = 20
WORD_LIMIT = 2**256

# Nodes state the hashes of an account that does not exist as zero (geth), in one form or
# another, or as those of an empty account (Nethermind, Reth).
_ZERO_HASH = re.compile(r"0x0{0,64}")


@dataclass(frozen=True, slots=True)
class SlotProof:
    """One storage slot's proven value; zero where the account's trie does not hold it."""

    slot: int
    value: int
    path: ProvenPath


@dataclass(frozen=True, slots=True)
class AccountProof:
    """One account's proven state, and its slots' in the order in which they were asked for."""

    state_root: bytes
    address: bytes | None  # None where only the address's hash was given
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
    checked: CheckedNodes | None = None,
) -> AccountProof:
    """Check the answer for one account, which is an address or, in 32 bytes, an address's hash.

    `checked` is for callers with many accounts of one state root; see `CheckedNodes`.
    """
    if len(account) not in (ADDRESS_BYTES, HASH_BYTES):
        raise ArgumentMalformed(f"an account of {len(account)} bytes; an address has 20")
    if not all(0 <= slot < WORD_LIMIT for slot in slots):
        raise ArgumentMalformed("a slot is not an integer of 256 bits")
    fields = read_object(answer, "an eth_getProof answer")
    address = account if len(account) == ADDRESS_BYTES else None
    address_hash = account if address is None else keccak256(address)
    _compare_address(fields, address)
    proof = _read_proof(fields.get("accountProof"), "accountProof")
    path = check_proof(state_root, address_hash, proof, checked)
    exists = path.value is not None
    state = ABSENT_ACCOUNT if path.value is None else decode_account(path.value)
    _compare_state(fields, state, exists=exists)
    proven_slots = _check_slots(fields, state.storage_root, slots)
    return AccountProof(state_root, address, address_hash, exists, state, path, proven_slots)


def root_of_answer(answer: object) -> bytes:
    """The state root that the answer claims. It is not checked: compare it with a header's."""
    fields = read_object(answer, "an eth_getProof answer")
    proof = _read_proof(fields.get("accountProof"), "accountProof")
    if not proof:
        raise AnswerMalformed("a proof without nodes is of no root")
    return keccak256(proof[0])


def _check_slots(
    fields: dict[str, object], storage_root: bytes, slots: Sequence[int]
) -> tuple[SlotProof, ...]:
    # Where no slot is asked for, some nodes leave the list out.
    stated = fields.get("storageProof")
    entries = [] if stated is None else read_list(stated, "storageProof", max(len(slots), 1))
    if len(entries) != len(slots):
        raise SlotMismatch(f"{len(slots)} slots were asked for, and {len(entries)} answered")
    checked = CheckedNodes()
    return tuple(
        _check_slot(read_object(entry, f"storageProof[{place}]"), storage_root, slot, checked)
        for place, (entry, slot) in enumerate(zip(entries, slots, strict=True))
    )


def _check_slot(
    entry: dict[str, object], storage_root: bytes, slot: int, checked: CheckedNodes
) -> SlotProof:
    name = f"slot {slot:#x}"
    stated_slot = read_quantity(entry.get("key"), f"key of {name}")
    if stated_slot != slot:
        raise SlotMismatch(f"{name} was asked for, and slot {stated_slot:#x} answered in its place")
    key = keccak256(number_word(slot))
    path = check_proof(
        storage_root, key, _read_proof(entry.get("proof"), f"proof of {name}"), checked
    )
    value = 0 if path.value is None else decode_slot_value(path.value)
    stated = read_quantity(entry.get("value"), f"value of {name}")
    if stated != value:
        raise SlotMismatch(f"{name} is stated as {stated:#x}, and proven as {value:#x}")
    return SlotProof(slot, value, path)


def _read_proof(value: object, name: str) -> list[bytes]:
    entries = read_list(value, name, MAX_PROOF_NODES)
    return [read_bytes(entry, name, MAX_NODE_BYTES) for entry in entries]


def _compare_address(fields: dict[str, object], address: bytes | None) -> None:
    stated = fields.get("address")
    if stated is None or address is None:
        return
    if read_fixed_bytes(stated, "address", ADDRESS_BYTES) != address:
        raise AccountMismatch(f"account 0x{address.hex()} was asked for, and {stated} answered")


def _compare_state(fields: dict[str, object], state: AccountState, *, exists: bool) -> None:
    for key, number in (("nonce", state.nonce), ("balance", state.balance)):
        stated_number = read_quantity(fields.get(key), key)
        if stated_number != number:
            raise AccountMismatch(f"{key} is stated as {stated_number}, and proven as {number}")
    for key, proven in (("storageHash", state.storage_root), ("codeHash", state.code_hash)):
        stated = fields.get(key)
        if not exists and isinstance(stated, str) and _ZERO_HASH.fullmatch(stated):
            continue
        if read_fixed_bytes(stated, key, HASH_BYTES) != proven:
            raise AccountMismatch(f"{key} is stated as {stated}, and proven as 0x{proven.hex()}")
