"""Facts about a block: their kinds, their names, and the contract views that return them.

The names are those of proof files. The API has the same, but for times:

    BALANCE  GAS_USED                the field of an account or of the block's header
    0x<slot>                         the slot of an account
    1700000000                       the block at this Unix time
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

from queries.proving.block_items import Log, Withdrawal, receipt_word
from queries.proving.headers import HeaderField
from queries.proving.keccak import HASH_BYTES, keccak256, number_word
from queries.proving.witnesses import AccountField


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


ACCOUNT_KINDS = frozenset((FactKind.ACCOUNT_FIELD, FactKind.STORAGE_SLOT))
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
class BlockFact:
    """A fact about a block. A registry stores its word, or for events the verifier beside it.

    >>> BlockFact.parse("LOG:3:0")
    BlockFact(kind=<FactKind.LOG: 'LOG'>, key=3, account=b'', log=0, filter=None, item=b'')
    """

    kind: FactKind
    key: int = 0  # a field's number, slot, Unix time, or index of a transaction or withdrawal
    account: bytes = b""  # of the field or slot
    log: int = 0  # LOG: its index in the receipt
    filter: LogFilter | None = None  # ABSENT_LOG
    item: bytes = b""  # SILENT_BLOCK: an emitter or a topic

    @property
    def is_event(self) -> bool:
        """Whether it is about a log, receipt, transaction or withdrawal, or the absence of one."""
        return self.kind in EVENT_KINDS

    @property
    def field(self) -> HeaderField:
        """The header field whose root or bloom proves this event."""
        return _EVENT_FIELDS[self.kind]

    @property
    def transaction(self) -> int | None:
        """The index of the event's transaction, or None."""
        return self.key if self.kind in _KINDS_OF_TRANSACTIONS else None

    @property
    def name(self) -> str:
        name = f"{self.kind}:{self.key}"
        match self.kind:
            case FactKind.ACCOUNT_FIELD:
                name = AccountField(self.key).name
            case FactKind.STORAGE_SLOT:
                name = f"0x{self.key:064x}"
            case FactKind.HEADER_FIELD:
                name = HeaderField(self.key).name
            case FactKind.BLOCK_AT_TIME:
                name = str(self.key)
            case FactKind.LOG:
                name += f":{self.log}"
            case FactKind.ABSENT_LOG if self.filter:
                topics = [f"0x{topic.hex()}" if topic else "" for topic in self.filter.topics]
                name += f":0x{self.filter.emitter.hex()}:{','.join(topics)}"
            case FactKind.SILENT_BLOCK:
                name = f"{self.kind}:0x{self.item.hex()}"
        return name

    @property
    def sort_key(self) -> tuple[str, int, int, str]:
        return self.kind, self.key, self.log, self.name

    @classmethod
    def parse(cls, name: str, account: bytes = b"") -> Self | None:
        """The fact of this name, or None. `account`: of whom it is, unless of the block."""
        if account:
            if name in AccountField.__members__:
                return cls(FactKind.ACCOUNT_FIELD, AccountField[name], account)
            is_slot = re.fullmatch(_TOPIC, name)
            return cls(FactKind.STORAGE_SLOT, int(name, 16), account) if is_slot else None
        if name in HeaderField.__members__:
            return cls(FactKind.HEADER_FIELD, HeaderField[name])
        if re.fullmatch("[0-9]{1,78}", name):
            return cls(FactKind.BLOCK_AT_TIME, int(name))
        return cls._parse_event(name)

    @classmethod
    def _parse_event(cls, name: str) -> Self | None:
        kind_name, _, rest = name.partition(":")
        kind = FactKind.__members__.get(kind_name)
        match = re.fullmatch(_EVENT_PATTERNS[kind], rest) if kind in _EVENT_PATTERNS else None
        if not (kind and match):
            return None
        if kind is FactKind.SILENT_BLOCK:
            return cls(kind, item=bytes.fromhex(match[1][2:]))
        index = int(match[1])
        if kind is FactKind.LOG:
            return cls(kind, index, log=int(match[2]))
        if kind is FactKind.ABSENT_LOG:
            topics = tuple(bytes.fromhex(text[2:]) or None for text in match[3].split(","))
            return cls(kind, index, filter=canonical_filter(bytes.fromhex(match[2][2:]), topics))
        return cls(kind, index)

    @property
    def view(self) -> str:
        """The view that returns its word, and reverts if it is not proven. Of an absence, the view
        returns whether it is proven.
        """
        return _RULES[self.kind].view

    @property
    def try_view(self) -> str:
        """The view that returns whether it is proven and, unless it is an absence, its value."""
        is_absence = self.kind in ABSENCE_KINDS
        return self.view if is_absence else f"try{self.view[0].upper()}{self.view[1:]}"

    def arguments(self, block: int) -> tuple[Argument, ...]:
        """The arguments of both views."""
        arguments: tuple[Argument, ...] = (block, self.key)
        match self.kind:
            case FactKind.ACCOUNT_FIELD:
                arguments = self.account, block, self.key
            case FactKind.STORAGE_SLOT:
                arguments = self.account, block, number_word(self.key)
            case FactKind.BLOCK_AT_TIME:
                arguments = (self.key,)
            case FactKind.LOG:
                arguments = block, self.key, self.log
            case FactKind.ABSENT_TRANSACTION | FactKind.ABSENT_WITHDRAWAL:
                arguments = block, int(self.field), self.key
            case FactKind.ABSENT_LOG if self.filter:
                topics = self.filter.required_topics
                arguments = block, self.key, self.filter.emitter, self.filter.mask, topics
            case FactKind.SILENT_BLOCK:
                is_topic = len(self.item) == HASH_BYTES
                arguments = block, is_topic, self.item.rjust(HASH_BYTES, b"\0")
        return arguments

    def view_call(self, block: int) -> bytes:
        """The calldata of `try_view`."""
        return encode_view_call(self.try_view, self.arguments(block))

    def decode(self, answer: bytes) -> bytes | None:
        """The word in the answer of `try_view`, or None if the fact is not proven.

        Raises `ValueError` if the answer is malformed for this view.
        """
        words = [answer[start : start + 32] for start in range(0, len(answer), 32)]
        count = {FactKind.RECEIPT: 7, FactKind.WITHDRAWAL: 7}.get(self.kind, 2)
        if self.kind in ABSENCE_KINDS:
            count, words = 2, [*words, ABSENCE_WORD]
        if len(words) != count or any(len(word) != HASH_BYTES for word in words):
            raise ValueError("the answer has the wrong length")
        is_proven, *numbers = map(int.from_bytes, words)
        if is_proven > 1:
            raise ValueError("the answer does not begin with a bool")
        if not is_proven:
            return None
        try:
            if self.kind is FactKind.RECEIPT:
                _, _, status, kind, gas, logs = numbers
                return receipt_word(status, kind, gas, logs)
            if self.kind is FactKind.WITHDRAWAL:
                _, _, index, validator, recipient, amount = numbers
                return Withdrawal(index, validator, recipient.to_bytes(20), amount).hash
        except OverflowError:
            raise ValueError("the answer has a number that is too large") from None
        return words[1]


def canonical_filter(emitter: bytes, topics: Iterable[bytes | None]) -> LogFilter:
    """The filter without trailing topics that match any."""
    topic_list = list(topics)
    while topic_list and topic_list[-1] is None:
        topic_list.pop()
    return LogFilter(emitter, tuple(topic_list))


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
