"""Absences: of an index, of a log in a receipt, and of an emitter or topic in a whole block."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from queries.proving.accounts import ADDRESS_BYTES
from queries.proving.block_items import BLOOM_BYTES, Log, bloom_excludes
from queries.proving.errors import BloomUndecidedError, NotAbsentError
from queries.proving.facts.events import (
    ABSENCE_WORD,
    EMITTER_PATTERN,
    INDEX_PATTERN,
    TOPIC_PATTERN,
    BlockLists,
    Details,
    EventFact,
    EventList,
    ItemLeaf,
    count_text,
    receipt_at,
    transaction_index,
)
from queries.proving.facts.fact import Argument
from queries.proving.facts.logs import LogFilter, canonical_filter
from queries.proving.headers import HeaderField
from queries.proving.keccak import HASH_BYTES, checksum_address, keccak256
from queries.proving.witnesses import WitnessReader, encode_uint16


@dataclass(frozen=True, slots=True)
class AbsenceFact(EventFact):
    """A fact that says that something is absent; its view returns only whether it is proven."""

    outputs = ()
    member = "absent"

    @staticmethod
    def encode_word(*outputs: int) -> bytes:
        return ABSENCE_WORD


@dataclass(frozen=True, slots=True)
class AbsentIndexFact(AbsenceFact):
    """A list of the block ends before this index."""

    view = "isIndexAbsent(uint256,uint8,uint256)"
    event_list = EventList.ABSENT_INDEXES
    noun: ClassVar[str]  # for an item of the list
    proving_fields: ClassVar[tuple[HeaderField, ...]]  # of lists that end where this one does

    def arguments(self, block: int) -> tuple[Argument, ...]:
        return block, int(self.field), self.key

    def read(self, content: BlockLists) -> tuple[bytes, Details]:
        if self.key < (count := len(content.items(self.field))):
            raise NotAbsentError(f"the block has {count_text(count, self.noun)}")
        return ABSENCE_WORD, {}

    def report(self, word: bytes, log: Log | None) -> tuple[str, str]:
        return f"{self.noun}s", f"the block has at most {self.key}"


@dataclass(frozen=True, slots=True)
class AbsentTransactionFact(AbsentIndexFact):
    kind = "ABSENT_TRANSACTION"
    pattern = f"ABSENT_TRANSACTION:{INDEX_PATTERN}"
    field = HeaderField.TRANSACTIONS_ROOT
    proving_fields = HeaderField.TRANSACTIONS_ROOT, HeaderField.RECEIPTS_ROOT
    forms = (frozenset({"transaction"}),)
    noun = "transaction"

    @classmethod
    def find(cls, content: BlockLists, item: Any) -> Iterable[Self]:
        return [cls(transaction_index(content, item["transaction"]))]


@dataclass(frozen=True, slots=True)
class AbsentWithdrawalFact(AbsentIndexFact):
    kind = "ABSENT_WITHDRAWAL"
    pattern = f"ABSENT_WITHDRAWAL:{INDEX_PATTERN}"
    field = HeaderField.WITHDRAWALS_ROOT
    proving_fields = (HeaderField.WITHDRAWALS_ROOT,)
    forms = (frozenset({"withdrawal"}),)
    noun = "withdrawal"

    @classmethod
    def find(cls, content: BlockLists, item: Any) -> Iterable[Self]:
        return [cls(item["withdrawal"])]


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsentLogFact(AbsenceFact):
    """No log of this transaction's receipt matches the filter."""

    kind = "ABSENT_LOG"
    pattern = (
        f"ABSENT_LOG:{INDEX_PATTERN}:({EMITTER_PATTERN}):"
        f"((?:{TOPIC_PATTERN})?(?:,(?:{TOPIC_PATTERN})?){{0,3}})"
    )
    view = "isLogAbsent(uint256,uint256,address,uint8,bytes32[])"
    field = HeaderField.RECEIPTS_ROOT
    event_list = EventList.ABSENT_LOGS
    forms = (frozenset({"transaction", "address"}), frozenset({"transaction", "address", "topics"}))
    is_of_transaction = True

    filter: LogFilter

    @property
    def name(self) -> str:
        topics = ",".join(f"0x{topic.hex()}" if topic else "" for topic in self.filter.topics)
        return f"{self.kind}:{self.key}:0x{self.filter.emitter.hex()}:{topics}"

    @classmethod
    def from_name(cls, name: str) -> Self:
        _, index, emitter, topic_list = name.split(":")
        topics = [bytes.fromhex(text[2:]) or None for text in topic_list.split(",")]
        return cls(int(index), filter=canonical_filter(bytes.fromhex(emitter[2:]), topics))

    def arguments(self, block: int) -> tuple[Argument, ...]:
        topics = self.filter.required_topics
        return block, self.key, self.filter.emitter, self.filter.mask, topics

    @classmethod
    def find(cls, content: BlockLists, item: Any) -> Iterable[Self]:
        index, emitter = transaction_index(content, item["transaction"]), item["address"]
        lists = item.get("topics", ())
        topics = [bytes.fromhex(choices[0][2:]) if choices else None for choices in lists]
        return [cls(index, filter=canonical_filter(bytes.fromhex(emitter[2:]), topics))]

    def read(self, content: BlockLists) -> tuple[bytes, Details]:
        for place, log in enumerate(receipt_at(content, self.key).logs):
            if self.filter.matches(log):
                raise NotAbsentError(f"log {place} of transaction {self.key:,} matches")
        return ABSENCE_WORD, {"transactionIndex": self.key}

    def report(self, word: bytes, log: Log | None) -> tuple[str, str]:
        value = f"none is by {checksum_address(self.filter.emitter)}"
        if topics := [f"0x{topic.hex()}" if topic else "any" for topic in self.filter.topics]:
            value += f" with the topics {', '.join(topics)}"
        return f"logs of transaction {self.key}", value


