"""Witnesses for an events verifier that state what is not so."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from queries.proving.block_items import Withdrawal, bloom_excludes
from queries.proving.facts.events import EventList
from queries.proving.facts.logs import LogFilter
from queries.proving.headers import HeaderField
from queries.proving.index_tries import IndexTrie, IndexTrieNode
from queries.proving.tries import NO_CHILD, Branch
from queries.proving.witnesses import NodeKind, encode_masks
from tests.queries.contracts.recorded_events import (
    BLOOM,
    RECEIPTS,
    TRANSACTIONS,
    WITHDRAWALS,
    RecordedBlock,
    block_with,
)
from tests.queries.events.groups import (
    BloomGroup,
    Group,
    ReceiptGroup,
    ReceiptRequest,
    TransactionGroup,
    WithdrawalGroup,
)

RECEIPT = ReceiptRequest(receipt=True)
STATE_ROOT = HeaderField.STATE_ROOT
Block = RecordedBlock


Groups = Callable[[Block], Sequence[Group]]


@dataclass(frozen=True)
class Forgery:
    """A section and a witness; `error` is what they must be refused with."""

    groups: Groups
    error: str = "RootMismatch"
    fields: tuple[HeaderField, ...] = (RECEIPTS,)
    change: Callable[[bytes], bytes] = lambda witness: witness


def _receipt_with(**changes: object) -> Groups:
    """Receipt 1 and its first log, with other values than the block's."""

    def build(block: Block) -> list[Group]:
        group = ReceiptGroup(block.receipts, {1: ReceiptRequest(True, frozenset({0}))})
        group.stated[1] = replace(block.receipts[1], **changes)  # type: ignore[arg-type]
        return [group]

    return build


def _log_with(**changes: object) -> Groups:
    def build(block: Block) -> Sequence[Group]:
        first, *others = block.receipts[1].logs
        logs = replace(first, **changes), *others  # type: ignore[arg-type]
        return _receipt_with(logs=logs)(block)

    return build


def _withdrawal_with(**changes: object) -> Groups:
    def build(block: Block) -> list[Group]:
        group = WithdrawalGroup(block.withdrawals, [2])
        group.stated[2] = replace(block.withdrawals[2], **changes)  # type: ignore[arg-type]
        return [group]

    return build


def _transaction(change: Callable[[bytes], bytes]) -> Groups:
    def build(block: Block) -> list[Group]:
        group = TransactionGroup(block.transactions, [1])
        group.stated[1] = change(block.transactions[1])
        return [group]

    return build


def _receipts(*indexes: int) -> Groups:
    """The true groups of these receipts."""
    return lambda block: [ReceiptGroup(block.receipts, dict.fromkeys(indexes, RECEIPT))]


def _with_index(index: int) -> Callable[[bytes], bytes]:
    """Replace the first index of the first group."""
    at = 2 * 7 + 1 + 2
    return lambda witness: witness[:at] + index.to_bytes(2, "big") + witness[at + 2 :]


def _with_field(field: HeaderField) -> Callable[[bytes], bytes]:
    """Replace the field of the first group."""
    return lambda witness: witness[:14] + bytes((field,)) + witness[15:]


def _another_receipt(block: Block) -> list[Group]:
    group = ReceiptGroup(block.receipts, {1: RECEIPT})
    group.stated[1] = block.receipts[2]
    return [group]


def _present_filter(block: Block) -> list[Group]:
    log = block.receipts[1].logs[0]
    absent = LogFilter(log.emitter, (log.topics[0],))
    return [ReceiptGroup(block.receipts, {1: ReceiptRequest(absent=(absent,))})]


def _present_emitter(block: Block, bloom: bytes = b"") -> list[Group]:
    """An emitter of the block as absent, by the block's bloom or another one."""
    return [BloomGroup(bloom or block.header.payload(BLOOM), [block.receipts[1].logs[0].emitter])]


def _short(block: Block) -> list[Group]:
    """The block's receipts without the last, to state that the last is absent."""
    last = len(block.receipts) - 1
    return [ReceiptGroup(block.receipts[:last], {last: RECEIPT})]


def _more_silence_than_counted(block: Block) -> list[Group]:
    """Behind the last list lie the facts found before: the transaction's would be overwritten."""
    bloom = block.header.payload(BLOOM)
    item = next(item for i in range(256) if bloom_excludes(bloom, item := bytes([i]) * 20))
    return [TransactionGroup(block.transactions, [1]), BloomGroup(bloom, [item] * 48)]


