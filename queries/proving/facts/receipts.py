"""A receipt, by its transaction's index; its leaf in a witness has the facts of its logs too."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from queries.proving.block_items import (
    BLOOM_BYTES,
    NEWEST_TYPE,
    STATE_ROOT_STATUS,
    Log,
    Receipt,
    logs_bloom,
    receipt_word,
)
from queries.proving.errors import NotAbsentError, WitnessMalformedError
from queries.proving.facts.absences import AbsentLogFact
from queries.proving.facts.events import (
    ABSENCE_WORD,
    INDEX_PATTERN,
    IS_FACT,
    BlockLists,
    Details,
    EventFact,
    EventList,
    ItemFact,
    ItemLeaf,
    count_text,
    receipt_at,
    transaction_index,
)
from queries.proving.facts.logs import LogFact, encode_log, read_log, read_log_filter
from queries.proving.headers import HeaderField
from queries.proving.keccak import HASH_BYTES
from queries.proving.rlp_items import integer_payload
from queries.proving.witness_reading import check_length
from queries.proving.witnesses import WitnessReader, encode_uint16

BLOOM_SENT = 0x40
# With more emitters and topics in a receipt it is cheaper to send the bloom than to derive it.
MAX_DERIVED_ITEMS = 30


@dataclass(frozen=True, slots=True)
class ReceiptFact(ItemFact):
    kind = "RECEIPT"
    pattern = f"RECEIPT:{INDEX_PATTERN}"
    view = "receiptOf(uint256,uint256)"
    outputs = ("uint256", "uint256", "uint8", "uint8", "uint64", "uint16")
    field = HeaderField.RECEIPTS_ROOT
    event_list = EventList.RECEIPTS
    member = "receipts"
    is_of_transaction = True

    @staticmethod
    def encode_word(*outputs: int) -> bytes:
        _, _, status, transaction_type, gas, log_count = outputs
        return receipt_word(status, transaction_type, gas, log_count)

    @classmethod
    def find(cls, content: BlockLists, item: Any) -> Iterable[Self]:
        return [cls(transaction_index(content, item))]

    def read(self, content: BlockLists) -> tuple[bytes, Details]:
        receipt = receipt_at(content, self.key)
        status = {"status": receipt.status} if isinstance(receipt.status, int) else {}
        return receipt.word, {
            "transactionIndex": self.key,
            **status,
            "type": receipt.transaction_type,
            "cumulativeGasUsed": str(receipt.cumulative_gas),
            "logCount": len(receipt.logs),
        }

    def report(self, word: bytes, log: Log | None) -> tuple[str, str]:
        status = {0: "failed", 1: "succeeded"}.get(word[30], "with a state root")
        logs = count_text(int.from_bytes(word[27:29]), "log")
        return f"receipt of transaction {self.key}", f"{status}, {logs}, type {word[29]}"

    @staticmethod
    def encode_leaf(item: Receipt, facts: Iterable[EventFact]) -> bytes:
        is_fact = any(isinstance(fact, ReceiptFact) for fact in facts)
        logs = {fact.log for fact in facts if isinstance(fact, LogFact)}
        filters = [fact.filter.encode() for fact in facts if isinstance(fact, AbsentLogFact)]
        if isinstance(item.status, bytes):
            status, root = STATE_ROOT_STATUS, item.status
        else:
            status, root = item.status, b""
        form = status | IS_FACT * is_fact
        gas, bloom = integer_payload(item.cumulative_gas), b""
        if sum(1 + len(log.topics) for log in item.logs) > MAX_DERIVED_ITEMS:
            form |= BLOOM_SENT
            bloom = logs_bloom(item.logs)
        return b"".join(
            (
                bytes((item.transaction_type, form, len(gas))),
                gas,
                root,
                bloom,
                encode_uint16(len(item.logs)),
                *(encode_log(log, is_fact=i in logs) for i, log in enumerate(item.logs)),
                bytes((len(filters),)),
                *filters,
            )
        )

    @staticmethod
    def read_leaf(source: WitnessReader, index: int) -> ItemLeaf:
        transaction_type, form = source.number(1), source.number(1)
        if transaction_type > NEWEST_TYPE:
            raise WitnessMalformedError(f"the type of transaction {index} is not known")
        gas = source.number(check_length(source.number(1))) % 2**64  # as the contract does
        status: int | bytes = form & ~(IS_FACT | BLOOM_SENT)
        if status == STATE_ROOT_STATUS:
            status = source.take(HASH_BYTES)
        bloom = source.take(BLOOM_BYTES) if form & BLOOM_SENT else None
        entries = [read_log(source) for _ in range(source.number(2))]
        logs = tuple(log for log, _ in entries)
        if bloom not in {None, logs_bloom(logs)}:
            raise WitnessMalformedError(f"the bloom of receipt {index} is not that of its logs")
        receipt = Receipt(transaction_type, status, gas, logs)
        log_facts = [
            (LogFact(index, log=place), log)
            for place, (log, is_fact) in enumerate(entries)
            if is_fact
        ]
        facts: list[tuple[EventFact, bytes]] = [(fact, log.hash) for fact, log in log_facts]
        if form & IS_FACT:
            facts.append((ReceiptFact(index), receipt.word))
        for _ in range(source.number(1)):
            absence = AbsentLogFact(index, filter=read_log_filter(source))
            if any(map(absence.filter.matches, logs)):
                raise NotAbsentError(f"receipt {index} has a log that is said to be absent")
            facts.append((absence, ABSENCE_WORD))
        return ItemLeaf(receipt.encoding, facts, log_facts)
