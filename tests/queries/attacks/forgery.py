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
    PERSON,
    ChosenTrie,
    account_told,
    asked,
    key,
    leaf,
    witness,
)

NUMBER, TIME, HASH = 1000, 1_700_000_000, bytes([9]) * 32
BALANCE = 1
OWNER = key("5")
UNPROVEN = bytes(64)
REFUSED_BY_ROOT = "BlockNotAccumulated"


@dataclass(frozen=True)
class Forgery:
    """A call, and what it would make readable."""

    calldata: bytes
    error: str  # by which it is refused; none where it is taken, and the truth is read
    question: bytes = b""  # none where nothing untrue would be read, and the bytes are malformed
    reading: bytes = b""  # the answer: the true one if it is taken, else the lie if it were
    setup: tuple[bytes, ...] = ()

    def behind(self, section: bytes, *setup: bytes) -> "Forgery":
        """The same behind another section of its proof, if it is one of several."""
        if not self.calldata.startswith(PROVE_SELECTOR):
            return self
        calldata = prove_call([section, self.calldata[4:]])
        return replace(self, calldata=calldata, setup=(*setup, *self.setup))


def answer(value: int | bytes) -> bytes:
    word = value if isinstance(value, bytes) else value.to_bytes(32, "big")
    return (1).to_bytes(32, "big") + word


def field_of(name: bytes, field: int = BALANCE) -> bytes:
    return call_data("tryAccountField(address,uint256,uint8)", name[:20], NUMBER, field)


def slot_of(name: bytes, slot: bytes) -> bytes:
    signature = "tryAccountStorageSlotValues(address,uint256,bytes32)"
    return call_data(signature, name[:20], NUMBER, slot)


def accumulate(root: bytes, number: int = NUMBER) -> bytes:
    """The call by which a block with this state root becomes accumulated."""
    return call_data("setAccumulated(uint256,uint256,bytes32,bytes32)", number, TIME, HASH, root)


def against(
    root: bytes, shown: bytes, error: str, question: bytes = b"", reading: bytes = b""
) -> Forgery:
    """A witness against an accumulated block with this state root."""
    section = accumulated_section(NUMBER, TIME, HASH, shown)
    return Forgery(prove_call([section]), error, question, reading, (accumulate(root),))


def of_accounts(
    names: str, state: ChosenTrie, nodes: bytes, error: str, denied: int | None = None
) -> Forgery:
    """A witness of the accounts whose keys begin so; `denied` is one that it claims absent."""
    keys = [key(each) for each in names.split()]
    lie = () if denied is None else (field_of(keys[denied]), answer(0))
    return against(state.root, witness([*map(asked, keys)], nodes), error, *lie)


def people(names: str) -> ChosenTrie:
    return ChosenTrie({key(each): encode_account(PERSON) for each in names.split()})


def stored(*slots: bytes, value: int = 5) -> tuple[ChosenTrie, ChosenTrie, AccountState]:
    """A storage trie, a state trie with its owner alone, and the owner."""
    storage = ChosenTrie({slot: encode_slot_value(value) for slot in slots})
    owner = AccountState(1, 2, storage.root, EMPTY_CODE_HASH)
    return storage, ChosenTrie({OWNER: encode_account(owner)}), owner


def of_storage(
    slots: tuple[bytes, ...], nodes: bytes, about: tuple[bytes, ...], error: str, reading: bytes
) -> Forgery:
    """`nodes` told as the owner's storage trie, which holds `slots`."""
    _, state, owner = stored(*slots)
    shown = witness([asked(OWNER, 0, about)], leaf(account_told(owner, nodes)))
    return against(state.root, shown, error, slot_of(OWNER, about[-1]), reading)
