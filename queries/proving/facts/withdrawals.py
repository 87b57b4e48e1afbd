"""A withdrawal, by its position in the block."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from queries.proving.accounts import ADDRESS_BYTES
from queries.proving.block_items import Withdrawal
from queries.proving.facts.events import (
    INDEX_PATTERN,
    BlockLists,
    Details,
    EventFact,
    EventList,
    ItemFact,
    ItemLeaf,
    entry_at,
)
from queries.proving.headers import HeaderField
from queries.proving.keccak import checksum_address
from queries.proving.witnesses import WitnessReader


@dataclass(frozen=True, slots=True)
class WithdrawalFact(ItemFact):
    kind = "WITHDRAWAL"
    pattern = f"WITHDRAWAL:{INDEX_PATTERN}"
    view = "withdrawalOf(uint256,uint256)"
    outputs = ("uint256", "uint256", "uint64", "uint64", "address", "uint64")
    field = HeaderField.WITHDRAWALS_ROOT
    event_list = EventList.WITHDRAWALS
    member = "withdrawals"
    stored_words = 2

    @staticmethod
    def encode_word(*outputs: int) -> bytes:
        _, _, index, validator, recipient, amount = outputs
        return Withdrawal(index, validator, recipient.to_bytes(ADDRESS_BYTES), amount).hash

    @classmethod
    def find(cls, content: BlockLists, item: Any) -> Iterable[Self]:
        return [cls(item)]

    def read(self, content: BlockLists) -> tuple[bytes, Details]:
        withdrawal = entry_at(content.withdrawals, self.key, "withdrawal")
        return withdrawal.hash, {
            "position": self.key,
            "withdrawalIndex": str(withdrawal.index),
            "validatorIndex": str(withdrawal.validator),
            "address": checksum_address(withdrawal.recipient),
            "amount": str(withdrawal.amount),
        }

    @staticmethod
    def encode_leaf(item: Withdrawal, facts: Iterable[EventFact]) -> bytes:
        number, validator = item.index.to_bytes(8, "big"), item.validator.to_bytes(8, "big")
        return number + validator + item.recipient + item.amount.to_bytes(8, "big")

    @staticmethod
    def read_leaf(source: WitnessReader, index: int) -> ItemLeaf:
        number, validator = source.number(8), source.number(8)
        recipient, amount = source.take(ADDRESS_BYTES), source.number(8)
        withdrawal = Withdrawal(number, validator, recipient, amount)
        return ItemLeaf(withdrawal.encode(), [(WithdrawalFact(index), withdrawal.hash)])
