"""Witnesses of an events verifier that state what is not so, and must be refused."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest

from explorer.demo.local_node import LocalNode
from queries.proving.block_items import Log, Receipt, Withdrawal
from queries.proving.event_witnesses import (
    BloomGroup,
    Group,
    LogFilter,
    ReceiptGroup,
    ReceiptRequest,
    TransactionGroup,
    WithdrawalGroup,
    build_event_witness,
)
from queries.proving.headers import HeaderField
from queries.proving.index_tries import IndexTrie
from tests.queries.contracts.recorded_events import (
    RecordedBlock,
    Verifier,
    block_with,
    needs_corpus,
    recorded_block,
    verify_call,
)

pytestmark = [pytest.mark.no_database, needs_corpus]

BLOCK, OTHER_BLOCK = 22432102, 21854576
RECEIPT = ReceiptRequest(receipt=True)
BLOOM, RECEIPTS = HeaderField.LOGS_BLOOM, HeaderField.RECEIPTS_ROOT
TRANSACTIONS = HeaderField.TRANSACTIONS_ROOT
Block = RecordedBlock


@pytest.fixture(scope="module")
def block() -> Block:
    return recorded_block(BLOCK)


@pytest.fixture
def verifier(shared_node: LocalNode, block: Block) -> Verifier:
    verifier = Verifier(shared_node)
    verifier.know(block)
    verifier.know(recorded_block(OTHER_BLOCK))
    return verifier


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
    receipts = list(block.receipts)
    receipts[index] = replace(receipts[index], **changes)  # type: ignore[arg-type]
    group._receipts = receipts
    return [group]


def _with_log(block: Block, index: int, **changes: object) -> list[Group]:
    first, *others = block.receipts[index].logs
    return _one_receipt(block, index, logs=(replace(first, **changes), *others))  # type: ignore[arg-type]


def _swap(first: int, second: int) -> Callable[[Block], list[Group]]:
    """A receipt at another's index."""

    def build(block: Block) -> list[Group]:
        group = ReceiptGroup(block.receipts, {first: RECEIPT})
        receipts = list(block.receipts)
        receipts[first] = receipts[second]
        group._receipts = receipts
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
        items = list(block.withdrawals)
        items[2] = replace(items[2], **changes)  # type: ignore[arg-type]
        group._withdrawals = items
        return [group]

    return build


def _transaction(change: Callable[[bytes], bytes]) -> Callable[[Block], Sequence[Group]]:
    def build(block: Block) -> Sequence[Group]:
        group = TransactionGroup(block.transactions, [1])
        items = list(block.transactions)
        items[1] = change(items[1])
        group._transactions = items
        return [group]

    return build


