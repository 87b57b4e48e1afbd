"""Witnesses of chosen groups, also of several blocks, and proofs for the peer's interface."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from queries.compat.peer_proofs import LogPosition
from queries.proving.block_items import BlockItem, Receipt, Withdrawal
from queries.proving.event_witness import (
    EventList,
    count_facts,
    encode_bloom_group,
    encode_leaf,
    encode_list_group,
)
from queries.proving.facts import BlockFact, FactKind, LogFilter
from queries.proving.headers import HeaderField


class Group(ABC):
    """Facts under one header field."""

    field: HeaderField
    counts: dict[EventList, int]

    @abstractmethod
    def encode(self) -> bytes: ...


class _ListGroup(Group):
    """`stated`: the items at the leaves, which tests change; the nodes are those of the list."""

    def __init__(self, items: Sequence[BlockItem], facts: Sequence[BlockFact]) -> None:
        self._items, self._facts, self.stated = items, facts, list(items)
        self.counts = dict(zip(EventList, count_facts(facts), strict=True))

    def encode(self) -> bytes:
        content = encode_list_group(self._items, self._facts)
        for index, (item, stated) in enumerate(zip(self._items, self.stated, strict=True)):
            if stated != item:
                leaf = encode_leaf(self._items, self._facts, index)
                content = content.replace(leaf, encode_leaf(self.stated, self._facts, index))
        return content


class TransactionGroup(_ListGroup):
    field = HeaderField.TRANSACTIONS_ROOT

    def __init__(self, transactions: Sequence[bytes], indexes: Sequence[int]) -> None:
        kinds = FactKind.TRANSACTION, FactKind.ABSENT_TRANSACTION
        facts = [BlockFact(kinds[i >= len(transactions)], i) for i in dict.fromkeys(indexes)]
        super().__init__(transactions, facts)


class WithdrawalGroup(_ListGroup):
    field = HeaderField.WITHDRAWALS_ROOT

    def __init__(self, withdrawals: Sequence[Withdrawal], indexes: Sequence[int]) -> None:
        kinds = FactKind.WITHDRAWAL, FactKind.ABSENT_WITHDRAWAL
        facts = [BlockFact(kinds[i >= len(withdrawals)], i) for i in dict.fromkeys(indexes)]
        super().__init__(withdrawals, facts)


@dataclass(frozen=True, slots=True)
class ReceiptRequest:
    """What to prove of a receipt: its own fields, logs by their index in it, absent logs."""

    receipt: bool = False
    logs: frozenset[int] = frozenset()
    absent: tuple[LogFilter, ...] = ()

    def facts(self, index: int) -> list[BlockFact]:
        receipts = [BlockFact(FactKind.RECEIPT, index)] * self.receipt
        logs = [BlockFact(FactKind.LOG, index, log=log) for log in sorted(self.logs)]
        absent = [BlockFact(FactKind.ABSENT_LOG, index, filter=filter_) for filter_ in self.absent]
        return [*receipts, *logs, *absent]


class ReceiptGroup(_ListGroup):
    field = HeaderField.RECEIPTS_ROOT

    def __init__(self, receipts: Sequence[Receipt], requests: Mapping[int, ReceiptRequest]) -> None:
        absence, count = FactKind.ABSENT_TRANSACTION, len(receipts)
        facts = [BlockFact(absence, index) for index in requests if index >= count]
        for index, request in requests.items():
            facts += request.facts(index) if index < count else []
        super().__init__(receipts, facts)
        # Receipts of which nothing is proven.
        empty = [index for index in requests if index not in {fact.key for fact in facts}]
        self._facts = [*facts, *(BlockFact(absence, index) for index in empty)]


class BloomGroup(Group):
    field = HeaderField.LOGS_BLOOM

    def __init__(self, bloom: bytes, items: Sequence[bytes]) -> None:
        self._bloom, self._items = bloom, items
        self.counts = {EventList.SILENT_BLOCKS: len(items)}

    def encode(self) -> bytes:
        return encode_bloom_group(self._bloom, self._items)


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
