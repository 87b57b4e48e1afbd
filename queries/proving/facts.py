"""The kinds of facts, the contract views that return them, and the names of facts of events.

The names are those of the API and of proof files:

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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Self

from queries.proving.block_items import Log
from queries.proving.headers import HeaderField
from queries.proving.keccak import HASH_BYTES, keccak256, number_word


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


class _KindRule(NamedTuple):
    view: str  # of the registry, or for facts of events of the events verifier
    name_pattern: str = ""  # of a fact of an event, after its kind
    field: HeaderField | None = None  # whose root or bloom proves a fact of an event


_RULES = {
    FactKind.ACCOUNT_FIELD: _KindRule("accountField(address,uint256,uint8)"),
    FactKind.STORAGE_SLOT: _KindRule("accountStorageSlotValues(address,uint256,bytes32)"),
    FactKind.HEADER_FIELD: _KindRule("headerField(uint256,uint8)"),
    FactKind.BLOCK_AT_TIME: _KindRule("blockNumberAt(uint256)"),
    FactKind.LOG: _KindRule(
        "logHash(uint256,uint256,uint256)", f"{_INDEX}:{_INDEX}", HeaderField.RECEIPTS_ROOT
    ),
    FactKind.RECEIPT: _KindRule("receiptOf(uint256,uint256)", _INDEX, HeaderField.RECEIPTS_ROOT),
    FactKind.TRANSACTION: _KindRule(
        "transactionHash(uint256,uint256)", _INDEX, HeaderField.TRANSACTIONS_ROOT
    ),
    FactKind.WITHDRAWAL: _KindRule(
        "withdrawalOf(uint256,uint256)", _INDEX, HeaderField.WITHDRAWALS_ROOT
    ),
    FactKind.ABSENT_TRANSACTION: _KindRule(
        "isIndexAbsent(uint256,uint8,uint256)", _INDEX, HeaderField.TRANSACTIONS_ROOT
    ),
    FactKind.ABSENT_WITHDRAWAL: _KindRule(
        "isIndexAbsent(uint256,uint8,uint256)", _INDEX, HeaderField.WITHDRAWALS_ROOT
    ),
    FactKind.ABSENT_LOG: _KindRule(
        "isLogAbsent(uint256,uint256,address,uint8,bytes32[])",
        f"{_INDEX}:({_EMITTER}):((?:{_TOPIC})?(?:,(?:{_TOPIC})?){{0,3}})",
        HeaderField.RECEIPTS_ROOT,
    ),
    FactKind.SILENT_BLOCK: _KindRule(
        "isBlockSilent(uint256,bool,bytes32)", f"({_EMITTER}|{_TOPIC})", HeaderField.LOGS_BLOOM
    ),
}
VIEWS = {kind: rule.view for kind, rule in _RULES.items()}
_EVENT_PATTERNS = {kind: rule.name_pattern for kind, rule in _RULES.items() if rule.field}
_EVENT_FIELDS = {kind: rule.field for kind, rule in _RULES.items() if rule.field}
EVENT_KINDS = frozenset(_EVENT_FIELDS)
EVENT_FIELDS = frozenset(_EVENT_FIELDS.values())
EVENT_NAME = "|".join(f"{kind}:{pattern}" for kind, pattern in _EVENT_PATTERNS.items())
_KINDS_OF_TRANSACTIONS = frozenset(
    {FactKind.LOG, FactKind.RECEIPT, FactKind.TRANSACTION, FactKind.ABSENT_LOG}
)
Argument = int | bytes | list[bytes]  # of a view


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


@dataclass(frozen=True, slots=True)
class EventFact:
    """A log, receipt, transaction or withdrawal of a block, or the absence of one."""

    kind: FactKind
    index: int = 0  # of the transaction or withdrawal
    log: int = 0  # in its receipt
    filter: LogFilter | None = None  # ABSENT_LOG
    item: bytes = b""  # SILENT_BLOCK: an emitter or a topic

    @property
    def field(self) -> HeaderField:
        """The header field whose root or bloom proves it."""
        return _EVENT_FIELDS[self.kind]

    @property
    def transaction(self) -> int | None:
        """The index of its transaction, or None."""
        return self.index if self.kind in _KINDS_OF_TRANSACTIONS else None

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
        kind = FactKind.__members__.get(kind_name)
        match = re.fullmatch(_EVENT_PATTERNS[kind], rest) if kind in _EVENT_PATTERNS else None
        if not (kind and match):
            return None
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
    """The filter without trailing topics that match any."""
    topic_list = list(topics)
    while topic_list and topic_list[-1] is None:
        topic_list.pop()
    return LogFilter(emitter, tuple(topic_list))


def try_view(kind: FactKind) -> str:
    """The view that returns whether the fact is proven and, unless it is an absence, its value."""
    view = VIEWS[kind]
    return view if kind in ABSENCE_KINDS else f"try{view[0].upper()}{view[1:]}"


def view_arguments(
    kind: FactKind, key: int, block: int, account: bytes, event: EventFact | None = None
) -> tuple[Argument, ...]:
    """The arguments of a fact's view. `key`: a field's number, a slot, or Unix time."""
    if event:
        return block, *_event_arguments(event)
    match kind:
        case FactKind.ACCOUNT_FIELD:
            return account, block, key
        case FactKind.STORAGE_SLOT:
            return account, block, number_word(key)
        case FactKind.HEADER_FIELD:
            return block, key
        case FactKind.BLOCK_AT_TIME:
            return (key,)
    raise ValueError(f"no contract stores a {kind}")


def _event_arguments(event: EventFact) -> tuple[Argument, ...]:
    match event.kind:
        case FactKind.LOG:
            return event.index, event.log
        case FactKind.ABSENT_TRANSACTION | FactKind.ABSENT_WITHDRAWAL:
            return int(event.field), event.index
        case FactKind.ABSENT_LOG if event.filter:
            topics = event.filter.required_topics
            return event.index, event.filter.emitter, event.filter.mask, topics
        case FactKind.SILENT_BLOCK:
            return len(event.item) == HASH_BYTES, event.item.rjust(HASH_BYTES, b"\0")
    return (event.index,)


def encode_view_call(signature: str, arguments: Sequence[Argument]) -> bytes:
    """The calldata; only lists have a dynamic type."""
    heads, tails = b"", b""
    for argument in arguments:
        if isinstance(argument, list):
            heads += number_word(HASH_BYTES * len(arguments) + len(tails))
            tails += number_word(len(argument)) + b"".join(argument)
        elif isinstance(argument, bytes):
            heads += argument.rjust(HASH_BYTES, b"\0")
        else:
            heads += number_word(argument)
    return keccak256(signature.encode())[:4] + heads + tails