@dataclass(frozen=True, slots=True, kw_only=True)
class SilentBlockFact(AbsenceFact):
    """No log of the block is by this emitter, or has this topic, as its bloom shows."""

    kind = "SILENT_BLOCK"
    pattern = f"SILENT_BLOCK:({EMITTER_PATTERN}|{TOPIC_PATTERN})"
    view = "isBlockSilent(uint256,bool,bytes32)"
    field = HeaderField.LOGS_BLOOM
    event_list = EventList.SILENT_BLOCKS
    forms = frozenset({"address"}), frozenset({"topic"})

    item: bytes  # an emitter or a topic

    @property
    def name(self) -> str:
        return f"{self.kind}:0x{self.item.hex()}"

    @classmethod
    def from_name(cls, name: str) -> Self:
        return cls(item=bytes.fromhex(name.partition(":0x")[2]))

    @property
    def is_topic(self) -> bool:
        return len(self.item) == HASH_BYTES

    def arguments(self, block: int) -> tuple[Argument, ...]:
        return block, self.is_topic, self.item.rjust(HASH_BYTES, b"\0")

    @classmethod
    def find(cls, content: BlockLists, item: Any) -> Iterable[Self]:
        (text,) = item.values()
        return [cls(item=bytes.fromhex(text[2:]))]

    def read(self, content: BlockLists) -> tuple[bytes, Details]:
        if bloom_excludes(content.bloom, self.item):
            return ABSENCE_WORD, {}
        for index, receipt in enumerate(content.receipts):
            for place, log in enumerate(receipt.logs):
                if self.item in (log.emitter, *log.topics):
                    raise NotAbsentError(
                        f"log {place} of transaction {index:,} has this address or topic"
                    )
        match_rate = (int.from_bytes(content.bloom).bit_count() / (8 * BLOOM_BYTES)) ** 3
        raise BloomUndecidedError(
            "no log has it, but the block's bloom cannot show that: by chance it matches one in "
            f"{1 / match_rate:,.0f} absent items; ask about single receipts"
        )

    def report(self, word: bytes, log: Log | None) -> tuple[str, str]:
        if self.is_topic:
            return "logs of the block", f"none has the topic 0x{self.item.hex()}"
        return "logs of the block", f"none is by {checksum_address(self.item)}"


def encode_bloom_group(bloom: bytes, facts: Sequence[EventFact]) -> bytes:
    """Encode a block's bloom, and the emitters and topics that it shows to be absent."""
    items = [fact.item for fact in facts if isinstance(fact, SilentBlockFact)]
    parts = (bytes((len(item) == HASH_BYTES,)) + item for item in items)
    return b"".join((bloom, encode_uint16(len(items)), *parts))


def read_bloom_group(source: WitnessReader) -> tuple[bytes, list[ItemLeaf]]:
    """Read the bloom's hash, and the facts in place of leaves."""
    bloom, facts = source.take(BLOOM_BYTES), list[tuple[EventFact, bytes]]()
    for _ in range(source.number(2)):
        item = source.take(HASH_BYTES if source.number(1) else ADDRESS_BYTES)
        if not bloom_excludes(bloom, item):
            raise NotAbsentError(f"the bloom does not exclude 0x{item.hex()}")
        facts.append((SilentBlockFact(item=item), ABSENCE_WORD))
    return keccak256(bloom), [ItemLeaf(b"", facts)]
