"""Witnesses of chosen groups, also of several blocks, and proofs for the peer's interface."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from queries.compat.peer_proofs import LogPosition
from queries.proving.block_items import BlockItem, Receipt, Withdrawal
from queries.proving.event_witness import count_facts, encode_list_group
from queries.proving.facts.absences import (
    AbsentLogFact,
    AbsentTransactionFact,
    SilentBlockFact,
    encode_bloom_group,
)
from queries.proving.facts.events import EventFact, EventList, ItemFact
from queries.proving.facts.kinds import END_KINDS, ITEM_KINDS
from queries.proving.facts.logs import LogFact, LogFilter
from queries.proving.facts.receipts import ReceiptFact
from queries.proving.facts.transactions import TransactionFact
from queries.proving.facts.withdrawals import WithdrawalFact
from queries.proving.headers import HeaderField


class Group(ABC):
    """Facts under one header field."""

    field: HeaderField
    counts: dict[EventList, int]

    @abstractmethod
    def encode(self) -> bytes: ...


class _ListGroup(Group):
    """`stated`: the items at the leaves, which tests change; the nodes are those of the list."""

    def __init__(self, items: Sequence[BlockItem], facts: Sequence[EventFact]) -> None:
        self._items, self._facts, self.stated = items, facts, list(items)
        self.counts = dict(zip(EventList, count_facts(facts), strict=True))

    def encode(self) -> bytes:
        content = encode_list_group(self.field, self._items, self._facts)
        encode_leaf = ITEM_KINDS[self.field].encode_leaf
        for index, (item, stated) in enumerate(zip(self._items, self.stated, strict=True)):
            if stated != item:
                facts = [fact for fact in self._facts if fact.key == index]
                content = content.replace(encode_leaf(item, facts), encode_leaf(stated, facts))
        return content


def _item_facts(
    kind: type[ItemFact], items: Sequence[BlockItem], indexes: Sequence[int]
) -> list[EventFact]:
    end_kind = END_KINDS[kind.field]
    return [kind(i) if i < len(items) else end_kind(i) for i in dict.fromkeys(indexes)]


class TransactionGroup(_ListGroup):
    field = HeaderField.TRANSACTIONS_ROOT

    def __init__(self, transactions: Sequence[bytes], indexes: Sequence[int]) -> None:
        super().__init__(transactions, _item_facts(TransactionFact, transactions, indexes))


class WithdrawalGroup(_ListGroup):
    field = HeaderField.WITHDRAWALS_ROOT

    def __init__(self, withdrawals: Sequence[Withdrawal], indexes: Sequence[int]) -> None:
        super().__init__(withdrawals, _item_facts(WithdrawalFact, withdrawals, indexes))


@dataclass(frozen=True, slots=True)
class ReceiptRequest:
    """What to prove of a receipt: its own fields, logs by their index in it, absent logs."""

    receipt: bool = False
    logs: frozenset[int] = frozenset()
    absent: tuple[LogFilter, ...] = ()

    def facts(self, index: int) -> list[EventFact]:
        receipts = [ReceiptFact(index)] * self.receipt
        logs = [LogFact(index, log=log) for log in sorted(self.logs)]
        absent = [AbsentLogFact(index, filter=filter_) for filter_ in self.absent]
        return [*receipts, *logs, *absent]


class ReceiptGroup(_ListGroup):
    field = HeaderField.RECEIPTS_ROOT

    def __init__(self, receipts: Sequence[Receipt], requests: Mapping[int, ReceiptRequest]) -> None:
        count = len(receipts)
        facts: list[EventFact] = [
            AbsentTransactionFact(index) for index in requests if index >= count
        ]
        for index, request in requests.items():
            facts += request.facts(index) if index < count else []
        super().__init__(receipts, facts)
        # Receipts of which nothing is proven.
        empty = [index for index in requests if index not in {fact.key for fact in facts}]
        self._facts = [*facts, *map(AbsentTransactionFact, empty)]


class BloomGroup(Group):
    field = HeaderField.LOGS_BLOOM

    def __init__(self, bloom: bytes, items: Sequence[bytes]) -> None:
        self._bloom, self._items = bloom, items
        self.counts = {EventList.SILENT_BLOCKS: len(items)}

    def encode(self) -> bytes:
        return encode_bloom_group(self._bloom, [SilentBlockFact(item=item) for item in self._items])


def build_group_witness(groups: Sequence[Group], numbers: Sequence[int] | None = None) -> bytes:
    """Encode these groups, with the blocks' numbers if no section states their header fields."""
    counts = Counter[EventList]()
    for group in groups:
        counts.update(group.counts)
    parts = [counts[kind].to_bytes(2) for kind in EventList]
    for position, group in enumerate(groups):
        number = b"" if numbers is None else numbers[position].to_bytes(8)
        parts += [bytes((group.field,)), number, group.encode()]
    return b"".join(parts)


def encode_peer_proof(position: LogPosition, section: bytes, receipts: Sequence[Receipt]) -> bytes:
    """Prove a log by its block's receipts and a section that states their root.

    Without a section, the registry has to store the root.
    """
    request = ReceiptRequest(logs=frozenset({position.log}))
    group = ReceiptGroup(receipts, {position.transaction: request})
    witness = build_group_witness([group], None if section else [position.block])
    return b"".join((b"\0", position.encode(), len(section).to_bytes(3), section, witness))
