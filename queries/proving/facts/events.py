"""Facts about a block's content: what their kinds define, and how they find items in it."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

from queries.proving.block_items import NEWEST_TYPE, BlockItem, Log, Receipt, Withdrawal
from queries.proving.errors import ItemMissingError, ItemNotProvableError
from queries.proving.facts.fact import Argument, BlockFact
from queries.proving.facts.headers import HeaderFieldFact
from queries.proving.headers import HeaderField
from queries.proving.keccak import number_word
from queries.proving.witnesses import WitnessReader

MAX_INDEX = 65_535
INDEX_PATTERN = "(0|[1-9][0-9]{0,4})"
EMITTER_PATTERN, TOPIC_PATTERN = "0x[0-9a-f]{40}", "0x[0-9a-f]{64}"
ABSENCE_WORD = number_word(1)  # of a fact that says that something is absent
IS_FACT = 0x80  # in a witness: the receipt or log is a fact, and not only beside one
Details = dict[str, object]  # of a fact, as in API responses
Entry = TypeVar("Entry")


class EventList(IntEnum):
    """The lists of `EventFacts`."""

    LOGS = 0
    RECEIPTS = 1
    TRANSACTIONS = 2
    WITHDRAWALS = 3
    ABSENT_INDEXES = 4
    ABSENT_LOGS = 5
    SILENT_BLOCKS = 6


class BlockLists(Protocol):
    """The lists and the bloom of a block."""

    @property
    def receipts(self) -> Sequence[Receipt]: ...

    @property
    def transactions(self) -> Sequence[bytes]: ...

    @property
    def withdrawals(self) -> Sequence[Withdrawal]: ...

    @property
    def indexes(self) -> Mapping[str, int]:
        """The transactions' indexes, by their hashes."""

    @property
    def bloom(self) -> bytes: ...

    def items(self, field: HeaderField) -> Sequence[BlockItem]:
        """The list to whose trie this header field commits."""


@dataclass(frozen=True, slots=True)
class EventFact(BlockFact):
    """A fact about a log, receipt, transaction or withdrawal, or about the absence of one."""

    is_event = is_unbounded = True
    field: ClassVar[HeaderField]  # whose root or bloom proves it
    event_list: ClassVar[EventList]  # in which the verifier returns it
    member: ClassVar[str]  # of a request for such facts
    forms: ClassVar[tuple[frozenset[str], ...]] = ()  # the members of its items, if objects
    is_of_transaction: ClassVar[bool] = False  # then the key is the transaction's index
    stored_words: ClassVar[int] = 1  # by the verifier

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.key}"

    @classmethod
    def from_name(cls, name: str) -> Self:
        return cls(int(name.partition(":")[2]))

    def arguments(self, block: int) -> tuple[Argument, ...]:
        return block, self.key

    @property
    def transaction(self) -> int | None:
        """The index of the transaction that it is about, or None."""
        return self.key if self.is_of_transaction else None

    @property
    def header_fact(self) -> HeaderFieldFact:
        """The header field that proves it."""
        return HeaderFieldFact(self.field)

    @classmethod
    @abstractmethod
    def find(cls, content: BlockLists, item: Any) -> Iterable[Self]:
        """The facts that an item of a request asks for; `read` checks them.

        Raises `ItemMissingError` if the block does not have what the item names.
        """

    @abstractmethod
    def read(self, content: BlockLists) -> tuple[bytes, Details]:
        """Return its word and details.

        Raises `ItemMissingError` or `NotAbsentError` if it is not true, and `ItemNotProvableError`.
        """

    def report(self, word: bytes, log: Log | None) -> tuple[str, str]:
        """Its name and value in the report about a proof file; `log`: of a fact about a log."""
        return f"{self.kind.lower()} {self.key}", f"hash 0x{word.hex()}"


class ItemLeaf(NamedTuple):
    """The content of a leaf in a witness."""

    encoding: bytes  # of the item
    facts: Sequence[tuple[EventFact, bytes]]  # with their words
    logs: Sequence[tuple[EventFact, Log]] = ()


@dataclass(frozen=True, slots=True)
class ItemFact(EventFact):
    """A fact about an item of a list, which defines the item's leaf in a witness."""

    @staticmethod
    @abstractmethod
    def encode_leaf(item: Any, facts: Iterable[EventFact]) -> bytes:
        """Encode the item, and which facts about it are proven."""

    @staticmethod
    @abstractmethod
    def read_leaf(source: WitnessReader, index: int) -> ItemLeaf: ...


def entry_at(
    entries: Sequence[Entry], index: int, noun: str, container: str = "the block"
) -> Entry:
    if index >= len(entries):
        raise ItemMissingError(
            f"there is no {noun} {index:,} in {container}, only {count_text(len(entries), noun)}"
        )
    return entries[index]


def transaction_index(content: BlockLists, transaction: int | str) -> int:
    """The index of the transaction with this hash or index."""
    if isinstance(transaction, int):
        return transaction
    if transaction not in content.indexes:
        raise ItemMissingError(f"the block has no transaction {transaction}")
    return content.indexes[transaction]


def receipt_at(content: BlockLists, index: int) -> Receipt:
    receipt = entry_at(content.receipts, index, "transaction")
    check_transaction_type(receipt.transaction_type, index)
    return receipt


def check_transaction_type(transaction_type: int, index: int) -> None:
    if transaction_type > NEWEST_TYPE:
        raise ItemNotProvableError(
            f"transaction {index:,} is of type {transaction_type:#04x}; types up to {NEWEST_TYPE} "
            "can be proven"
        )


def count_text(count: int, noun: str) -> str:
    """Such as `1 log` and `2,048 logs`."""
    return f"{count:,} {noun}{'s' * (count != 1)}"
