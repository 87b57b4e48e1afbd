"""Facts about an account at a block, which proofs of the account and its slots show."""

from dataclasses import dataclass
from typing import Self

from queries.proving.facts.fact import Argument, BlockFact
from queries.proving.keccak import keccak256, number_word
from queries.proving.witnesses import AccountField


@dataclass(frozen=True, slots=True)
class AccountFieldFact(BlockFact):
    kind = "ACCOUNT_FIELD"
    pattern = "|".join(AccountField.__members__)
    view = "accountField(address,uint256,uint8)"
    has_account = True

    @property
    def name(self) -> str:
        return AccountField(self.key).name

    @classmethod
    def from_name(cls, name: str) -> Self:
        return cls(AccountField[name])

    def arguments(self, block: int) -> tuple[Argument, ...]:
        return self.account, block, self.key


@dataclass(frozen=True, slots=True)
class SlotFact(BlockFact):
    kind = "STORAGE_SLOT"
    pattern = "0x[0-9a-f]{64}"
    view = "accountStorageSlotValues(address,uint256,bytes32)"
    has_account = is_unbounded = True

    @property
    def name(self) -> str:
        return f"0x{self.key:064x}"

    @classmethod
    def from_name(cls, name: str) -> Self:
        return cls(int(name, 16))

    def arguments(self, block: int) -> tuple[Argument, ...]:
        return self.account, block, number_word(self.key)

    @property
    def witness_key(self) -> bytes:
        return keccak256(number_word(self.key))