EVENT_FORGERIES = {
    "a_failed_receipt_as_succeeded": Forgery(_receipt_with(status=0)),
    "a_state_root_read_as_status": Forgery(_receipt_with(status=b"\x01" * 32)),
    "more_cumulative_gas": Forgery(
        lambda block: _receipt_with(cumulative_gas=block.receipts[1].cumulative_gas + 1)(block)
    ),
    "cumulative_gas_of_33_bytes": Forgery(_receipt_with(cumulative_gas=2**256), "NumberTooLong"),
    "another_type": Forgery(_receipt_with(transaction_type=1)),
    "a_type_that_is_not_known": Forgery(
        _receipt_with(transaction_type=5), "TransactionTypeUnknown"
    ),
    "another_emitter": Forgery(_log_with(emitter=b"\x01" * 20)),
    "another_topic": Forgery(_log_with(topics=(b"\x01" * 32,))),
    "five_topics": Forgery(_log_with(topics=(b"\x01" * 32,) * 5)),
    "other_data": Forgery(_log_with(data=b"\x01")),
    "a_log_more": Forgery(lambda block: _receipt_with(logs=block.receipts[1].logs * 2)(block)),
    "no_logs": Forgery(_receipt_with(logs=())),
    "another_receipt": Forgery(_another_receipt),
    "an_index_of_two_nibbles_in_the_place_of_four": Forgery(
        _receipts(1), "UnknownNode", change=_with_index(0x81)
    ),
    "a_present_index_as_absent": Forgery(_short),
    "a_present_log_as_absent": Forgery(_present_filter, "LogNotAbsent"),
    "a_foreign_bloom": Forgery(lambda block: _present_emitter(block, bytes(256)), fields=(BLOOM,)),
    "an_emitter_that_the_bloom_does_not_exclude": Forgery(
        _present_emitter, "NotSilent", (BLOOM,)
    ),
    "receipts_as_transactions": Forgery(_receipts(1), "FieldMismatch", (TRANSACTIONS,)),
    "transactions_under_the_root_of_receipts": Forgery(
        lambda block: [TransactionGroup([receipt.encoding for receipt in block.receipts], [1])],
        "NumberTooLong", change=_with_field(RECEIPTS),
    ),
    "a_section_of_two_fields": Forgery(_receipts(1), "GroupsMismatch", (RECEIPTS, WITHDRAWALS)),
    "a_field_that_is_no_list": Forgery(
        _receipts(1), "FieldMismatch", (STATE_ROOT,), _with_field(STATE_ROOT)
    ),
    "another_amount": Forgery(_withdrawal_with(amount=1), fields=(WITHDRAWALS,)),
    "another_recipient": Forgery(_withdrawal_with(recipient=b"\x01" * 20), fields=(WITHDRAWALS,)),
    "another_validator": Forgery(_withdrawal_with(validator=1), fields=(WITHDRAWALS,)),
    "a_changed_transaction": Forgery(
        _transaction(lambda item: item[:-1] + b"\x01"), fields=(TRANSACTIONS,)
    ),
    "a_transaction_with_a_tail": Forgery(
        _transaction(lambda item: item + b"\x01"), fields=(TRANSACTIONS,)
    ),
    "a_transaction_of_a_type_that_is_not_known": Forgery(
        _transaction(lambda item: b"\x7e" + item), "TransactionTypeUnknown", (TRANSACTIONS,)
    ),
    "facts_that_are_not_there": Forgery(
        _receipts(1), "CountsMismatch", change=lambda witness: b"\0\1" + witness[2:]
    ),
    "a_fact_that_is_not_counted": Forgery(
        _receipts(1), "CountsMismatch", change=lambda witness: bytes(14) + witness[14:]
    ),
    "facts_that_overwrite_an_earlier_one": Forgery(
        _more_silence_than_counted, "CountsMismatch", (TRANSACTIONS, BLOOM),
        lambda witness: bytes(4) + (49).to_bytes(2) + bytes(8) + witness[14:],
    ),
    "an_index_twice": Forgery(_receipts(1, 2), "IndexesNotAscending", change=_with_index(2)),
    "zero_before_one": Forgery(_receipts(1, 2), "IndexesNotAscending", change=_with_index(0)),
    "bytes_behind_the_end": Forgery(
        _receipts(1), "FieldMismatch", change=lambda witness: witness + b"\0"
    ),
    "a_kind_of_node_that_is_none": Forgery(
        _receipts(1), "UnknownNode", change=lambda witness: witness[:19] + b"\x08" + witness[20:]
    ),
}  # fmt: skip


# Of lists made for the purpose


