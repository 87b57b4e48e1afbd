"""False facts by construction: what each check of the verifier is there for.

Each is a call that would make a registry say something untrue, leave a key that was asked for
without an answer, or take bytes that mean nothing. The names begin with the design's points.
"""

from dataclasses import dataclass, replace

from queries.contracts.abi import call_data
from queries.proving.accounts import AccountState, encode_account, encode_slot_value
from queries.proving.keccak import EMPTY_CODE_HASH
from queries.proving.registry_calls import PROVE_SELECTOR, accumulated_section, prove_call
from tests.queries.attacks.witness_parts import (
    EOA,
    ChosenTrie,
    account_request,
    compact_account,
    encode_witness,
    key,
    leaf,
)

NUMBER, TIME, HASH = 1000, 1_700_000_000, bytes([9]) * 32
BALANCE = 1
OWNER = key("5")
UNPROVEN = bytes(64)
ROOT_MISMATCH = "BlockNotAccumulated"


@dataclass(frozen=True)
class Forgery:
    """A call, and what it would make readable."""

    calldata: bytes
    error: str  # by which it is refused; none where it is taken, and the truth is read
    read_call: bytes = b""  # none where nothing untrue would be read, and the bytes are malformed
    read_result: bytes = b""  # the answer: the true one if it is taken, else the lie if it were
    setup: tuple[bytes, ...] = ()

    def after(self, section: bytes, *setup: bytes) -> "Forgery":
        """The same behind another section of its proof, if it is one of several."""
        if not self.calldata.startswith(PROVE_SELECTOR):
            return self
        calldata = prove_call([section, self.calldata[4:]])
        return replace(self, calldata=calldata, setup=(*setup, *self.setup))


def proven_answer(value: int | bytes) -> bytes:
    word = value if isinstance(value, bytes) else value.to_bytes(32, "big")
    return (1).to_bytes(32, "big") + word


def account_field_call(name: bytes, field: int = BALANCE) -> bytes:
    return call_data("tryAccountField(address,uint256,uint8)", name[:20], NUMBER, field)


def slot_call(name: bytes, slot: bytes) -> bytes:
    signature = "tryAccountStorageSlotValues(address,uint256,bytes32)"
    return call_data(signature, name[:20], NUMBER, slot)


def set_accumulated(root: bytes, number: int = NUMBER) -> bytes:
    """The call by which a block with this state root becomes accumulated."""
    return call_data("setAccumulated(uint256,uint256,bytes32,bytes32)", number, TIME, HASH, root)


def witness_forgery(
    root: bytes, shown: bytes, error: str, read_call: bytes = b"", read_result: bytes = b""
) -> Forgery:
    """A witness against an accumulated block with this state root."""
    section = accumulated_section(NUMBER, TIME, HASH, shown)
    return Forgery(prove_call([section]), error, read_call, read_result, (set_accumulated(root),))


def account_forgery(
    names: str, state: ChosenTrie, nodes: bytes, error: str, denied: int | None = None
) -> Forgery:
    """A witness of the accounts whose keys begin so; `denied` is one that it claims absent."""
    keys = [key(each) for each in names.split()]
    lie = () if denied is None else (account_field_call(keys[denied]), proven_answer(0))
    return witness_forgery(
        state.root, encode_witness([*map(account_request, keys)], nodes), error, *lie
    )


def account_trie(names: str) -> ChosenTrie:
    return ChosenTrie({key(each): encode_account(EOA) for each in names.split()})


def owner_with_slots(*slots: bytes, value: int = 5) -> tuple[ChosenTrie, ChosenTrie, AccountState]:
    """A storage trie, a state trie with its owner alone, and the owner."""
    storage = ChosenTrie({slot: encode_slot_value(value) for slot in slots})
    owner = AccountState(1, 2, storage.root, EMPTY_CODE_HASH)
    return storage, ChosenTrie({OWNER: encode_account(owner)}), owner


def storage_forgery(
    slots: tuple[bytes, ...], nodes: bytes, about: tuple[bytes, ...], error: str, read_result: bytes
) -> Forgery:
    """`nodes` told as the owner's storage trie, which holds `slots`."""
    _, state, owner = owner_with_slots(*slots)
    shown = encode_witness([account_request(OWNER, 0, about)], leaf(compact_account(owner, nodes)))
    return witness_forgery(state.root, shown, error, slot_call(OWNER, about[-1]), read_result)
