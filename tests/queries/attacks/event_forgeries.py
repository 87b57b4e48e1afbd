"""Witnesses for an events verifier that state what is not so."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from queries.proving.block_items import Withdrawal, is_silent
from queries.proving.event_witness import FactList
from queries.proving.facts import LogFilter
from queries.proving.headers import HeaderField
from queries.proving.index_tries import IndexTrie, IndexTrieNode
from queries.proving.tries import NO_CHILD, Branch
from queries.proving.witnesses import NodeKind, encode_masks
from tests.queries.contracts.recorded_events import RecordedBlock, block_with
from tests.queries.events.groups import (
    BloomGroup,
    Group,
    ReceiptGroup,
    ReceiptRequest,
    TransactionGroup,
    WithdrawalGroup,
)

RECEIPT = ReceiptRequest(receipt=True)
BLOOM, RECEIPTS = HeaderField.LOGS_BLOOM, HeaderField.RECEIPTS_ROOT
TRANSACTIONS = HeaderField.TRANSACTIONS_ROOT
Block = RecordedBlock


@dataclass(frozen=True)
class Forgery:
    """A section and a witness; `error` is what they must be refused with."""

    error: str
    groups: Callable[[Block], Sequence[Group]]
    fields: tuple[HeaderField, ...] = (RECEIPTS,)
    change: Callable[[bytes], bytes] = lambda witness: witness


def _one_receipt(block: Block, index: int, **changes: object) -> list[Group]:
    """The group of a receipt with other values than the block's."""
    group = ReceiptGroup(block.receipts, {index: ReceiptRequest(True, frozenset({0}))})
    group.stated[index] = replace(block.receipts[index], **changes)  # type: ignore[arg-type]
    return [group]


def _with_log(block: Block, index: int, **changes: object) -> list[Group]:
    first, *others = block.receipts[index].logs
    return _one_receipt(block, index, logs=(replace(first, **changes), *others))  # type: ignore[arg-type]


def _swap(first: int, second: int) -> Callable[[Block], list[Group]]:
    """A receipt at another's index."""

    def build(block: Block) -> list[Group]:
        group = ReceiptGroup(block.receipts, {first: RECEIPT})
        group.stated[first] = block.receipts[second]
        return [group]

    return build


def _renamed(index: int) -> Callable[[bytes], bytes]:
    """The first index of the first group replaced."""
    at = 2 * 7 + 1 + 2

    def change(witness: bytes) -> bytes:
        return witness[:at] + index.to_bytes(2, "big") + witness[at + 2 :]

    return change


def _present_filter(block: Block) -> Sequence[Group]:
    log = block.receipts[1].logs[0]
    absent = LogFilter(log.emitter, (log.topics[0],))
    return [ReceiptGroup(block.receipts, {1: ReceiptRequest(absent=(absent,))})]


def _with_foreign_bloom(block: Block) -> Sequence[Group]:
    return [BloomGroup(bytes(256), [block.receipts[1].logs[0].emitter])]


def _short(block: Block) -> Sequence[Group]:
    """The block's receipts without the last, to state that the last is absent."""
    last = len(block.receipts) - 1
    return [ReceiptGroup(block.receipts[:last], {last: RECEIPT})]


def _transactions_as_receipts(block: Block) -> Sequence[Group]:
    group = TransactionGroup([receipt.encoded for receipt in block.receipts], [1])
    return [group]


def _receipts_as_transactions(block: Block) -> Sequence[Group]:
    return [ReceiptGroup(block.receipts, {1: RECEIPT})]


def _withdrawal(**changes: object) -> Callable[[Block], Sequence[Group]]:
    def build(block: Block) -> Sequence[Group]:
        group = WithdrawalGroup(block.withdrawals, [2])
        group.stated[2] = replace(block.withdrawals[2], **changes)  # type: ignore[arg-type]
        return [group]

    return build


def _transaction(change: Callable[[bytes], bytes]) -> Callable[[Block], Sequence[Group]]:
    def build(block: Block) -> Sequence[Group]:
        group = TransactionGroup(block.transactions, [1])
        group.stated[1] = change(block.transactions[1])
        return [group]

    return build


def _more_silence_than_counted(block: Block) -> Sequence[Group]:
    """Behind the last list lie the facts found before: the transaction's would be overwritten."""
    bloom = block.header.payload(BLOOM)
    item = next(item for i in range(256) if is_silent(bloom, item := bytes([i]) * 20))
    return [TransactionGroup(block.transactions, [1]), BloomGroup(bloom, [item] * 48)]


