"""What the events verifier proves of real blocks, stores and answers.

A stored fact answers its own question only, and a log is absent only if no log matches.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pytest
from eth_abi.abi import decode

from explorer.demo.local_node import LocalNode
from queries.contracts.abi import call_data, load_artifact
from queries.proving.block_items import Receipt, bloom_excludes
from queries.proving.facts.events import EventList
from queries.proving.facts.logs import LogFilter
from queries.proving.keccak import keccak256
from queries.proving.registry_calls import prove_call
from tests.queries.contracts.recorded_events import (
    BLOOM,
    RECEIPTS,
    TRANSACTIONS,
    WITHDRAWALS,
    RecordedBlock,
    Verifier,
    block_of,
    prove_events_call,
    recorded_blocks,
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

pytestmark = pytest.mark.no_database

LARGEST_CALL = 120_000


def in_calls(sizes: Sequence[int]) -> Iterator[list[int]]:
    """Indexes, in groups whose items have at most as many bytes as one call may have."""
    group: list[int] = []
    for index, size in enumerate(sizes):
        if size > LARGEST_CALL:
            continue
        if (group and sum(sizes[i] for i in group) + size > LARGEST_CALL) or len(group) == 60:
            yield group
            group = []
        group.append(index)
    yield group


def test_every_item_of_the_recorded_blocks_is_proven(shared_node: LocalNode) -> None:
    verifier = Verifier(shared_node)
    counts = {"transactions": 0, "logs": 0, "receipts": 0, "withdrawals": 0}
    for block in recorded_blocks():
        verifier.know(block)
        for indexes in in_calls([len(envelope) for envelope in block.transactions]):
            facts = verifier.facts(block, TransactionGroup(block.transactions, indexes))
            proven = {index: (kind, hash_) for _, index, kind, hash_ in facts[2]}
            for index in indexes:
                envelope = block.transactions[index]
                kind = envelope[0] if envelope[0] < 0xC0 else 0
                assert proven[index] == (kind, keccak256(envelope))
            counts["transactions"] += len(indexes)
        facts = verifier.facts(block, WithdrawalGroup(block.withdrawals, range(16)))
        assert sorted(fact[1:] for fact in facts[3]) == [
            (place, item.index, item.validator, f"0x{item.recipient.hex()}", item.amount)
            for place, item in enumerate(block.withdrawals)
        ]
        counts["withdrawals"] += len(facts[3])
        for indexes in in_calls([len(receipt.encoding) for receipt in block.receipts]):
            requests = {
                index: ReceiptRequest(True, frozenset(range(len(block.receipts[index].logs))))
                for index in indexes
                if block.receipts
            }
            if not requests:
                continue
            facts = verifier.facts(block, ReceiptGroup(block.receipts, requests))
            check_receipts(block, facts, list(requests))
            counts["receipts"] += len(facts[1])
            counts["logs"] += len(facts[0])
    assert counts == {"transactions": 2833, "logs": 506, "receipts": 272, "withdrawals": 288}


def check_receipts(block: RecordedBlock, facts: tuple[Any, ...], indexes: Sequence[int]) -> None:
    """Compare with what the node answered, which was not encoded by us."""
    receipts = {index: tuple(rest) for _, index, *rest in facts[1]}
    logs = {(index, place): tuple(rest) for _, index, place, *rest in facts[0]}
    for index in indexes:
        answer = block.answers[index]
        assert receipts[index] == (
            int(answer["status"], 16),
            int(answer["type"], 16),
            int(answer["cumulativeGasUsed"], 16),
            len(answer["logs"]),
        )
        for place, log in enumerate(answer["logs"]):
            emitter, topics, data, hash_ = logs[index, place]
            assert emitter == log["address"]
            assert [f"0x{topic.hex()}" for topic in topics] == log["topics"]
            assert f"0x{data.hex()}" == log["data"]
            assert hash_ == block.receipts[index].logs[place].hash


NOWHERE, TOPICS = b"\x07" * 20, (b"\x01" * 32, b"\x02" * 32)
EMITTER, TOPIC = b"\x00" * 20, b"\x04" * 32  # that the block does not have
ABSENT_LOG = LogFilter(NOWHERE, (None, TOPICS[0], None, TOPICS[1]))


def facts_of_every_kind(block: RecordedBlock) -> tuple[bytes, bytes]:
    """A section and a witness; of each list an item, and an index beyond its end."""
    groups: list[Group] = [
        TransactionGroup(block.transactions, [1, 216]),
        ReceiptGroup(block.receipts, {1: ReceiptRequest(True, frozenset({0}), (ABSENT_LOG,))}),
        BloomGroup(block.header.payload(BLOOM), [EMITTER, TOPIC]),
        WithdrawalGroup(block.withdrawals, [3, 17]),
    ]
    section = block.section(*(group.field for group in groups))
    return section, build_group_witness(groups)


def test_stored_facts_can_be_read_and_are_not_written_again(
    verifier: Verifier, block: RecordedBlock
) -> None:
    receipt = block.receipts[1]
    log = receipt.logs[0]
    call = prove_events_call(*facts_of_every_kind(block))
    first = verifier.node.send(verifier.address, call)
    again = verifier.node.send(verifier.address, call)
    assert (len(first.logs), len(again.logs)) == (9, 0)

    number = block.number
    read = verifier.read
    hash_at = "logHash(uint256,uint256,uint256)"
    assert read(hash_at, number, 1, 0, returns="bytes32") == log.hash
    is_log = "isLog(uint256,uint256,uint256,address,bytes32[],bytes)"
    emitter = f"0x{log.emitter.hex()}"
    assert read(is_log, number, 1, 0, emitter, log.topics, log.data, returns="bool")
    assert not read(is_log, number, 1, 0, emitter, log.topics, log.data + b"\0", returns="bool")
    assert not read(is_log, number, 1, 1, emitter, log.topics, log.data, returns="bool")
    fields = "(uint256,uint256,uint8,uint8,uint64,uint16)"
    assert read("receiptOf(uint256,uint256)", number, 1, returns=fields) == (
        number, 1, receipt.status, receipt.transaction_type, receipt.cumulative_gas,
        len(receipt.logs),
    )  # fmt: skip
    hash_of = "transactionHash(uint256,uint256)"
    assert read(hash_of, number, 1, returns="bytes32") == keccak256(block.transactions[1])
    item = block.withdrawals[3]
    fields = "(uint256,uint256,uint64,uint64,address,uint64)"
    assert read("withdrawalOf(uint256,uint256)", number, 3, returns=fields) == (
        number, 3, item.index, item.validator, f"0x{item.recipient.hex()}", item.amount,
    )  # fmt: skip
    is_absent = "isIndexAbsent(uint256,uint8,uint256)"
    assert read(is_absent, number, TRANSACTIONS, 216, returns="bool")
    assert read(is_absent, number, RECEIPTS, 216, returns="bool")
    assert read(is_absent, number, WITHDRAWALS, 17, returns="bool")
    assert not read(is_absent, number, TRANSACTIONS, 214, returns="bool")
    no_log = "isLogAbsent(uint256,uint256,address,uint8,bytes32[])"
    assert read(no_log, number, 1, NOWHERE, 0b1010, TOPICS, returns="bool")
    assert not read(no_log, number, 1, NOWHERE, 0b0101, TOPICS, returns="bool")
    is_silent_at = "isBlockSilent(uint256,bool,bytes32)"
    assert read(is_silent_at, number, False, EMITTER.rjust(32, b"\0"), returns="bool")
    assert read(is_silent_at, number, True, TOPIC, returns="bool")
    assert not read(is_silent_at, number, True, EMITTER.rjust(32, b"\0"), returns="bool")


@pytest.mark.parametrize(
    ("error", "signature", "arguments", "answer"),
    [
        ("LogNotProven", "logHash(uint256,uint256,uint256)", (1, 2, 3), 2),
        ("ReceiptNotProven", "receiptOf(uint256,uint256)", (1, 2), 7),
        ("TransactionNotProven", "transactionHash(uint256,uint256)", (1, 2), 2),
        ("WithdrawalNotProven", "withdrawalOf(uint256,uint256)", (1, 2), 7),
    ],
)
def test_what_is_not_proven_is_no_answer(
    verifier: Verifier, error: str, signature: str, arguments: tuple[int, ...], answer: int
) -> None:
    assert verifier.refusal(call_data(signature, *arguments)) == error
    tried = verifier.ask(call_data(f"try{signature[0].upper()}{signature[1:]}", *arguments))
    assert tried == bytes(32 * answer)


def test_stored_roots_serve_instead_of_a_section(verifier: Verifier, block: RecordedBlock) -> None:
    group = ReceiptGroup(block.receipts, {200: ReceiptRequest(receipt=True)})
    witness = build_group_witness([group], [block.number])
    assert verifier.refusal(verify_call(b"", witness)) == "HeaderFieldNotProven"
    verifier.node.send(verifier.registry, prove_call([block.section(RECEIPTS)]))
    assert verifier.verify(b"", witness)[EventList.RECEIPTS][0][1] == 200


def test_absence_of_all_recorded_emitters_that_the_bloom_can_show(
    verifier: Verifier, block: RecordedBlock
) -> None:
    bloom = block.header.payload(BLOOM)
    present = {log.emitter for receipt in block.receipts for log in receipt.logs}
    emitters = {
        log.emitter
        for other in recorded_blocks()
        for receipt in other.receipts
        for log in receipt.logs
    }
    silent = sorted(emitter for emitter in emitters if bloom_excludes(bloom, emitter))
    assert not present & set(silent)
    facts = verifier.facts(block, BloomGroup(bloom, silent))
    assert [bytes(item[12:]) for *_, item in facts[EventList.SILENT_BLOCKS]] == silent
    for emitter in sorted(emitters - set(silent))[:20]:
        call = verify_call(
            block.section(BLOOM), build_group_witness([BloomGroup(bloom, [emitter])])
        )
        assert verifier.refusal(call) == "NotSilent"


EVENTS = (
    "LogProven", "ReceiptProven", "TransactionProven", "WithdrawalProven", "IndexAbsent",
    "LogAbsent", "BlockSilent",
)  # fmt: skip


def test_a_transactions_events_say_what_it_proved(verifier: Verifier, block: RecordedBlock) -> None:
    section, witness = facts_of_every_kind(block)
    verifier.node.send(verifier.address, prove_events_call(section, witness))
    logs = verifier.node.rpc.ask("eth_getLogs", {"address": verifier.address, "fromBlock": "0x0"})
    members = {entry.get("name"): entry for entry in load_artifact("EventsVerifier").abi}
    lists = members["verify"]["outputs"][0]["components"]
    expected = []
    for name, entry, facts in zip(EVENTS, lists, verifier.verify(section, witness), strict=True):
        names = [member["name"] for member in entry["components"]]
        inputs = [parameter["name"] for parameter in members[name]["inputs"]]
        stated = [dict(zip(names, fact, strict=True)) for fact in facts]
        expected += [(name, *(fact[argument] for argument in inputs)) for fact in stated]
    assert sorted(map(_decode_event, logs), key=repr) == sorted(expected, key=repr)
    assert {name for name, *_ in expected} == set(EVENTS)


def _decode_event(log: dict[str, Any]) -> tuple[object, ...]:
    """The event's name, and its arguments in the order of the ABI."""
    for entry in load_artifact("EventsVerifier").abi:
        types = [parameter["type"] for parameter in entry.get("inputs", ())]
        signature = f"{entry.get('name')}({','.join(types)})"
        if entry["type"] == "event" and f"0x{keccak256(signature.encode()).hex()}" in log["topics"]:
            indexed = [parameter["indexed"] for parameter in entry["inputs"]]
            in_topics = decode(
                [kind for kind, is_indexed in zip(types, indexed, strict=True) if is_indexed],
                b"".join(bytes.fromhex(topic[2:]) for topic in log["topics"][1:]),
            )
            in_data = decode(
                [kind for kind, is_indexed in zip(types, indexed, strict=True) if not is_indexed],
                bytes.fromhex(log["data"][2:]),
            )
            topics, others = iter(in_topics), iter(in_data)
            return entry["name"], *(next(topics if it else others) for it in indexed)
    raise AssertionError(log)


