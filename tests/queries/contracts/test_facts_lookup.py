"""Facts without a transaction: what is stored, what a gateway proves, and what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest
from eth_abi.abi import encode

from explorer.demo.local_node import LocalNode, TransactionRevertedError
from queries.contracts.abi import call_data, selector
from queries.proving.keccak import keccak256
from queries.proving.registry_calls import accumulated_section, prove_call
from queries.proving.witnesses import AccountField, AccountToStore, build_witness
from tests.queries.attacks.event_checks import LOOKUP_CHECKS
from tests.queries.attacks.forgery import HASH, TIME
from tests.queries.attacks.switched_checks import Check, switched_build, without
from tests.queries.contracts.recorded_events import Verifier, prove_events_call
from tests.queries.contracts.recorded_lookup import (
    BALANCE,
    HEADER,
    LIES,
    LOG,
    LOOK_UP,
    NO_ONE,
    NUMBER,
    READ,
    RECEIPTS_ROOT,
    SLOT,
    STATE_ROOT,
    URLS,
    Lookup,
    deploy,
    lookup_of,
)
from tests.queries.events.groups import build_group_witness
from tests.rigs.deployed_contracts import CHAIN_ID, error_name

pytestmark = [pytest.mark.no_database, pytest.mark.usefixtures("corpus_folder")]


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


def test_a_lookup_names_the_gateways_and_the_fact(lookup: Lookup) -> None:
    registry, account = lookup.verifier.registry, lookup.account(0)
    own = ["https://mine.example/{sender}/{data}"]
    asked: list[tuple[str, tuple[object, ...], tuple[object, ...]]] = [
        (READ, (account, NUMBER, BALANCE), (1, account, NUMBER, BALANCE, 0)),
        (SLOT, (account, NUMBER, 32 * b"\xff"), (2, account, NUMBER, 2**256 - 1, 0)),
        (HEADER, (NUMBER, STATE_ROOT), (3, NO_ONE, NUMBER, STATE_ROOT, 0)),
        (LOG, (NUMBER, 5, 6), (5, NO_ONE, NUMBER, 5, 6)),
    ]
    for signature, arguments, question in asked:
        words = encode(
            ["uint256", "address", *("uint256",) * 5],
            [CHAIN_ID, registry, question[0], int(str(question[1]), 16), *question[2:]],
        )
        call = selector(LOOK_UP) + words
        _, urls, data, extra = lookup.ask(signature, *arguments)
        assert (list(urls), data, extra) == (URLS, call, keccak256(call))
        with_urls = signature.replace(")", ",string[])")
        _, urls, data, _ = lookup.ask(with_urls, *arguments, own)
        assert (list(urls), data) == (own, call)
        _, urls, *_ = lookup.ask(with_urls, *arguments, [])
        assert list(urls) == URLS


def test_every_kind_of_fact_is_proven_by_an_answer(lookup: Lookup) -> None:
    account, number = lookup.account(0), lookup.block.number
    state, slot = lookup.accounts[0].state, lookup.accounts[0].slots[0]
    numbers = (value.to_bytes(32) for value in (state.nonce, state.balance))
    words = (*numbers, state.storage_root, state.code_hash)
    for field, word in zip(AccountField, words, strict=True):
        answer = lookup.of_accounts(0, fields=[field], field=field)
        assert lookup.read_by(answer, READ, account, NUMBER, field) == word
    answer = lookup.of_accounts(0, slots=True)
    read = lookup.read_by(answer, SLOT, account, NUMBER, slot.slot.to_bytes(32))
    assert int.from_bytes(read) == slot.value
    read = lookup.read_by(lookup.of_header(STATE_ROOT), HEADER, number, STATE_ROOT)
    assert read == lookup.block.header.state_root
    read = lookup.read_by(lookup.of_logs(1, 0), LOG, number, 1, 0)
    assert read == lookup.block.receipts[1].logs[0].hash


# Lies: the true answer to another question


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_refused(lookup: Lookup, name: str) -> None:
    error, read = LIES[name]
    with pytest.raises(TransactionRevertedError) as reverted:
        read(lookup)
    assert error_name("FactsLookup", reverted.value.data)[:10] == error[:10]


def lying_verifiers(lookup: Lookup) -> dict[str, tuple[str, list[object]]]:
    """Constructor arguments that are refused."""
    registry, other = lookup.verifier.registry, Verifier(lookup.contract.node)
    return {
        "a_verifier_beside_another_registry": ("AnotherRegistry", [registry, other.address, URLS]),
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
    assert alone.refusal(call_data(LOG, lookup.block.number, 1, 1)) == "NoVerifier"


# Without a check


@pytest.mark.parametrize("check", [None, *LOOKUP_CHECKS], ids=str)
def test_without_a_check_its_lie_is_believed(
    shared_node: LocalNode, corpus_folder: Path, check: Check | None
) -> None:
    """None: with all checks none is."""
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

    attacks = {row.attack for row in LOOKUP_CHECKS}
    with without(LOOKUP_CHECKS, check, shared_node):
        believed = {name for name in attacks if is_believed(name)}
    assert (check.attack in believed) if check else not believed
