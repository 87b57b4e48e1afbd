"""From a request to facts in the registry, on one chain that proves its own past."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from eth_account import Account as Key

from queries.chain.local_node import LocalNode
from queries.models import SentTransaction
from queries.proving.keccak import EMPTY_CODE_HASH
from queries.proving.registry_calls import HeaderStep, headers_section, prove_call
from queries.proving.witness_building import build_witness
from queries.proving.witnesses import AccountField
from queries.proving.witnesses import AccountRequest as WitnessRequest
from tests.queries.pipeline.service import CHAIN_ID, ETHER, Service, running_service

pytestmark = pytest.mark.django_db(transaction=True)
ZERO = f"0x{0:064x}"
HOLDER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"


@pytest.fixture
def service(node: LocalNode) -> Iterator[Service]:
    with running_service(node) as running:
        yield running


def test_the_specifications_example(service: Service) -> None:
    service.node.rpc.ask("anvil_setBalance", HOLDER, hex(123 * ETHER))
    service.mine(2)
    block = service.head() - 1
    batch = service.ask_balance(HOLDER, block)
    assert service.status(batch)["queryStatus"] == "IN_PROGRESS"
    service.work(batch)
    told = service.status(batch)
    assert told["queryStatus"] == "DONE"
    word = service.reads.account_field(bytes.fromhex(HOLDER[2:]), block, 1)
    assert word is not None
    assert int.from_bytes(word) == service.balance(HOLDER, block) == 123 * ETHER
    steps = told["queries"][0]["steps"]
    assert [step["step"] for step in steps] == [
        "INITIAL_STATE",
        "BLOCKHASH_AVAILABLE",
        "HEADER_ACCUMULATED",
        "ACCOUNT_ACCUMULATED",
    ]
    assert {step["status"] for step in steps} == {"COMPLETED"}
    times = [time for step in steps for time in (step["started"], step["completed"])]
    assert times == sorted(times)
    assert SentTransaction.objects.count() == 1


def test_what_is_proven_already_costs_nothing(service: Service) -> None:
    service.mine(2)
    block = service.head() - 1
    service.work(service.ask_balance(HOLDER, block))
    sent = SentTransaction.objects.count()
    again = service.ask_balance(HOLDER, block)
    service.work(again)
    assert service.status(again)["queryStatus"] == "DONE"
    assert SentTransaction.objects.count() == sent


def test_accounts_of_one_block_share_its_header_and_transaction(service: Service) -> None:
    service.mine(2)
    block = service.head() - 1
    accounts = {Key.create().address: {"props": ["BALANCE", "NONCE"]} for _ in range(20)}
    batch = service.submit({str(CHAIN_ID): {f"block:{block}": {"accounts": accounts}}})
    service.work(batch)
    assert SentTransaction.objects.count() == 1
    for account in accounts:
        assert service.reads.account_field(bytes.fromhex(account[2:]), block, 1) == bytes(32)


def test_all_that_can_be_asked_of_blocks(service: Service) -> None:
    """Fields, slots that are zero or set, absent accounts, header fields, several blocks."""
    registry = service.registry.address
    service.mine(3)
    first, second = service.head() - 2, service.head() - 1
    nobody = Key.create().address
    batch = service.submit(
        {
            str(CHAIN_ID): {
                f"block:{first}": {
                    "header": ["PARENT_HASH", "TIMESTAMP", "COINBASE"],
                    "accounts": {
                        HOLDER: {"props": ["NONCE", "BALANCE", "STORAGE_ROOT", "CODE_HASH"]},
                        nobody: {"props": ["CODE_HASH"], "slots": ["0x1"]},
                    },
                },
                f"block:{second}": {
                    "accounts": {registry: {"props": ["CODE_HASH"], "slots": ["0x0", "0x7"]}}
                },
            }
        }
    )
    service.work(batch)
    told = service.status(batch)
    header, holder, absent, contract = told["queries"]
    block = service.header(first)
    assert header["values"]["PARENT_HASH"] == block["parentHash"]
    assert int(header["values"]["TIMESTAMP"], 16) == int(block["timestamp"], 16)
    assert len(header["steps"]) == 3
    assert int(holder["values"]["BALANCE"], 16) == service.balance(HOLDER, first)
    assert set(holder["values"]) == {"NONCE", "BALANCE", "STORAGE_ROOT", "CODE_HASH"}
    assert absent["values"] == {"CODE_HASH": f"0x{EMPTY_CODE_HASH.hex()}", f"0x{1:064x}": ZERO}
    assert contract["values"][f"0x{7:064x}"] == ZERO
    proof = service.node.rpc.ask("eth_getProof", registry, [], hex(second))
    assert contract["values"]["CODE_HASH"] == proof["codeHash"]
    assert service.reads.header_field(first, 0) == bytes.fromhex(block["parentHash"][2:])


def test_a_block_named_by_its_time(service: Service) -> None:
    service.mine(4)
    block = service.head() - 2
    here = service.header(block)
    seconds = int(here["timestamp"], 16)
    entry = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
    batch = service.submit({str(CHAIN_ID): {f"timestamp:{seconds}": entry}})
    service.work(batch)
    query = service.status(batch)["queries"][0]
    assert query["block"] == str(block)
    assert service.reads.block_number_at(seconds) == block


def test_a_time_that_no_block_lies_after_is_waited_for(service: Service) -> None:
    service.mine(1)
    seconds = int(service.header(service.head())["timestamp"], 16)
    entry = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
    batch = service.submit({str(CHAIN_ID): {f"timestamp:{seconds}": entry}})
    service.work_until_it_says("has no block after", batch)
    assert service.waits(batch) == "time_not_reached"
    service.mine(1)
    service.work(batch)


def test_a_block_that_only_the_history_contract_knows(service: Service) -> None:
    service.mine(1)
    block = service.head()
    service.mine(300)
    service.work(service.ask_balance(HOLDER, block))
    assert service.reads.account_field(bytes.fromhex(HOLDER[2:]), block, 1) is not None


def test_two_batches_of_one_fact_take_one_transaction(service: Service) -> None:
    service.mine(2)
    block = service.head() - 1
    batch = service.ask_balance(HOLDER, block)
    service.work(service.ask_balance(HOLDER, block))
    assert service.status(batch)["queryStatus"] == "DONE"
    assert SentTransaction.objects.count() == 1


def test_facts_are_confirmed_before_a_batch_is_done(node: LocalNode) -> None:
    with running_service(node, confirmations=3) as service:
        service.mine(2)
        batch = service.ask_balance(HOLDER, service.head() - 1)
        service.work_until_it_says("3 blocks are to confirm it", batch)
        assert service.waits(batch) == "confirming"
        service.mine(2)
        service.work(batch)


def test_a_block_that_is_not_final_waits_and_says_so(node: LocalNode) -> None:
    with running_service(node, finality=5) as service:
        service.mine(6)
        block = service.head()
        batch = service.ask_balance(HOLDER, block)
        service.work_until_it_says("is not final yet", batch)
        assert service.waits(batch) == "block_not_final"
        service.mine(6)
        service.work(batch)


def test_a_chains_own_newest_blocks_need_not_be_final(node: LocalNode) -> None:
    """What reorganises the block reorganises its proof: DONE's confirmations cover both."""
    with running_service(node, finality=None) as service:
        service.mine(2)
        batch = service.ask_balance(HOLDER, service.head())
        service.work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"