EVENT_FORGERIES = {
    "a_failed_receipt_as_succeeded": Forgery(
        "RootMismatch", lambda block: _one_receipt(block, 1, status=0)
    ),
    "a_state_root_read_as_status": Forgery(
        "RootMismatch", lambda block: _one_receipt(block, 1, status=b"\x01" * 32)
    ),
    "more_cumulative_gas": Forgery(
        "RootMismatch",
        lambda block: _one_receipt(block, 1, cumulative_gas=block.receipts[1].cumulative_gas + 1),
    ),
    "cumulative_gas_of_33_bytes": Forgery(
        "NumberTooLong", lambda block: _one_receipt(block, 1, cumulative_gas=2**256)
    ),
    "another_type": Forgery(
        "RootMismatch", lambda block: _one_receipt(block, 1, transaction_type=1)
    ),
    "a_type_that_is_not_known": Forgery(
        "TransactionTypeUnknown", lambda block: _one_receipt(block, 1, transaction_type=5)
    ),
    "another_emitter": Forgery(
        "RootMismatch", lambda block: _with_log(block, 1, emitter=b"\x01" * 20)
    ),
    "another_topic": Forgery(
        "RootMismatch", lambda block: _with_log(block, 1, topics=(b"\x01" * 32,))
    ),
    "five_topics": Forgery(
        "RootMismatch", lambda block: _with_log(block, 1, topics=(b"\x01" * 32,) * 5)
    ),
    "other_data": Forgery("RootMismatch", lambda block: _with_log(block, 1, data=b"\x01")),
    "a_log_more": Forgery(
        "RootMismatch",
        lambda block: _one_receipt(block, 1, logs=block.receipts[1].logs + block.receipts[1].logs),
    ),
    "no_logs": Forgery("RootMismatch", lambda block: _one_receipt(block, 1, logs=())),
    "another_receipt": Forgery("RootMismatch", _swap(1, 2)),
    "an_index_of_two_nibbles_in_the_place_of_four": Forgery(
        "UnknownNode", lambda block: [ReceiptGroup(block.receipts, {1: RECEIPT})],
        change=_renamed(0x81),
    ),
    "a_present_index_as_absent": Forgery("RootMismatch", _short),
    "a_present_log_as_absent": Forgery("LogNotAbsent", _present_filter),
    "a_foreign_bloom": Forgery("RootMismatch", _with_foreign_bloom, (BLOOM,)),
    "an_emitter_that_the_bloom_does_not_exclude": Forgery(
        "NotSilent",
        lambda block: [
            BloomGroup(block.header.payload(BLOOM), [block.receipts[1].logs[0].emitter])
        ],
        (BLOOM,),
    ),
    "receipts_as_transactions": Forgery(
        "FieldMismatch", _receipts_as_transactions, (TRANSACTIONS,)
    ),
    "transactions_under_the_root_of_receipts": Forgery(
        "NumberTooLong", _transactions_as_receipts, (RECEIPTS,),
        change=lambda witness: witness[:14] + bytes((RECEIPTS,)) + witness[15:],
    ),
    "a_section_of_two_fields": Forgery(
        "GroupsMismatch",
        lambda block: [ReceiptGroup(block.receipts, {1: RECEIPT})],
        (RECEIPTS, HeaderField.WITHDRAWALS_ROOT),
    ),
    "a_field_that_is_no_list": Forgery(
        "FieldMismatch",
        lambda block: [ReceiptGroup(block.receipts, {1: RECEIPT})],
        (HeaderField.STATE_ROOT,),
        change=lambda witness: witness[:14] + bytes((HeaderField.STATE_ROOT,)) + witness[15:],
    ),
    "another_amount": Forgery(
        "RootMismatch", _withdrawal(amount=1), (HeaderField.WITHDRAWALS_ROOT,)
    ),
    "another_recipient": Forgery(
        "RootMismatch", _withdrawal(recipient=b"\x01" * 20), (HeaderField.WITHDRAWALS_ROOT,)
    ),
    "another_validator": Forgery(
        "RootMismatch", _withdrawal(validator=1), (HeaderField.WITHDRAWALS_ROOT,)
    ),
    "a_changed_transaction": Forgery(
        "RootMismatch", _transaction(lambda item: item[:-1] + b"\x01"), (TRANSACTIONS,)
    ),
    "a_transaction_with_a_tail": Forgery(
        "RootMismatch", _transaction(lambda item: item + b"\x01"), (TRANSACTIONS,)
    ),
    "a_transaction_of_a_type_that_is_not_known": Forgery(
        "TransactionTypeUnknown", _transaction(lambda item: b"\x7e" + item), (TRANSACTIONS,)
    ),
    "facts_that_are_not_there": Forgery(
        "CountsMismatch",
        lambda block: [ReceiptGroup(block.receipts, {1: RECEIPT})],
        change=lambda witness: b"\0\1" + witness[2:],
    ),
    "a_fact_that_is_not_counted": Forgery(
        "CountsMismatch",
        lambda block: [ReceiptGroup(block.receipts, {1: RECEIPT})],
        change=lambda witness: bytes(14) + witness[14:],
    ),
    "facts_that_overwrite_an_earlier_one": Forgery(
        "CountsMismatch", _more_silence_than_counted, (TRANSACTIONS, BLOOM),
        change=lambda witness: bytes(4) + (49).to_bytes(2) + bytes(8) + witness[14:],
    ),
    "an_index_twice": Forgery(
        "IndexesNotAscending",
        lambda block: [ReceiptGroup(block.receipts, {1: RECEIPT, 2: RECEIPT})],
        change=_renamed(2),
    ),
    "zero_before_one": Forgery(
        "IndexesNotAscending",
        lambda block: [ReceiptGroup(block.receipts, {1: RECEIPT, 2: RECEIPT})],
        change=_renamed(0),
    ),
    "bytes_behind_the_end": Forgery(
        "FieldMismatch",
        lambda block: [ReceiptGroup(block.receipts, {1: RECEIPT})],
        change=lambda witness: witness + b"\0",
    ),
    "a_kind_of_node_that_is_none": Forgery(
        "UnknownNode",
        lambda block: [ReceiptGroup(block.receipts, {1: RECEIPT})],
        change=lambda witness: witness[:19] + b"\x08" + witness[20:],
    ),
}  # fmt: skip