@dataclass(frozen=True)
class TrieForgery:
    """The transactions of a block, and nodes that state something else about these indexes."""

    error: str
    transactions: Sequence[bytes]
    indexes: Sequence[int]
    counts: Mapping[EventList, int]
    nodes: Callable[[IndexTrieNode], bytes]
    group_field: HeaderField = TRANSACTIONS
    root_field: HeaderField = TRANSACTIONS

    def block(self) -> Block:
        return block_with(self.root_field, IndexTrie(self.transactions).root)

    def witness(self) -> bytes:
        top = IndexTrie(self.transactions).top
        assert top
        counts = (self.counts.get(kind, 0) for kind in EventList)
        numbers = (*counts, *[len(self.indexes)], *self.indexes)
        words = [number.to_bytes(2, "big") for number in numbers]
        words.insert(len(EventList), bytes((self.group_field,)))
        return b"".join((*words, self.nodes(top)))


def _items(count: int) -> list[bytes]:
    return [b"\x02" + i.to_bytes(2, "big") + bytes(40) for i in range(count)]


def _value(transaction: bytes) -> bytes:
    return len(transaction).to_bytes(3, "big") + transaction


def _leaf(which: int, transaction: bytes) -> bytes:
    return bytes((NodeKind.LEAF,)) + which.to_bytes(2, "big") + _value(transaction)


def _foreign_leaf(nibbles: int, path: bytes, transaction: bytes) -> bytes:
    return bytes((NodeKind.OTHER, nibbles)) + path + _value(transaction)


def _branch(node: IndexTrieNode, below: Mapping[int, bytes]) -> bytes:
    """A branch with these nodes in place of their hashes."""
    assert isinstance(node.node, Branch)
    children = list(node.node.children)
    others = [bytes(32) if nibble in below else child for nibble, child in enumerate(children)]
    parts = [below.get(nibble, child) for nibble, child in enumerate(children)]
    assert all(children[nibble] != NO_CHILD for nibble in below)
    return encode_masks(others) + b"".join(parts)


def _extension_passed_by(which: int) -> Callable[[IndexTrieNode], bytes]:
    """Of the indexes 256 and 257 only one passes the extension that leads to both."""

    def build(top: IndexTrieNode) -> bytes:
        middle = top.children["8"]
        extension = middle.children["2"]
        deepest = extension.children["010"]
        last = _branch(deepest, {which: _leaf(0, _items(258)[256 + which])})
        passing = bytes((NodeKind.PASS,)) + which.to_bytes(2, "big") + bytes((3,)) + last
        return _branch(top, {8: _branch(middle, {2: passing})})

    return build


ONE_AND_ABSENT = {EventList.TRANSACTIONS: 1, EventList.ABSENT_INDEXES: 1}
ABSENT = {EventList.ABSENT_INDEXES: 1}
TRIE_FORGERIES = {
    "an_index_listed_twice": TrieForgery(
        "IndexesNotAscending", _items(1), (0, 0), ONE_AND_ABSENT,
        lambda _: _leaf(0, _items(1)[0]),
    ),
    "an_indexs_own_leaf_declared_foreign": TrieForgery(
        "IndexNotAbsent", _items(1), (0,), ABSENT,
        lambda _: _foreign_leaf(2, b"\x80", _items(1)[0]),
    ),
    "a_stray_nibble_before_an_indexs_path": TrieForgery(
        "IndexNotAbsent", _items(2), (1,), ABSENT,
        lambda top: _branch(top, {0: _foreign_leaf(1, b"\x31", _items(2)[1])}),
    ),
    "a_leaf_assigned_to_an_index_of_another_child": TrieForgery(
        "NoSuchKey", _items(18), (1, 17),
        {EventList.TRANSACTIONS: 2, EventList.ABSENT_INDEXES: 1},
        lambda top: _branch(
            top,
            {
                0: _branch(top.children["0"], {1: _leaf(1, _items(18)[1])}),
                1: _branch(top.children["1"], {1: _leaf(0, _items(18)[17])}),
            },
        ),
    ),
    "a_later_index_that_passes_too": TrieForgery(
        "UnknownNode", _items(258), (256, 257), ONE_AND_ABSENT, _extension_passed_by(0)
    ),
    "an_earlier_index_that_passes_too": TrieForgery(
        "UnknownNode", _items(258), (256, 257), ONE_AND_ABSENT, _extension_passed_by(1)
    ),
    "transactions_as_withdrawals": TrieForgery(
        "FieldMismatch", _items(1), (5,), ABSENT,
        lambda _: _foreign_leaf(2, b"\x80", _items(1)[0]), WITHDRAWALS,
    ),
    # Who makes a block chooses these 32 bytes.
    "a_root_in_the_extra_data": TrieForgery(
        "FieldMismatch", [Withdrawal(1, 2, bytes(20), 3).encode()], (0,),
        {EventList.WITHDRAWALS: 1},
        lambda _: b"".join(
            (bytes((NodeKind.LEAF, 0, 0)), *(number.to_bytes(8) for number in (1, 2)), bytes(20),
             (3).to_bytes(8))
        ),
        HeaderField.EXTRA_DATA, HeaderField.EXTRA_DATA,
    ),
}  # fmt: skip
