"""A stored fact answers its own question only, and a log is absent only if no log matches."""

from collections.abc import Iterator
from itertools import product

import pytest

from queries.contracts.abi import call_data
from queries.proving.block_items import Receipt, is_silent
from queries.proving.event_witness import FactList
from queries.proving.facts import LogFilter
from queries.proving.headers import HeaderField
from queries.proving.index_tries import IndexTrie
from tests.queries.contracts.recorded_events import (
    RecordedBlock,
    Verifier,
    block_with,
    prove_events_call,
    verify_call,
)
from tests.queries.events.groups import (
    BloomGroup,
    Group,
    ReceiptGroup,
    ReceiptRequest,
    TransactionGroup,
    WithdrawalGroup,
    build_group_witness,
)

pytestmark = [pytest.mark.no_database, pytest.mark.usefixtures("corpus_folder")]

TRANSACTIONS, RECEIPTS = HeaderField.TRANSACTIONS_ROOT, HeaderField.RECEIPTS_ROOT
NOWHERE, TOPICS = b"\x07" * 20, (b"\x01" * 32, b"\x02" * 32)
Question = tuple[str, tuple[object, ...]]


def questions(number: int, emitter: bytes, topic: bytes) -> dict[Question, list[list[object]]]:
    """What is stored, and what each argument of its question may be changed to."""
    numbers: list[object] = [0, number - 1, number + 1, 2**64 + number]
    index: list[object] = [0, 2, 3, 214, 216, 2**16 + 1]
    words: list[object] = [emitter.rjust(32, b"\0"), topic, topic[:31] + b"\xff"]
    lists: list[object] = [(), TOPICS[:1], TOPICS[::-1], (*TOPICS, TOPICS[0])]
    absent, silent = "isIndexAbsent(uint256,uint8,uint256)", "isBlockSilent(uint256,bool,bytes32)"
    no_log = "isLogAbsent(uint256,uint256,address,uint8,bytes32[])"
    return {
        ("tryLogHash(uint256,uint256,uint256)", (number, 1, 0)): [numbers, index, [1, 2]],
        ("tryReceiptOf(uint256,uint256)", (number, 1)): [numbers, index],
        ("tryTransactionHash(uint256,uint256)", (number, 1)): [numbers, index],
        ("tryWithdrawalOf(uint256,uint256)", (number, 3)): [numbers, [0, 1, 2, 4, 16]],
        (absent, (number, TRANSACTIONS, 216)): [numbers, [0, 6, 16, 255], [1, 3, 17, 215]],
        (absent, (number, RECEIPTS, 216)): [numbers, [0, 6, 16, 255], [1, 3, 17, 215]],
        (absent, (number, HeaderField.WITHDRAWALS_ROOT, 17)): [numbers, [0, 4, 5, 6], [3, 16, 216]],
        (no_log, (number, 1, NOWHERE, 0b1010, TOPICS)): [
            numbers, index, [bytes(20), emitter], [0, 2, 8, 0b1011, 0b11010], lists,
        ],
        (silent, (number, False, emitter.rjust(32, b"\0"))): [numbers, [True], words[1:]],
        (silent, (number, True, topic)): [numbers, [False], [words[0], words[2]]],
    }  # fmt: skip


def neighbours(question: Question, changes: list[list[object]]) -> Iterator[Question]:
    signature, given = question
    for place, values in enumerate(changes):
        for value in values:
            yield signature, (*given[:place], value, *given[place + 1 :])


def proof_of(block: RecordedBlock, *groups: Group) -> bytes:
    section = block.section(*(group.field for group in groups))
    return prove_events_call(section, build_group_witness(groups))


def test_a_fact_answers_no_other_question(verifier: Verifier, block: RecordedBlock) -> None:
    bloom = block.header.payload(HeaderField.LOGS_BLOOM)
    emitter, topic = (
        next(item for i in range(256) if is_silent(bloom, item := bytes([i]) * length))
        for length in (20, 32)
    )
    absent = LogFilter(NOWHERE, (None, TOPICS[0], None, TOPICS[1]))
    groups: list[Group] = [
        TransactionGroup(block.transactions, [1, 216]),
        ReceiptGroup(block.receipts, {1: ReceiptRequest(True, frozenset({0}), (absent,))}),
        BloomGroup(bloom, [emitter, topic]),
        WithdrawalGroup(block.withdrawals, [3, 17]),
    ]
    stored = questions(block.number, emitter, topic)
    others = [other for entry in stored.items() for other in neighbours(*entry)]
    calls = [call_data(signature, *arguments) for signature, arguments in (*stored, *others)]
    first, *answers = verifier.simulate([proof_of(block, *groups), *calls])
    assert all(answer.success for answer in (first, *answers))
    assert [answer.data[31] for answer in answers] == [1] * len(stored) + [0] * len(others)


def absence(block: RecordedBlock, index: int, filter_: LogFilter) -> bytes:
    group = ReceiptGroup(block.receipts, {index: ReceiptRequest(absent=(filter_,))})
    return verify_call(block.section(RECEIPTS), build_group_witness([group]))


def test_a_log_is_found_by_any_of_its_topics(verifier: Verifier, block: RecordedBlock) -> None:
    index, log = next(
        (index, log)
        for index, receipt in enumerate(block.receipts)
        for log in receipt.logs
        if len(log.topics) == 3 and len(set(log.topics)) == 3 and len(log.data) == 32
    )
    for is_named in product((False, True), repeat=3):
        pairs = zip(log.topics, is_named, strict=True)
        topics = tuple(topic if named else None for topic, named in pairs)
        call = absence(block, index, LogFilter(log.emitter, topics))
        assert verifier.refusal(call) == "LogNotAbsent"
        for place in range(3):
            changed = (*topics[:place], b"\x09" * 32, *topics[place + 1 :])
            assert verifier.ask(absence(block, index, LogFilter(log.emitter, changed)))
    # What stands behind its topics is no topic.
    assert verifier.ask(absence(block, index, LogFilter(log.emitter, (*log.topics, log.data))))


def test_an_extension_that_no_index_passes_shows_absence(verifier: Verifier) -> None:
    """Indexes from 256 on begin with the same nibbles."""
    items = [b"\x02" + index.to_bytes(2) + bytes(40) for index in range(258)]
    made = block_with(TRANSACTIONS, IndexTrie(items).root)
    verifier.know(made)
    for present in (128, 257):
        facts = verifier.facts(made, TransactionGroup(items, [present, 512, 65_535]))
        assert [fact[1] for fact in facts[FactList.TRANSACTIONS]] == [present]
        assert [fact[2] for fact in facts[FactList.ABSENT_INDEXES]] == [512, 65_535]


def test_a_receipt_before_byzantium_is_stored_without_a_status(verifier: Verifier) -> None:
    receipts = [Receipt(0, b"\x05" * 32, 21_000, ())]
    made = block_with(RECEIPTS, IndexTrie([receipts[0].encoded]).root)
    verifier.know(made)
    verifier.send(proof_of(made, ReceiptGroup(receipts, {0: ReceiptRequest(receipt=True)})))
    answer = verifier.ask(call_data("receiptOf(uint256,uint256)", made.number, 0))
    assert answer[32 * 2 : 32 * 3] == (2).to_bytes(32)