def test_who_offers_too_little_is_told_how_much_it_takes(node: LocalNode) -> None:
    with running_service(node, free=False) as service:
        service.mine(2)
        block = service.head() - 1
        poor = service.submit(_balance_at(block), fee="1")
        service.work(poor)
        told = service.status(poor)
        assert (told["queryStatus"], told["code"]) == ("REJECTED", "fee_too_low")
        needed = re.search(r"a fee of at least (\d+)", told["error"])
        assert needed
        assert not SentTransaction.objects.exists()
        rich = service.submit(_balance_at(block), fee=needed[1])
        service.work(rich)
        told = service.status(rich)
        assert told["queryStatus"] == "DONE"
        row = SentTransaction.objects.get()
        assert int(told["spent"]) == (row.gas_used or 0) * int(row.gas_price, 16)
        assert int(told["spent"]) <= int(needed[1])


def _balance_at(block: int) -> dict[str, Any]:
    return {str(CHAIN_ID): {f"block:{block}": {"accounts": {HOLDER: {"props": ["BALANCE"]}}}}}


def test_who_waits_for_the_header_alone_bears_what_it_costs(node: LocalNode) -> None:
    """A stranger proved the account, with a header that he did not have accumulated."""
    with running_service(node, free=False) as service:
        service.mine(2)
        block = service.head() - 1
        source = service.chains().source(CHAIN_ID)
        header = source.header(block)
        (proof,) = source.account_proofs(header, [(bytes.fromhex(HOLDER[2:]), ())])
        witness = build_witness([WitnessRequest(proof, frozenset({AccountField.BALANCE}))])
        call = prove_call([headers_section([HeaderStep(header, witness)])])
        node.send(service.registry.address, call)
        poor = service.submit(_balance_at(block), fee="1")
        service.work(poor)
        assert service.status(poor)["code"] == "fee_too_low"
        rich = service.submit(_balance_at(block), fee=str(ETHER))
        service.work(rich)
        row = SentTransaction.objects.get()
        assert int(service.status(rich)["spent"]) == (row.gas_used or 0) * int(row.gas_price, 16)
