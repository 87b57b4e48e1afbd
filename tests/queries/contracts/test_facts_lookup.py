"""Facts without a transaction: what is stored, what a gateway proves, and what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest
from eth_abi.abi import decode, encode

from explorer.demo.local_node import LocalNode, TransactionRevertedError
from queries.contracts.abi import call_data, selector
from queries.proving.headers import HeaderField
from queries.proving.registry_calls import accumulated_section, prove_call
from queries.proving.witnesses import AccountField, AccountToStore, build_witness
from tests.queries.attacks.event_checks import LOOKUP_CHECKS
from tests.queries.attacks.forgery import HASH, TIME
from tests.queries.attacks.switched_checks import Check, assert_needed, switched_build
from tests.queries.contracts.recorded_events import Verifier, prove_events_call
from tests.queries.contracts.recorded_lookup import (
    BALANCE,
    HEADER,
    HEADER_RECENT,
    LIES,
    LOG,
    LOOK_UP,
    LOOK_UP_RECENT,
    MAX_AGE,
    NO_ONE,
    NUMBER,
    OWN_URLS,
    PROVEN,
    PROVEN_RECENT,
    QUESTION,
    READ,
    RECEIPTS_ROOT,
    RECENT,
    SLOT,
    SLOT_RECENT,
    STATE_ROOT,
    TIMESTAMP,
    URLS,
    Lookup,
    deploy,
    lookup_of,
)
from tests.queries.events.groups import build_group_witness
from tests.rigs.deployed_contracts import CHAIN_ID, error_name

pytestmark = pytest.mark.no_database


@pytest.fixture
def lookup(shared_node: LocalNode, corpus_folder: Path) -> Lookup:
    return lookup_of(shared_node, corpus_folder)


def test_a_stored_fact_is_returned_at_once(shared_node: LocalNode, lookup: Lookup) -> None:
    account, number = lookup.account(0), lookup.block.number
    (slot, *_) = lookup.accounts[0].slots
    witness = build_witness(
        [AccountToStore(replace(lookup.accounts[0], slots=(slot,)), frozenset({BALANCE}))]
    )
    section = accumulated_section(NUMBER, TIME, HASH, witness)
    shared_node.send(
        lookup.verifier.registry, prove_call([section, lookup.block.section(STATE_ROOT)])
    )
    logs = build_group_witness([lookup.receipts(1, 0)])
    lookup.verifier.send(prove_events_call(lookup.block.section(RECEIPTS_ROOT), logs))
    state = lookup.accounts[0].state
    assert int.from_bytes(lookup.read(READ, account, NUMBER, BALANCE)) == state.balance
    assert int.from_bytes(lookup.read(SLOT, account, NUMBER, slot.slot.to_bytes(32))) == slot.value
    assert lookup.read(HEADER, number, STATE_ROOT) == lookup.block.header.state_root
    assert lookup.read(LOG, number, 1, 0) == lookup.block.receipts[1].logs[0].hash


def question_call(lookup: Lookup, function: str, *words: object) -> bytes:
    call = encode(["uint256", "address", QUESTION], [CHAIN_ID, lookup.verifier.registry, words])
    return selector(function) + call


def test_a_lookup_names_the_gateways_and_the_fact(lookup: Lookup) -> None:
    account = lookup.account(0)
    asked: list[tuple[str, tuple[object, ...], tuple[object, ...]]] = [
        (READ, (account, NUMBER, BALANCE), (1, account, NUMBER, BALANCE, 0)),
        (SLOT, (account, NUMBER, 32 * b"\xff"), (2, account, NUMBER, 2**256 - 1, 0)),
        (HEADER, (NUMBER, STATE_ROOT), (3, NO_ONE, NUMBER, STATE_ROOT, 0)),
        (LOG, (NUMBER, 5, 6), (5, NO_ONE, NUMBER, 5, 6)),
    ]
    for signature, arguments, question in asked:
        urls, data, extra = lookup.ask(signature, *arguments)
        assert (list(urls), data) == (OWN_URLS, question_call(lookup, LOOK_UP, *question))
        assert extra == encode([QUESTION], [question])
        urls, *_ = lookup.lookup_of(call_data(signature, *arguments, []), PROVEN)
        assert list(urls) == URLS


def test_a_recent_lookup_names_the_block_that_the_callers_node_has_seen(lookup: Lookup) -> None:
    account, node = lookup.account(0), lookup.contract.node
    asked: list[tuple[str, tuple[object, ...], tuple[object, ...]]] = [
        (RECENT, (account, BALANCE), (1, account, BALANCE)),
        (SLOT_RECENT, (account, 32 * b"\x01"), (2, account, int.from_bytes(32 * b"\x01"))),
        (HEADER_RECENT, (STATE_ROOT,), (3, NO_ONE, STATE_ROOT)),
    ]
    for signature, arguments, (kind, subject, name) in asked:
        _, data, _ = lookup.ask(signature, *arguments, MAX_AGE)
        seen = int(node.rpc.ask("eth_blockNumber"), 16)
        assert data == question_call(lookup, LOOK_UP_RECENT, kind, subject, seen, name, 0)


def test_every_kind_of_fact_is_proven_by_an_answer(lookup: Lookup) -> None:
    account, number = lookup.account(0), lookup.block.number
    state, slot = lookup.accounts[0].state, lookup.accounts[0].slots[0]
    for field, word in zip(AccountField, state.words, strict=True):
        answer = lookup.of_accounts(0, fields=[field])
        assert lookup.read_by(answer, READ, account, NUMBER, field) == word
    answer = lookup.of_accounts(0, slots=True)
    read = lookup.read_by(answer, SLOT, account, NUMBER, slot.slot.to_bytes(32))
    assert int.from_bytes(read) == slot.value
    read = lookup.read_by(lookup.of_header(STATE_ROOT), HEADER, number, STATE_ROOT)
    assert read == lookup.block.header.state_root
    read = lookup.read_by(lookup.of_logs(1, 0), LOG, number, 1, 0)
    assert read == lookup.block.receipts[1].logs[0].hash


def test_a_recent_fact_is_proven_with_its_block(lookup: Lookup) -> None:
    account, (newest, older) = lookup.account(0), lookup.recent
    slot = lookup.accounts[0].slots[0]

    def read(answer: bytes, signature: str, *arguments: object, age: int = MAX_AGE) -> list[int]:
        return list(decode(["uint256"] * 2, lookup.read_by(answer, signature, *arguments, age)))

    answer = lookup.of_recent(0, fields=[BALANCE])
    balance = lookup.accounts[0].state.balance
    assert read(answer, RECENT, account, BALANCE) == [balance, newest.number]
    answer = lookup.of_recent(0, fields=[BALANCE], block=1)
    assert read(answer, RECENT, account, BALANCE, age=4_000) == [balance, older.number]
    assert read(answer, RECENT, account, BALANCE, age=2**256 - 1) == [balance, older.number]
    answer = lookup.of_recent(0, slots=True)
    value = read(answer, SLOT_RECENT, account, slot.slot.to_bytes(32))
    assert value == [slot.value, newest.number]
    for field in (STATE_ROOT, HeaderField.GAS_LIMIT, HeaderField.MIX_HASH, TIMESTAMP):
        answer = lookup.of_recent(header=[*{field, TIMESTAMP}])
        word = int.from_bytes(newest.word(field))
        assert read(answer, HEADER_RECENT, field) == [word, newest.number]


def test_a_recent_lookup_retries_three_times(lookup: Lookup) -> None:
    """If the block is not known: a chain's view of another may move on before the callback."""
    answer, account = lookup.of_recent(0, fields=[BALANCE]), lookup.account(0)
    _, question, extra = lookup.ask(RECENT, account, BALANCE, MAX_AGE)
    forget = call_data("setHash(uint256,bytes32)", lookup.recent[0].number, bytes(32))
    lookup.contract.node.send(lookup.verifier.registry, forget)
    for _ in range(3):
        data = call_data(PROVEN_RECENT, answer, extra)
        urls, other, extra = lookup.lookup_of(data, PROVEN_RECENT)
        assert (list(urls), len(other)) == (OWN_URLS, len(question))
        assert other != question  # it names a newer block
    assert lookup.contract.refusal(call_data(PROVEN_RECENT, answer, extra)) == "CallReverted"


