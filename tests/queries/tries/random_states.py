"""Random states with raw keys, in tries of the independent `trie` package, and requests for them.

Hashed keys diverge after a few nibbles, so tries of real accounts have no branch at depth 63, no
embedded node and no long extension. Here every key is an earlier one changed at one nibble, so
paths diverge anywhere, and absent keys end at foreign leaves and extensions as often as at empty
children.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import rlp
from hypothesis import strategies as st

from queries.proving.accounts import (
    ABSENT_ACCOUNT,
    AccountProof,
    AccountState,
    SlotProof,
    check_account_proof,
)
from queries.proving.keccak import EMPTY_CODE_HASH, keccak256
from queries.proving.tries import check_proof
from queries.proving.witnesses import AccountField, AccountToStore
from tests.queries.attacks.witness_parts import ChosenTrie

EDGES = (
    1, 0x7F, 0x80, 0xFF, 0x100, 2**64, 2**184 - 1, 2**184, 2**184 + 1, 2**248 - 1, 2**248,
    2**256 - 2, 2**256 - 1,
)  # fmt: skip
DIGITS = 64


@dataclass(frozen=True)
class RandomKey:
    """A key that is in the trie, or requested, or both."""

    key: bytes
    exists: bool
    requested: bool


@dataclass(frozen=True)
class RandomAccount:
    """An account, in the trie or not, and the slots of its storage trie."""

    key: RandomKey
    nonce: int
    balance: int
    code_hash: bytes
    fields: frozenset[AccountField]
    slots: tuple[RandomKey, ...]
    values: tuple[int, ...]  # one per slot; ignored if the slot does not exist


# At the first nibbles, the last ones, and anywhere: tries differ there.
_places = st.sampled_from((0, 0, 1, 2, 60, 61, 62, 62, 63, 63)) | st.integers(0, DIGITS - 1)
_roles = st.sampled_from(((True, True), (True, True), (True, False), (False, True), (False, True)))
_bases = st.sampled_from(("a" * DIGITS, "0" * DIGITS, "f" * DIGITS)) | st.binary(
    min_size=32, max_size=32
).map(bytes.hex)

_is_empty = st.sampled_from((False, False, False, False, False, False, False, True))

# The number of an earlier key, the place where the new one differs, its nibble there, a shift of
# the nibbles after it, its role, and which other keys come with it.
_steps = st.tuples(
    st.integers(0, 15),
    _places,
    st.integers(0, 15),
    st.just(0) | st.integers(0, 15),
    _roles,
    st.sampled_from(("alone", "alone", "alone", "alone", "twin", "twin", "deep", "fan", "rows")),
)


@st.composite
def random_keys(draw: st.DrawFn, steps: int) -> tuple[RandomKey, ...]:
    """At least `steps` keys; the first is requested."""
    roles = {draw(_bases): (draw(st.booleans()), True)}
    for number, place, nibble, shift, role, company in draw(
        st.lists(_steps, min_size=steps, max_size=steps)
    ):
        earlier = list(roles)[-1 - number % len(roles)]
        tail = "".join(f"{int(old, 16) + shift & 15:x}" for old in earlier[place + 1 :])
        path = f"{earlier[:place]}{nibble:x}{tail}"
        roles.setdefault(path, role)
        # With short values, keys that diverge at both places have embedded nodes of every kind.
        for row in {"twin": (63,), "deep": (63, 61)}.get(company, ()):
            roles.setdefault(_with_nibble(path, row, int(path[row], 16) ^ 1), role)
        for row in {"fan": (place,), "rows": (place, place + 1)}.get(company, ()):
            for other in range(16) if row < DIGITS else ():
                # Most keys of a fan are not requested, or a request would cover whole tries.
                roles.setdefault(
                    _with_nibble(path, row, other), role if other == 5 else (True, False)
                )
    if draw(_is_empty):
        roles = {path: (False, True) for path, (_, requested) in roles.items() if requested}
    return tuple(RandomKey(bytes.fromhex(path), *role) for path, role in roles.items())


def _with_nibble(path: str, place: int, nibble: int) -> str:
    return f"{path[:place]}{nibble:x}{path[place + 1 :]}"


_numbers = st.sampled_from(EDGES) | st.integers(0, 2**256 - 1)
# Embedded branches need values of about a byte.
_short_values = st.integers(1, 0xFF) | st.integers(1, 9)
_long_values = (
    st.sampled_from(EDGES)
    | st.sampled_from((2**256 - 2, 2**256 - 1))
    | st.integers(2**128, 2**256 - 1)
)
_values = st.sampled_from((_short_values, _long_values, _short_values | _long_values))
_nonces = st.sampled_from((0, 1, 0x7F, 0x80, 2**32, 2**64 - 1)) | st.integers(0, 2**64 - 1)
_code_hashes = st.just(EMPTY_CODE_HASH) | st.binary(max_size=1).map(keccak256)
_has_slots = st.sampled_from((False, True, True))
_fields = st.just(frozenset(AccountField)) | st.frozensets(st.sampled_from(AccountField))


@st.composite
def random_account(draw: st.DrawFn, key: RandomKey) -> RandomAccount:
    slots = draw(random_keys(draw(st.sampled_from((0, 3, 8))))) if draw(_has_slots) else ()
    return RandomAccount(
        key,
        draw(_nonces),
        draw(st.just(0) | _numbers),
        draw(_code_hashes),
        draw(_fields),
        slots,
        tuple(draw(st.lists(draw(_values), min_size=len(slots), max_size=len(slots)))),
    )


@st.composite
def random_states(draw: st.DrawFn) -> Sequence[RandomAccount]:
    """The accounts of a state trie, and absent ones that are requested."""
    keys = draw(random_keys(draw(st.sampled_from((0, 2, 4, 7)))))
    requested = [key for key in keys if key.requested]
    # Accounts that are not requested only shape the paths.
    plain = [RandomAccount(key, 0, 1, EMPTY_CODE_HASH, frozenset(), (), ()) for key in keys]
    detailed = {key: draw(random_account(key)) for key in requested[:4]}
    return [detailed.get(account.key, account) for account in plain]


@dataclass(frozen=True)
class BuiltState:
    """A state trie and the storage tries of its accounts."""

    accounts: tuple[RandomAccount, ...]
    trie: ChosenTrie
    storage: Mapping[bytes, ChosenTrie]

    @classmethod
    def build(cls, accounts: Sequence[RandomAccount]) -> "BuiltState":
        storage = {account.key.key: _storage(account) for account in accounts}
        content = {
            account.key.key: rlp.encode(
                [account.nonce, account.balance, storage[account.key.key].root, account.code_hash]
            )
            for account in accounts
            if account.key.exists
        }
        return cls(tuple(accounts), ChosenTrie(content), storage)

    def state(self, key: bytes) -> AccountState | None:
        """The account in the package's trie."""
        value = self.trie.value(key)
        if not value:
            return None
        nonce, balance, storage_root, code_hash = rlp.decode(value)
        return AccountState(
            int.from_bytes(nonce, "big"), int.from_bytes(balance, "big"), storage_root, code_hash
        )

    def slot_value(self, key: bytes, slot: bytes) -> int:
        """The slot's value in the package's trie, or zero."""
        value = self.storage[key].value(slot) if self.state(key) else b""
        return int.from_bytes(rlp.decode(value), "big") if value else 0

    def requests(self) -> list[AccountToStore]:
        """Our checker's proofs of the requested accounts and slots."""
        return [
            AccountToStore(self._proof(account), account.fields)
            for account in self.accounts
            if account.key.requested
        ]

    def _proof(self, account: RandomAccount) -> AccountProof:
        key = account.key.key
        proof = check_account_proof(self._answer(key), self.trie.root, key)
        storage = self.storage[key] if proof.exists else ChosenTrie({})
        slots = []
        for slot in account.slots:
            if slot.requested:
                path = check_proof(proof.state.storage_root, slot.key, storage.proof(slot.key))
                value = int.from_bytes(rlp.decode(path.value), "big") if path.value else 0
                slots.append(SlotProof(int.from_bytes(slot.key, "big"), value, path))
        return replace(proof, slots=tuple(slots))

    def _answer(self, key: bytes) -> dict[str, object]:
        """The answer to `eth_getProof` without slots, whose keys a node would hash."""
        state = self.state(key) or ABSENT_ACCOUNT
        return {
            "nonce": hex(state.nonce),
            "balance": hex(state.balance),
            "storageHash": f"0x{state.storage_root.hex()}",
            "codeHash": f"0x{state.code_hash.hex()}",
            "accountProof": [f"0x{node.hex()}" for node in self.trie.proof(key)],
            "storageProof": [],
        }


def _storage(account: RandomAccount) -> ChosenTrie:
    values = zip(account.slots, account.values, strict=True)
    return ChosenTrie({slot.key: rlp.encode(value) for slot, value in values if slot.exists})
