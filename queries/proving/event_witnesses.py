"""Encode the witness of an EventsVerifier: what blocks contain, in few bytes.

    witness  7 times uint16 number of facts in each list of `EventFacts`, then groups
    group    uint8 header field; uint64 block number, unless a section states the field;
             of a list: uint16 indexes, uint16 each, the nodes of its trie
             of a bloom: 256 bytes, uint16 items, each uint8 0 and 20 emitter, or 1 and 32 topic

`IndexTrie.sol` describes the nodes, `BlockItems.sol` what stands at a leaf.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from queries.proving.block_items import (
    BLOOM_BYTES,
    STATE_ROOT_STATUS,
    Log,
    Receipt,
    Withdrawal,
    logs_bloom,
)
from queries.proving.errors import ArgumentMalformedError
from queries.proving.headers import HeaderField
from queries.proving.index_tries import IndexTrie, IndexTrieNode, index_path
from queries.proving.keccak import HASH_BYTES
from queries.proving.tries import NO_CHILD, Branch, Extension, Leaf
from queries.proving.witnesses import NodeKind, encode_masks, pack_path

BLOOM_SENT = 0x40
IS_FACT = 0x80
# With more emitters and topics in a receipt it is cheaper to send the bloom than to derive it.
MAX_DERIVED_ITEMS = 30


class FactList(IntEnum):
    """The lists of `EventFacts`."""

    LOGS = 0
    RECEIPTS = 1
    TRANSACTIONS = 2
    WITHDRAWALS = 3
    ABSENT_INDEXES = 4
    ABSENT_LOGS = 5
    SILENT_BLOCKS = 6


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Logs by an emitter, with given topics in given places; None is any topic."""

    emitter: bytes
    topics: tuple[bytes | None, ...] = ()

    @property
    def mask(self) -> int:
        return sum(1 << place for place, topic in enumerate(self.topics) if topic is not None)

    def matches(self, log: Log) -> bool:
        return log.emitter == self.emitter and all(
            topic is None or (place < len(log.topics) and log.topics[place] == topic)
            for place, topic in enumerate(self.topics)
        )

    def encode(self) -> bytes:
        named = [topic for topic in self.topics if topic is not None]
        return b"".join((self.emitter, bytes((self.mask,)), *named))


@dataclass(frozen=True, slots=True)
class ReceiptRequest:
    """What to prove of a receipt: its own fields, logs by their index in it, absent logs."""

    receipt: bool = False
    logs: frozenset[int] = frozenset()
    absent: tuple[LogFilter, ...] = ()


class Group(ABC):
    """Facts under one header field."""

    field: HeaderField
    counts: dict[FactList, int]

    @abstractmethod
    def encode(self) -> bytes: ...


class _ListGroup(Group):
    """Facts about a list of a block; indexes at its end or beyond are proven absent."""

    def __init__(self, values: Sequence[bytes], indexes: Sequence[int]) -> None:
        self._length = len(values)
        self._trie = IndexTrie(values)
        self._indexes = sorted(set(indexes), key=index_path)
        absent = sum(index >= self._length for index in self._indexes)
        self.counts = {FactList.ABSENT_INDEXES: absent}

    def encode(self) -> bytes:
        named = b"".join(index.to_bytes(2, "big") for index in self._indexes)
        return _encode_count(len(self._indexes)) + named + self._encode_root()

    def _encode_root(self) -> bytes:
        if self._trie.top is None:
            return bytes((NodeKind.NONE,))
        return _encode_node(self._trie.top, self._indexes, 0, self._encode_value)

    @abstractmethod
    def _encode_value(self, index: int) -> bytes: ...


class TransactionGroup(_ListGroup):
    field = HeaderField.TRANSACTIONS_ROOT

    def __init__(self, transactions: Sequence[bytes], indexes: Sequence[int]) -> None:
        super().__init__(transactions, indexes)
        self._transactions = transactions
        present = len(self._indexes) - self.counts[FactList.ABSENT_INDEXES]
        self.counts |= {FactList.TRANSACTIONS: present}

    def _encode_value(self, index: int) -> bytes:
        transaction = self._transactions[index]
        return len(transaction).to_bytes(3, "big") + transaction


class WithdrawalGroup(_ListGroup):
    field = HeaderField.WITHDRAWALS_ROOT

    def __init__(self, withdrawals: Sequence[Withdrawal], indexes: Sequence[int]) -> None:
        super().__init__([withdrawal.encode() for withdrawal in withdrawals], indexes)
        self._withdrawals = withdrawals
        present = len(self._indexes) - self.counts[FactList.ABSENT_INDEXES]
        self.counts |= {FactList.WITHDRAWALS: present}

    def _encode_value(self, index: int) -> bytes:
        withdrawal = self._withdrawals[index]
        return b"".join(
            (
                withdrawal.index.to_bytes(8, "big"),
                withdrawal.validator.to_bytes(8, "big"),
                withdrawal.recipient,
                withdrawal.amount.to_bytes(8, "big"),
            )
        )