@pytest.mark.parametrize(
    ("signature", "arguments"), [(READ, (NUMBER, 4)), (RECENT, (255, MAX_AGE))]
)
def test_a_field_that_no_account_has_is_refused_before_the_lookup(
    lookup: Lookup, signature: str, arguments: tuple[int, ...]
) -> None:
    data = call_data(signature, lookup.account(0), *arguments, [])
    assert lookup.contract.refusal(data) == "FieldUnknown"


# Lies: the true answer to another question


@pytest.mark.parametrize("name", LIES)
def test_a_false_or_malformed_answer_is_refused(lookup: Lookup, name: str) -> None:
    error, read = LIES[name]
    with pytest.raises(TransactionRevertedError) as reverted:
        read(lookup)
    assert error_name("FactsLookup", reverted.value.data) == error


def lying_verifiers(lookup: Lookup) -> dict[str, tuple[str, list[object]]]:
    """Constructor arguments that are refused."""
    registry, other = lookup.verifier.registry, Verifier(lookup.contract.node)
    return {
        "a_verifier_beside_another_registry": ("RegistryMismatch", [registry, other.address, URLS]),
        "an address without code": ("NoContract", ["0x" + 20 * "66", NO_ONE, URLS]),
    }


@pytest.mark.parametrize("name", ["a_verifier_beside_another_registry", "an address without code"])
def test_a_lying_deployment_is_refused(lookup: Lookup, name: str) -> None:
    error, words = lying_verifiers(lookup)[name]
    with pytest.raises(TransactionRevertedError) as reverted:
        deploy(lookup.contract.node, words)
    assert error_name("FactsLookup", reverted.value.data) == error


def test_without_a_verifier_no_log_is_read(lookup: Lookup) -> None:
    alone = deploy(lookup.contract.node, [lookup.verifier.registry, NO_ONE, URLS])
    assert alone.refusal(call_data(LOG, lookup.block.number, 1, 1, [])) == "NoVerifier"


# Without a check


@pytest.mark.parametrize("check", [None, *LOOKUP_CHECKS], ids=str)
def test_without_a_check_its_lie_is_believed(
    shared_node: LocalNode, corpus_folder: Path, check: Check | None
) -> None:
    code = switched_build(LOOKUP_CHECKS, {"FactsLookup": "FactsLookup.sol"})["FactsLookup"]
    lookup = lookup_of(shared_node, corpus_folder, code)
    deployments = lying_verifiers(lookup)

    def is_believed(name: str) -> bool:
        try:
            if name in deployments:
                deploy(shared_node, deployments[name][1], code)
            else:
                LIES[name][1](lookup)
        except TransactionRevertedError:
            return False
        return True

    assert_needed(LOOKUP_CHECKS, check, shared_node, is_believed)
