"""The kinds of facts; and facts about what a block contains, under the names that answers and files
use.

    LOG:3:0                          the transaction's index, and the log's index in its receipt
    RECEIPT:3  TRANSACTION:3         the transaction's index
    WITHDRAWAL:2                     its position in the block
    ABSENT_TRANSACTION:150           the block has at most 150 transactions
    ABSENT_WITHDRAWAL:16             the block has at most 16 withdrawals
    ABSENT_LOG:3:0x<emitter>:0x<topic>,,0x<topic>
                                     no log of this receipt is by this emitter and has these topics
    SILENT_BLOCK:0x<emitter or topic>
                                     no log of the block has it
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from queries.proving.block_items import Log
from queries.proving.headers import HeaderField
from queries.proving.keccak import number_word


class FactKind(StrEnum):
    """The kinds of facts, as the names of the API and the file."""

    ACCOUNT_FIELD = "ACCOUNT_FIELD"
    STORAGE_SLOT = "STORAGE_SLOT"
    HEADER_FIELD = "HEADER_FIELD"
    BLOCK_AT_TIME = "BLOCK_AT_TIME"
    LOG = "LOG"
    RECEIPT = "RECEIPT"
    TRANSACTION = "TRANSACTION"
    WITHDRAWAL = "WITHDRAWAL"
    ABSENT_TRANSACTION = "ABSENT_TRANSACTION"
    ABSENT_WITHDRAWAL = "ABSENT_WITHDRAWAL"
    ABSENT_LOG = "ABSENT_LOG"
    SILENT_BLOCK = "SILENT_BLOCK"


ABSENCE_WORD = number_word(1)  # of a fact that says that something is absent
ABSENCE_KINDS = frozenset(kind for kind in FactKind if kind.startswith(("ABSENT_", "SILENT_")))
MAX_INDEX = 65_535
_INDEX = "(0|[1-9][0-9]{0,4})"
_TOPIC = "0x[0-9a-f]{64}"
_EMITTER = "0x[0-9a-f]{40}"
_FORMS = {
    FactKind.LOG: f"{_INDEX}:{_INDEX}",
    FactKind.RECEIPT: _INDEX,
    FactKind.TRANSACTION: _INDEX,
    FactKind.WITHDRAWAL: _INDEX,
    FactKind.ABSENT_TRANSACTION: _INDEX,
    FactKind.ABSENT_WITHDRAWAL: _INDEX,
    FactKind.ABSENT_LOG: f"{_INDEX}:({_EMITTER}):((?:{_TOPIC})?(?:,(?:{_TOPIC})?){{0,3}})",
    FactKind.SILENT_BLOCK: f"({_EMITTER}|{_TOPIC})",
}
EVENT_KINDS = frozenset(_FORMS)
OF_TRANSACTION = frozenset(
    {FactKind.LOG, FactKind.RECEIPT, FactKind.TRANSACTION, FactKind.ABSENT_LOG}
)
EVENT_NAME = "|".join(f"{kind}:{form}" for kind, form in _FORMS.items())  # a pattern
# The header field whose root or bloom proves the fact.
_FIELDS = {
    FactKind.LOG: HeaderField.RECEIPTS_ROOT,
    FactKind.RECEIPT: HeaderField.RECEIPTS_ROOT,
    FactKind.TRANSACTION: HeaderField.TRANSACTIONS_ROOT,
    FactKind.WITHDRAWAL: HeaderField.WITHDRAWALS_ROOT,
    FactKind.ABSENT_TRANSACTION: HeaderField.TRANSACTIONS_ROOT,
    FactKind.ABSENT_WITHDRAWAL: HeaderField.WITHDRAWALS_ROOT,
    FactKind.ABSENT_LOG: HeaderField.RECEIPTS_ROOT,
    FactKind.SILENT_BLOCK: HeaderField.LOGS_BLOOM,
}
EVENT_FIELDS = frozenset(_FIELDS.values())


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Logs by an emitter, with given topics in given places; None is any topic."""

    emitter: bytes
    topics: tuple[bytes | None, ...] = ()

    @property
    def mask(self) -> int:
        return sum(1 << place for place, topic in enumerate(self.topics) if topic is not None)

    @property
    def named_topics(self) -> list[bytes]:
        return [topic for topic in self.topics if topic is not None]

    def matches(self, log: Log) -> bool:
        return log.emitter == self.emitter and all(
            topic is None or (place < len(log.topics) and log.topics[place] == topic)
            for place, topic in enumerate(self.topics)
        )

    def encode(self) -> bytes:
        return b"".join((self.emitter, bytes((self.mask,)), *self.named_topics))


@dataclass(frozen=True, slots=True)
class EventFact:
    """A log, receipt, transaction or withdrawal of a block, or that something is not in it."""

    kind: FactKind
    index: int = 0  # of the transaction or withdrawal
    log: int = 0  # in its receipt
    filter: LogFilter | None = None  # ABSENT_LOG
    item: bytes = b""  # SILENT_BLOCK: an emitter or a topic

    @property
    def field(self) -> HeaderField:
        """The header field whose root or bloom proves it."""
        return _FIELDS[self.kind]

    @property
    def transaction(self) -> int | None:
        """The index of the transaction that it is about."""
        return self.index if self.kind in OF_TRANSACTION else None

    @property
    def name(self) -> str:
        match self.kind:
            case FactKind.LOG:
                return f"{self.kind}:{self.index}:{self.log}"
            case FactKind.ABSENT_LOG if self.filter:
                topics = [f"0x{topic.hex()}" if topic else "" for topic in self.filter.topics]
                return f"{self.kind}:{self.index}:0x{self.filter.emitter.hex()}:{','.join(topics)}"
            case FactKind.SILENT_BLOCK:
                return f"{self.kind}:0x{self.item.hex()}"
        return f"{self.kind}:{self.index}"

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """The fact of this name, or None."""
        kind_name, _, rest = name.partition(":")
        form = _FORMS.get(FactKind.__members__.get(kind_name, FactKind.BLOCK_AT_TIME))
        match = re.fullmatch(form, rest) if form else None
        if not match:
            return None
        kind = FactKind[kind_name]
        if kind is FactKind.SILENT_BLOCK:
            return cls(kind, item=bytes.fromhex(match[1][2:]))
        index = int(match[1])
        if kind is FactKind.LOG:
            return cls(kind, index, int(match[2]))
        if kind is FactKind.ABSENT_LOG:
            topics = tuple(bytes.fromhex(text[2:]) or None for text in match[3].split(","))
            return cls(kind, index, filter=canonical_filter(bytes.fromhex(match[2][2:]), topics))
        return cls(kind, index)


def canonical_filter(emitter: bytes, topics: Iterable[bytes | None]) -> LogFilter:
    """The filter without trailing topics that may be any."""
    listed = list(topics)
    while listed and listed[-1] is None:
        listed.pop()
    return LogFilter(emitter, tuple(listed))
