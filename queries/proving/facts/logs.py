"""A log, by its transaction's index and its index in the receipt; and filters of logs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from queries.proving.accounts import ADDRESS_BYTES
from queries.proving.block_items import Log
from queries.proving.errors import ItemMissingError
from queries.proving.facts.events import (
    INDEX_PATTERN,
    IS_FACT,
    BlockLists,
    Details,
    EventFact,
    EventList,
    entry_at,
    receipt_at,
    transaction_index,
)
from queries.proving.facts.fact import Argument
from queries.proving.headers import HeaderField
from queries.proving.keccak import HASH_BYTES, checksum_address
from queries.proving.witnesses import WitnessReader


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Logs by an emitter, with given topics at given positions; None matches any topic."""

    emitter: bytes
    topics: tuple[bytes | None, ...] = ()

    @property
    def mask(self) -> int:
        return sum(1 << place for place, topic in enumerate(self.topics) if topic is not None)

    @property
    def required_topics(self) -> list[bytes]:
        return [topic for topic in self.topics if topic is not None]

    def matches(self, log: Log) -> bool:
        return log.emitter == self.emitter and all(
            topic is None or (place < len(log.topics) and log.topics[place] == topic)
            for place, topic in enumerate(self.topics)
        )

    def encode(self) -> bytes:
        return b"".join((self.emitter, bytes((self.mask,)), *self.required_topics))


def canonical_filter(emitter: bytes, topics: Iterable[bytes | None]) -> LogFilter:
    """The filter without trailing topics that match any."""
    topic_list = list(topics)
    while topic_list and topic_list[-1] is None:
        topic_list.pop()
    return LogFilter(emitter, tuple(topic_list))


def read_log_filter(source: WitnessReader) -> LogFilter:
    emitter, mask = source.take(ADDRESS_BYTES), source.number(1)
    # As in the contract, bits 4 to 7 count too: a log has no such topics, so it does not match.
    topics = [source.take(HASH_BYTES) if mask >> i & 1 else None for i in range(8)]
    return canonical_filter(emitter, topics)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFact(EventFact):
    kind = "LOG"
    pattern = f"LOG:{INDEX_PATTERN}:{INDEX_PATTERN}"
    view = "logHash(uint256,uint256,uint256)"
    field = HeaderField.RECEIPTS_ROOT
    event_list = EventList.LOGS
    member = "logs"
    forms = (
        frozenset({"transaction", "log"}),
        frozenset({"logIndex"}),
        frozenset({"address"}),
        frozenset({"address", "topics"}),
    )
    is_of_transaction = True

    log: int  # its index in the receipt

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.key}:{self.log}"

    @classmethod
    def from_name(cls, name: str) -> Self:
        _, index, log = name.split(":")
        return cls(int(index), log=int(log))

    @property
    def position(self) -> tuple[int, int]:
        return self.key, self.log

    def arguments(self, block: int) -> tuple[Argument, ...]:
        return block, self.key, self.log

    @classmethod
    def find(cls, content: BlockLists, item: Any) -> Iterable[Self]:
        if "log" in item:
            return [cls(transaction_index(content, item["transaction"]), log=item["log"])]
        facts = [
            (cls(index, log=place), log)
            for index, receipt in enumerate(content.receipts)
            for place, log in enumerate(receipt.logs)
        ]
        if "logIndex" in item:
            return [entry_at(facts, item["logIndex"], "log")[0]]
        emitter, topics = bytes.fromhex(item["address"][2:]), item.get("topics", ())
        matches = [
            fact for fact, log in facts if log.emitter == emitter and _has_topics(log, topics)
        ]
        if not matches:
            raise ItemMissingError("no log of the block matches; ask for its absence instead")
        return matches

    def read(self, content: BlockLists) -> tuple[bytes, Details]:
        logs = receipt_at(content, self.key).logs
        log = entry_at(logs, self.log, "log", f"transaction {self.key:,}")
        earlier_count = sum(len(receipt.logs) for receipt in content.receipts[: self.key])
        return log.hash, {
            "transactionIndex": self.key,
            "log": self.log,
            "logIndex": earlier_count + self.log,
            "address": checksum_address(log.emitter),
            "topics": [f"0x{topic.hex()}" for topic in log.topics],
            "data": f"0x{log.data.hex()}",
        }

    def report(self, word: bytes, log: Log | None) -> tuple[str, str]:
        name, value = f"log {self.log} of transaction {self.key}", f"hash 0x{word.hex()}"
        if log:
            topics = ", ".join(f"0x{topic.hex()}" for topic in log.topics) or "none"
            emitter, data = checksum_address(log.emitter), log.data.hex()
            value = f"by {emitter}, topics {topics}, data 0x{data}"
        return name, value


def _has_topics(log: Log, lists: Sequence[Sequence[str] | None]) -> bool:
    """Whether the log's topics are in these lists, by position; None: any topic."""
    topics = [f"0x{topic.hex()}" for topic in log.topics]
    return len(topics) >= len(lists) and all(
        choices is None or topic in choices for topic, choices in zip(topics, lists, strict=False)
    )


def encode_log(log: Log, *, is_fact: bool) -> bytes:
    form = len(log.topics) | IS_FACT * is_fact
    size = len(log.data).to_bytes(3, "big")
    return b"".join((bytes((form,)), size, log.emitter, *log.topics, log.data))


def read_log(source: WitnessReader) -> tuple[Log, bool]:
    """Read a log, and whether it is a fact."""
    form, size = source.number(1), source.number(3)
    emitter = source.take(ADDRESS_BYTES)
    topics = tuple(source.take(HASH_BYTES) for _ in range(form & ~IS_FACT))
    return Log(emitter, topics, source.take(size)), bool(form & IS_FACT)
