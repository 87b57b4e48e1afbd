"""Proof files with facts of events: read as written, and refused at the place of a change."""

import json
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import strategies as st

from explorer.demo.local_node import LocalNode
from queries.contracts.abi import call_data
from queries.proving.bundle_checks import check_bundle
from queries.proving.bundles import BlockProof, Bundle
from queries.proving.errors import BundleRefusedError, ProofError
from queries.proving.event_witness import EventGroups, encode_event_groups, read_event_witness
from queries.proving.facts import parse_fact
from queries.proving.facts.events import EventFact
from queries.proving.facts.logs import LogFilter
from queries.proving.headers import HeaderField
from queries.proving.keccak import keccak256
from tests.queries.contracts.recorded_events import RecordedBlock, Verifier, recorded_block
from tests.queries.events.groups import (
    BloomGroup,
    Group,
    ReceiptGroup,
    ReceiptRequest,
    TransactionGroup,
    WithdrawalGroup,
    build_group_witness,
)
from tests.queries.proving.bundle_parts import (
    BATCH,
    DESTINATION,
    REGISTRY,
    SENT,
    child_of,
    file_of,
    with_digest,
)
from tests.queries.proving.test_bundles import check_changes, proven_facts
from tests.queries.tries.fuzzing import for_each

pytestmark = pytest.mark.no_database
EMITTER, TOPIC = b"\x00" * 20, b"\x04" * 32  # that the block does not have
ABSENT = LogFilter(EMITTER, (None, TOPIC))


@pytest.fixture(scope="module")
def recorded() -> RecordedBlock:
    return recorded_block(22432102)


def witness_of(*groups: Group) -> EventGroups:
    return read_event_witness(build_group_witness(groups))


def event_proof(block: RecordedBlock) -> BlockProof:
    """Facts of each kind in two witnesses. Of receipt 25 only the first log is listed."""
    logs = {
        1: ReceiptRequest(True, frozenset({0}), (ABSENT,)),
        25: ReceiptRequest(logs=frozenset({0, 1})),
    }
    witnesses = (
        witness_of(
            TransactionGroup(block.transactions, [0, 300]), ReceiptGroup(block.receipts, logs)
        ),
        witness_of(
            BloomGroup(block.header.payload(HeaderField.LOGS_BLOOM), [EMITTER, TOPIC]),
            WithdrawalGroup(block.withdrawals, [15, 16]),
        ),
    )
    names = (
        "TRANSACTION:0", "ABSENT_TRANSACTION:300", "LOG:1:0", "RECEIPT:1", "LOG:25:0",
        f"ABSENT_LOG:1:0x{EMITTER.hex()}:,0x{TOPIC.hex()}", f"SILENT_BLOCK:0x{EMITTER.hex()}",
        f"SILENT_BLOCK:0x{TOPIC.hex()}", "WITHDRAWAL:15", "ABSENT_WITHDRAWAL:16",
    )  # fmt: skip
    facts = frozenset(fact for fact in map(parse_fact, names) if isinstance(fact, EventFact))
    assert len(facts) == len(names)
    return BlockProof(
        1, DESTINATION, block.header, None, frozenset(), (), (), REGISTRY, (SENT,),
        tuple(sorted(witnesses, key=encode_event_groups)), facts,
    )  # fmt: skip


@pytest.fixture(scope="module")
def proof(recorded: RecordedBlock) -> BlockProof:
    return event_proof(recorded)


@pytest.fixture(scope="module")
def members(proof: BlockProof) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file_of(proof))
    return content


def test_a_bundle_is_read_as_it_was_written(proof: BlockProof, recorded: RecordedBlock) -> None:
    child = child_of(proof.header)
    times = replace(proof, next_header=child, timestamps=(proof.header.timestamp,))
    fields = replace(proof, header_fields=frozenset({HeaderField.RECEIPTS_ROOT}))
    for block in (proof, times, fields):
        assert check_bundle(file_of(block)) == Bundle(BATCH, DESTINATION, (block,))
    words = {fact.name: word for fact, word in proof.words.items()}
    assert len(words) == 10
    assert words["LOG:25:0"] == recorded.receipts[25].logs[0].hash
    assert words["RECEIPT:1"] == recorded.receipts[1].word
    assert words["TRANSACTION:0"] == keccak256(recorded.transactions[0])
    assert words["WITHDRAWAL:15"] == recorded.withdrawals[15].hash
    assert [int.from_bytes(words[name]) for name in words if name.startswith(("ABSENT", "SI"))] == [
        1, 1, 1, 1, 1,
    ]  # fmt: skip


def test_its_calls_prove_the_facts_to_a_verifier(
    shared_node: LocalNode, proof: BlockProof, recorded: RecordedBlock
) -> None:
    """Also if only the next block's hash is known, as for its time."""
    child = child_of(proof.header)
    times = replace(proof, next_header=child, timestamps=(proof.header.timestamp,))
    for block in (proof, times):
        verifier, known = Verifier(shared_node), block.trusted_header
        setting = call_data("setHash(uint256,bytes32)", known.number, known.hash)
        shared_node.send(verifier.registry, setting)
        for call in block.event_calls:
            verifier.send(call)
        log_hash = "logHash(uint256,uint256,uint256)"
        log = verifier.read(log_hash, recorded.number, 25, 0, returns="bytes32")
        assert log == recorded.receipts[25].logs[0].hash
        bloom_excludes = "isBlockSilent(uint256,bool,bytes32)"
        assert verifier.read(bloom_excludes, recorded.number, True, TOPIC, returns="bool")
    assert not proof.calls
    assert len(times.calls) == 1


