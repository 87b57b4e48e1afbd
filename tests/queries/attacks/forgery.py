"""Calls that would make a registry state something untrue.

A forgery would make a false fact readable, leave a requested key unanswered, or have malformed
bytes accepted.
"""

from dataclasses import dataclass, replace

from queries.contracts.abi import call_data
from queries.proving.accounts import AccountState, encode_account, encode_slot_value
from queries.proving.keccak import EMPTY_CODE_HASH
from queries.proving.registry_calls import PROVE_SELECTOR, accumulated_section, prove_call
from tests.queries.attacks.witness_parts import (
    EOA,
    ChosenTrie,
    compact_account,
    encode_witness,
    key,
    leaf,
    request,
)

NUMBER, TIME, HASH = 1000, 1_700_000_000, bytes([9]) * 32
BALANCE = 1
OWNER = key("5")
UNPROVEN = bytes(64)
ROOT_MISMATCH = "BlockNotAccumulated"


@dataclass(frozen=True)
class Forgery:
    """A call, and what would be read after it."""

    calldata: bytes
    error: str  # of the refusal; empty if the call is accepted and the truth is read
    read_call: bytes = b""  # empty if the bytes are only malformed
    read_result: bytes = b""  # the truth if the call is accepted, otherwise the lie
    setup: tuple[bytes, ...] = ()

    def after(self, section: bytes, *setup: bytes) -> "Forgery":
        """The same forgery after another section, if it is a proof."""
        if not self.calldata.startswith(PROVE_SELECTOR):
            return self
        calldata = prove_call([section, self.calldata[4:]])
        return replace(self, calldata=calldata, setup=(*setup, *self.setup))


def answer(value: int | bytes) -> bytes:
    word = value if isinstance(value, bytes) else value.to_bytes(32, "big")
    return (1).to_bytes(32, "big") + word


def read_field(name: bytes, field: int = BALANCE) -> bytes:
    return call_data("tryAccountField(address,uint256,uint8)", name[:20], NUMBER, field)


def read_slot(name: bytes, slot: bytes) -> bytes:
    signature = "tryAccountStorageSlotValues(address,uint256,bytes32)"
    return call_data(signature, name[:20], NUMBER, slot)


def set_accumulated(root: bytes, number: int = NUMBER) -> bytes:
    """A call that accumulates a block with this state root."""
    return call_data("setAccumulated(uint256,uint256,bytes32,bytes32)", number, TIME, HASH, root)


def forge(
    root: bytes, witness: bytes, error: str, read_call: bytes = b"", read_result: bytes = b""
) -> Forgery:
    """A witness against an accumulated block with this state root."""
    section = accumulated_section(NUMBER, TIME, HASH, witness)
    return Forgery(prove_call([section]), error, read_call, read_result, (set_accumulated(root),))


def forge_accounts(
    names: str, state: ChosenTrie, nodes: bytes, error: str, denied: int | None = None
) -> Forgery:
    """A witness of accounts by key prefixes; it claims that number `denied` is absent."""
    keys = [key(prefix) for prefix in names.split()]
    lie = () if denied is None else (read_field(keys[denied]), answer(0))
    return forge(state.root, encode_witness([*map(request, keys)], nodes), error, *lie)


def account_trie(names: str) -> ChosenTrie:
    return ChosenTrie({key(prefix): encode_account(EOA) for prefix in names.split()})


def owner_with_slots(*slots: bytes, value: int = 5) -> tuple[ChosenTrie, ChosenTrie, AccountState]:
    """A storage trie, the state trie of its only account, and the account."""
    storage = ChosenTrie({slot: encode_slot_value(value) for slot in slots})
    owner = AccountState(1, 2, storage.root, EMPTY_CODE_HASH)
    return storage, ChosenTrie({OWNER: encode_account(owner)}), owner


def forge_storage(
    slots: tuple[bytes, ...], nodes: bytes, about: tuple[bytes, ...], error: str, read_result: bytes
) -> Forgery:
    """A witness with `nodes` in place of the owner's storage trie, which has `slots`."""
    _, state, owner = owner_with_slots(*slots)
    witness = encode_witness([request(OWNER, 0, about)], leaf(compact_account(owner, nodes)))
    return forge(state.root, witness, error, read_slot(OWNER, about[-1]), read_result)
