"""The hash of a transaction, by its index in the block."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from queries.proving.block_items import NEWEST_TYPE
from queries.proving.errors import WitnessMalformedError
from queries.proving.facts.events import (
    INDEX_PATTERN,
    BlockLists,
    Details,
    EventFact,
    EventList,
    ItemFact,
    ItemLeaf,
    check_transaction_type,
    entry_at,
    transaction_index,
)
from queries.proving.headers import HeaderField
from queries.proving.keccak import keccak256
from queries.proving.rlp_items import is_list
from queries.proving.witnesses import WitnessReader


@dataclass(frozen=True, slots=True)
class TransactionFact(ItemFact):
    kind = "TRANSACTION"
    pattern = f"TRANSACTION:{INDEX_PATTERN}"
    view = "transactionHash(uint256,uint256)"
    field = HeaderField.TRANSACTIONS_ROOT
    event_list = EventList.TRANSACTIONS
    member = "transactions"
    is_of_transaction = True

    @classmethod
    def find(cls, content: BlockLists, item: Any) -> Iterable[Self]:
        return [cls(transaction_index(content, item))]

    def read(self, content: BlockLists) -> tuple[bytes, Details]:
        encoding = entry_at(content.transactions, self.key, "transaction")
        transaction_type = 0 if is_list(encoding) else encoding[0]
        check_transaction_type(transaction_type, self.key)
        word = keccak256(encoding)
        return word, {
            "transactionIndex": self.key,
            "transactionHash": f"0x{word.hex()}",
            "type": transaction_type,
        }

    @staticmethod
    def encode_leaf(item: bytes, facts: Iterable[EventFact]) -> bytes:
        return len(item).to_bytes(3, "big") + item

    @staticmethod
    def read_leaf(source: WitnessReader, index: int) -> ItemLeaf:
        envelope = source.take(source.number(3))
        if not (b"\x01" <= envelope[:1] <= bytes((NEWEST_TYPE,)) or is_list(envelope)):
            raise WitnessMalformedError(f"the type of transaction {index} is not known")
        return ItemLeaf(envelope, [(TransactionFact(index), keccak256(envelope))])