def refusal(members: dict[str, Any]) -> str:
    with pytest.raises(BundleRefusedError) as refused:
        check_bundle(with_digest(members))
    return str(refused.value)


def changed_event(members: dict[str, Any], key: str, index: int, change: Any) -> dict[str, Any]:
    forged = deepcopy(members)
    part = forged["blocks"][0][key]
    part[index] = change(part[index])
    return forged


def test_a_refusal_names_the_place(members: dict[str, Any], recorded: RecordedBlock) -> None:
    def refused(key: str, index: int, change: Any) -> str:
        return refusal(changed_event(members, key, index, change))

    assert refused("events", 1, lambda text: text[:-2]).startswith(
        "The file's `blocks[0].events[1]` is refused"
    )
    other = refused("events", 0, lambda text: f"{text[:-1]}{'1' if text[-1] != '1' else '2'}")
    assert other.startswith("The file's `blocks[0].events[0]`")
    assert refused("eventCalls", 0, lambda text: text[:-2]).startswith(
        "The file's `blocks[0].eventCalls[0]` is"
    )
    word = refused("facts", 3, lambda fact: fact | {"word": f"0x{7:064x}"})
    assert word.startswith("The file's `blocks[0].facts[3].word` is '0x000")
    stated = members["blocks"][0]["facts"]
    at = [fact["name"] for fact in stated].index("TRANSACTION:0")
    for lie in ({"name": "TRANSACTION:007"}, {"kind": "RECEIPT"}, {"name": "WITHDRAWAL:0"}):
        sentence = refused("facts", at, lambda fact, lie=lie: fact | lie)
        assert sentence.startswith(f"The file's `blocks[0].facts[{at}]` is '")
        assert sentence.endswith("which no registry stores.")

    def without(key: str) -> dict[str, Any]:
        forged = deepcopy(members)
        del forged["blocks"][0][key]
        return forged

    assert refusal(without("events")) == "The file's `blocks[0]` has the unknown key 'eventCalls'."
    assert refusal(without("eventCalls")) == "The file's `blocks[0]` has no eventCalls."
    empty = deepcopy(members)
    empty["blocks"][0] |= {"events": [], "eventCalls": []}
    assert refusal(empty) == "The file's `blocks[0]` has the unknown key 'eventCalls'."
    twice = deepcopy(members)
    twice["blocks"][0]["events"] *= 2
    assert refusal(twice) == "The file's `blocks[0].events` is out of order, or has an entry twice."


def test_witnesses_without_listed_facts_or_of_other_blocks_are_refused(
    proof: BlockProof, recorded: RecordedBlock
) -> None:
    def refused(*groups: Group) -> str:
        with pytest.raises(BundleRefusedError) as error:
            check_bundle(file_of(replace(proof, events=(witness_of(*groups),))))
        return str(error.value)

    transactions = TransactionGroup(recorded.transactions, [0])
    other = recorded_block(22432103)
    assert refused(TransactionGroup(other.transactions, [0])) == (
        "The file's `blocks[0].events[0]` does not match the header's TRANSACTIONS_ROOT."
    )
    assert refused(TransactionGroup(recorded.transactions, [5])) == (
        "The file's `blocks[0].events[0]` has no facts under the header's TRANSACTIONS_ROOT."
    )
    receipts = ReceiptGroup(recorded.receipts, {1: ReceiptRequest(receipt=True)})
    assert refused(receipts, transactions) == (
        "The file's `blocks[0].events[0]` is out of order, or has an entry twice."
    )
    # Without the witness of facts that the file lists.
    fewer = replace(proof, events=(witness_of(transactions, receipts),))
    forged = json.loads(file_of(fewer))
    forged["blocks"][0]["facts"] = json.loads(file_of(proof))["blocks"][0]["facts"]
    assert refusal(forged) == "The file's `blocks[0].facts` has 10 entries; the proofs give 2."


def test_changes_with_a_correct_digest_prove_nothing_false(proof: BlockProof) -> None:
    check_changes((proof,))


def test_a_changed_byte_of_a_witness_proves_nothing_false(
    proof: BlockProof, members: dict[str, Any]
) -> None:
    """Even if the calls are made from the changed witness."""
    proven = set(proven_facts(proof))

    def check(change: tuple[int, int, int]) -> None:
        index, position, bits = change
        witness = bytearray.fromhex(members["blocks"][0]["events"][index][2:])
        witness[position % min(len(witness), 600)] ^= bits
        with suppress(ProofError):
            events = [*proof.events]
            events[index] = read_event_witness(bytes(witness))
            (block,) = check_bundle(file_of(replace(proof, events=tuple(events)))).blocks
            assert set(proven_facts(block)) <= proven

    for_each(
        st.tuples(st.integers(0, 1), st.integers(0, 10**6), st.integers(1, 255)), check, times=2
    )