FORGERIES = {
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


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_witness_is_refused(name: str, verifier: Verifier, block: Block) -> None:
    forgery = FORGERIES[name]
    witness = forgery.change(build_event_witness(forgery.groups(block)))
    call = verify_call(block.section(*forgery.fields), witness)
    assert verifier.refusal(call) == forgery.error


def test_a_block_that_the_registry_does_not_know_proves_nothing(verifier: Verifier) -> None:
    other = recorded_block(22432103)
    witness = build_event_witness([TransactionGroup(other.transactions, [1])])
    call = verify_call(other.section(TRANSACTIONS), witness)
    assert verifier.refusal(call) == "BlockNotKnown"


def test_the_list_of_another_block_is_refused(verifier: Verifier, block: Block) -> None:
    other = recorded_block(OTHER_BLOCK)
    witness = build_event_witness([ReceiptGroup(other.receipts, {1: RECEIPT})])
    assert verifier.refusal(verify_call(block.section(RECEIPTS), witness)) == "RootMismatch"


@pytest.mark.parametrize("length", [1, 2, 16, 17, 127, 128, 129, 200, 256, 257, 300])
def test_lists_of_any_length_are_proven_to_their_end(verifier: Verifier, length: int) -> None:
    """Embedded nodes, extensions, and paths of two, four and six nibbles."""
    chosen = random.Random(length)
    items = [
        Withdrawal(i, i % 3, bytes([i % 256]) * 20, chosen.choice([0, 1, 2**40]))
        for i in range(length)
    ]
    root = IndexTrie([item.encode() for item in items]).root
    block = block_with(HeaderField.WITHDRAWALS_ROOT, root)
    verifier.know(block)
    indexes = sorted({0, length - 1, length, length + 1, 500, chosen.randrange(length)})
    facts = verifier.facts(block, WithdrawalGroup(items, indexes))
    present = [index for index in indexes if index < length]
    assert sorted(fact[1] for fact in facts[3]) == present
    assert all(fact[4] == f"0x{items[fact[1]].recipient.hex()}" for fact in facts[3])
    assert sorted(fact[2] for fact in facts[4]) == [i for i in indexes if i >= length]


def test_a_changed_byte_proves_nothing_else(verifier: Verifier, block: Block) -> None:
    """Each changed witness reverts, or states what the true one states."""
    log = block.receipts[1].logs[0]
    absent = LogFilter(log.emitter, (None, b"\x02" * 32))
    requests = {1: ReceiptRequest(True, frozenset({0}), (absent,)), 300: RECEIPT}
    section = block.section(RECEIPTS)
    witness = build_event_witness([ReceiptGroup(block.receipts, requests)])
    chosen = random.Random(7)
    changed = [
        witness[:at] + bytes((witness[at] ^ 1 << chosen.randrange(8),)) + witness[at + 1 :]
        for at in range(len(witness))
    ]
    changed += [witness[:at] for at in range(0, len(witness), 7)]
    taken = verifier.taken([verify_call(section, change) for change in changed])
    for call in taken:
        _check_true(verifier, block, call)
    assert len(taken) < len(changed) / 10


def _check_true(verifier: Verifier, block: Block, call: bytes) -> None:
    """Compare all facts that a call states with the block."""
    logs, receipts, _, _, indexes, absent, _ = verifier.decode_facts(verifier.ask(call))
    for number, index, place, emitter, topics, data, _ in logs:
        log = block.receipts[index].logs[place]
        expected = (block.number, f"0x{log.emitter.hex()}", log.topics, log.data)
        assert (number, emitter, tuple(topics), data) == expected
    for number, index, status, kind, gas, count in receipts:
        receipt = block.receipts[index]
        assert (number, status, kind, gas, count) == (
            block.number, receipt.status, receipt.transaction_type, receipt.cumulative_gas,
            len(receipt.logs),
        )  # fmt: skip
    assert all(index >= len(block.receipts) for _, _, index in indexes)
    for _, index, emitter, mask, topics in absent:
        named = iter(topics)
        places = tuple(next(named) if mask >> place & 1 else None for place in range(8))
        filter_ = LogFilter(bytes.fromhex(emitter[2:]), places)
        assert not any(map(filter_.matches, block.receipts[index].logs))


def test_a_receipt_before_byzantium_has_a_state_root(verifier: Verifier) -> None:
    """A receipt of 31 KB, logs without topics and a log of a single byte beside it."""
    receipts = [
        Receipt(0, b"\x05" * 32, 21_000, ()),
        Receipt(0, b"\x06" * 32, 42_000, (Log(b"\x07" * 20, (), b"\x7f"),)),
        Receipt(2, 1, 99_000, (Log(b"\x08" * 20, (b"\x09" * 32,) * 4, b"\x0a" * 31_000),)),
        Receipt(
            2, 0, 2**63, (Log(b"\x08" * 20, (), b"\x80"), Log(b"\x08" * 20, (), b"a" * 70_000))
        ),
    ]
    block = block_with(RECEIPTS, IndexTrie([receipt.encoded for receipt in receipts]).root)
    verifier.know(block)
    requests = {
        index: ReceiptRequest(True, frozenset(range(len(receipt.logs))))
        for index, receipt in enumerate(receipts)
    }
    facts = verifier.facts(block, ReceiptGroup(receipts, requests))
    assert {fact[1]: fact[2] for fact in facts[1]} == {0: 2, 1: 2, 2: 1, 3: 0}
    assert {(fact[1], fact[2]): fact[6] for fact in facts[0]} == {
        (index, place): log.hash
        for index, receipt in enumerate(receipts)
        for place, log in enumerate(receipt.logs)
    }