class ReceiptGroup(_ListGroup):
    field = HeaderField.RECEIPTS_ROOT

    def __init__(self, receipts: Sequence[Receipt], requests: Mapping[int, ReceiptRequest]) -> None:
        super().__init__([receipt.encoded for receipt in receipts], list(requests))
        self._receipts = receipts
        self._requests = requests
        present = [request for index, request in requests.items() if index < len(receipts)]
        self.counts |= {
            FactList.RECEIPTS: sum(request.receipt for request in present),
            FactList.LOGS: sum(len(request.logs) for request in present),
            FactList.ABSENT_LOGS: sum(len(request.absent) for request in present),
        }

    def _encode_value(self, index: int) -> bytes:
        receipt, request = self._receipts[index], self._requests[index]
        if isinstance(receipt.status, bytes):
            status, root = STATE_ROOT_STATUS, receipt.status
        else:
            status, root = receipt.status, b""
        gas = receipt.cumulative_gas.to_bytes((receipt.cumulative_gas.bit_length() + 7) // 8, "big")
        bloom = b""
        form = status | IS_FACT * request.receipt
        if sum(1 + len(log.topics) for log in receipt.logs) > MAX_DERIVED_ITEMS:
            form |= BLOOM_SENT
            bloom = logs_bloom(receipt.logs)
        return b"".join(
            (
                bytes((receipt.transaction_type, form, len(gas))),
                gas,
                root,
                bloom,
                _encode_count(len(receipt.logs)),
                *(
                    _encode_log(log, is_fact=i in request.logs)
                    for i, log in enumerate(receipt.logs)
                ),
                bytes((len(request.absent),)),
                *(absent.encode() for absent in request.absent),
            )
        )


class BloomGroup(Group):
    """Emitters and topics that a block's bloom shows to be absent."""

    field = HeaderField.LOGS_BLOOM

    def __init__(self, bloom: bytes, items: Sequence[bytes]) -> None:
        if len(bloom) != BLOOM_BYTES:
            raise ArgumentMalformedError(f"a bloom has {len(bloom)} bytes, not {BLOOM_BYTES}")
        self._bloom, self._items = bloom, items
        self.counts = {FactList.SILENT_BLOCKS: len(items)}

    def encode(self) -> bytes:
        items = (bytes((len(item) == HASH_BYTES,)) + item for item in self._items)
        return b"".join((self._bloom, _encode_count(len(self._items)), *items))


def build_event_witness(groups: Sequence[Group], numbers: Sequence[int] | None = None) -> bytes:
    """Encode these groups, with the blocks' numbers if no section states their header fields."""
    parts = [_encode_count(sum(group.counts.get(kind, 0) for group in groups)) for kind in FactList]
    for position, group in enumerate(groups):
        number = b"" if numbers is None else numbers[position].to_bytes(8, "big")
        parts += [bytes((group.field,)), number, group.encode()]
    return b"".join(parts)


def _encode_log(log: Log, *, is_fact: bool) -> bytes:
    form = len(log.topics) | IS_FACT * is_fact
    size = len(log.data).to_bytes(3, "big")
    return b"".join((bytes((form,)), size, log.emitter, *log.topics, log.data))


def _encode_node(
    top: IndexTrieNode, indexes: Sequence[int], depth: int, value: Callable[[int], bytes]
) -> bytes:
    """Encode a node and what lies below it, for these indexes, which share `depth` nibbles."""
    node = top.node
    if isinstance(node, Leaf):
        for position, index in enumerate(indexes):
            if index_path(index)[depth:] == node.path:
                return bytes((NodeKind.LEAF,)) + _encode_count(position) + value(index)
        size = len(node.value).to_bytes(3, "big")
        path = bytes((len(node.path),)) + pack_path(node.path)
        return bytes((NodeKind.OTHER,)) + path + size + node.value
    if isinstance(node, Extension):
        passing = [index for index in indexes if index_path(index).startswith(node.path, depth)]
        if not passing:
            child = node.child if len(node.child) < HASH_BYTES else b"\x00" + node.child
            return bytes((NodeKind.MISS, len(node.path))) + pack_path(node.path) + child
        below = _encode_node(top.below[node.path], passing, depth + len(node.path), value)
        which = _encode_count(indexes.index(passing[0]))
        return bytes((NodeKind.PASS,)) + which + bytes((len(node.path),)) + below
    return _encode_branch(top, node, indexes, depth, value)


def _encode_branch(
    top: IndexTrieNode,
    node: Branch,
    indexes: Sequence[int],
    depth: int,
    value: Callable[[int], bytes],
) -> bytes:
    others, parts = list(node.children), list(node.children)
    for nibble, child in enumerate(node.children):
        digit = f"{nibble:x}"
        inside = [index for index in indexes if index_path(index)[depth] == digit]
        if inside and child != NO_CHILD:
            others[nibble] = bytes(HASH_BYTES)  # its node follows
            parts[nibble] = _encode_node(top.below[digit], inside, depth + 1, value)
    return encode_masks(others) + b"".join(parts)


def _encode_count(number: int) -> bytes:
    return number.to_bytes(2, "big")