Question = tuple[str, tuple[object, ...]]


def questions(number: int) -> dict[Question, list[list[object]]]:
    """What is stored, and what each argument of its question may be changed to."""
    numbers: list[object] = [0, number - 1, number + 1, 2**64 + number]
    index: list[object] = [0, 2, 3, 214, 216, 2**16 + 1]
    words: list[object] = [EMITTER.rjust(32, b"\0"), TOPIC, TOPIC[:31] + b"\xff"]
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
        (absent, (number, WITHDRAWALS, 17)): [numbers, [0, 4, 5, 6], [3, 16, 216]],
        (no_log, (number, 1, NOWHERE, 0b1010, TOPICS)): [
            numbers, index, [bytes(20), b"\x03" * 20], [0, 2, 8, 0b1011, 0b11010], lists,
        ],
        (silent, (number, False, EMITTER.rjust(32, b"\0"))): [numbers, [True], words[1:]],
        (silent, (number, True, TOPIC)): [numbers, [False], [words[0], words[2]]],
    }  # fmt: skip


def neighbours(question: Question, changes: list[list[object]]) -> Iterator[Question]:
    signature, given = question
    for place, values in enumerate(changes):
        for value in values:
            yield signature, (*given[:place], value, *given[place + 1 :])


def test_a_fact_answers_no_other_question(verifier: Verifier, block: RecordedBlock) -> None:
    stored = questions(block.number)
    others = [other for entry in stored.items() for other in neighbours(*entry)]
    calls = [call_data(signature, *arguments) for signature, arguments in (*stored, *others)]
    first, *answers = verifier.simulate([prove_events_call(*facts_of_every_kind(block)), *calls])
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
    made = block_of(transactions=items)
    verifier.know(made)
    for present in (128, 257):
        facts = verifier.facts(made, TransactionGroup(items, [present, 512, 65_535]))
        assert [fact[1] for fact in facts[EventList.TRANSACTIONS]] == [present]
        assert [fact[2] for fact in facts[EventList.ABSENT_INDEXES]] == [512, 65_535]


def test_a_receipt_before_byzantium_is_stored_without_a_status(verifier: Verifier) -> None:
    receipts = [Receipt(0, b"\x05" * 32, 21_000, ())]
    made = block_of(receipts=receipts)
    verifier.know(made)
    group = ReceiptGroup(receipts, {0: ReceiptRequest(receipt=True)})
    verifier.send(prove_events_call(made.section(RECEIPTS), build_group_witness([group])))
    answer = verifier.ask(call_data("receiptOf(uint256,uint256)", made.number, 0))
    assert answer[32 * 2 : 32 * 3] == (2).to_bytes(32)
