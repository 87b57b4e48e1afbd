"""States in tries of the independent `trie` package, and proofs made from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import rlp

from queries.proving.accounts import (
    ABSENT_ACCOUNT,
    AccountProof,
    AccountState,
    SlotProof,
    check_account_proof,
)
from queries.proving.tries import check_proof
from queries.proving.witnesses import AccountToStore
from tests.queries.attacks.witness_parts import ChosenTrie
from tests.queries.tries.random_tries import RandomAccount


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