# Of lists made for the purpose


@dataclass(frozen=True)
class TrieForgery:
    """The transactions of a block, and nodes that state something else about these indexes."""

    error: str
    transactions: Sequence[bytes]
    indexes: Sequence[int]
    counts: Mapping[FactList, int]
    nodes: Callable[[IndexTrieNode], bytes]
    group_field: HeaderField = TRANSACTIONS
    root_field: HeaderField = TRANSACTIONS

    def block(self) -> Block:
        return block_with(self.root_field, IndexTrie(self.transactions).root)

    def witness(self) -> bytes:
        top = IndexTrie(self.transactions).top
        assert top
        counts = (self.counts.get(kind, 0) for kind in FactList)
        numbers = (*counts, *[len(self.indexes)], *self.indexes)
        words = [number.to_bytes(2, "big") for number in numbers]
        words.insert(len(FactList), bytes((self.group_field,)))
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
        middle = top.below["8"]
        extension = middle.below["2"]
        deepest = extension.below["010"]
        last = _branch(deepest, {which: _leaf(0, _items(258)[256 + which])})
        passing = bytes((NodeKind.PASS,)) + which.to_bytes(2, "big") + bytes((3,)) + last
        return _branch(top, {8: _branch(middle, {2: passing})})

    return build


ONE_AND_ABSENT = {FactList.TRANSACTIONS: 1, FactList.ABSENT_INDEXES: 1}
ABSENT = {FactList.ABSENT_INDEXES: 1}
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
        {FactList.TRANSACTIONS: 2, FactList.ABSENT_INDEXES: 1},
        lambda top: _branch(
            top,
            {
                0: _branch(top.below["0"], {1: _leaf(1, _items(18)[1])}),
                1: _branch(top.below["1"], {1: _leaf(0, _items(18)[17])}),
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
        lambda _: _foreign_leaf(2, b"\x80", _items(1)[0]), HeaderField.WITHDRAWALS_ROOT,
    ),
    # Who makes a block chooses these 32 bytes.
    "a_root_in_the_extra_data": TrieForgery(
        "FieldMismatch", [Withdrawal(1, 2, bytes(20), 3).encode()], (0,), {FactList.WITHDRAWALS: 1},
        lambda _: b"".join(
            (bytes((NodeKind.LEAF, 0, 0)), *(number.to_bytes(8) for number in (1, 2)), bytes(20),
             (3).to_bytes(8))
        ),
        HeaderField.EXTRA_DATA, HeaderField.EXTRA_DATA,
    ),
}  # fmt: skip
