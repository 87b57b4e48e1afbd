"""The proof file of a batch is complete for all kinds of facts, whoever proved them."""

import json
import secrets
import time
import tracemalloc
from typing import Any

import pytest

from explorer.demo.local_node import LocalNode, local_node
from queries.chain.signer import decode_transaction
from queries.models import Fact, Proof, Query, SentTransaction
from queries.proving.bundle_checks import check_bundle
from queries.proving.registry_calls import PROVE_SELECTOR, HeaderFlag
from queries.reading.proof_file import build_proof_file
from tests.explorer.proven_events import mine_transfer, prove_events
from tests.queries.contracts.holder import SLOTS, compiled_holder
from tests.queries.prover.bundles import checked_proof, proof_file, request_proof
from tests.queries.prover.service import CHAIN_ID, ETHER, HOLDER, Service, running_service
from tests.rigs.deployed_contracts import day_old_genesis

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
ALL = ["NONCE", "BALANCE", "STORAGE_ROOT", "CODE_HASH"]
NEW = "0x00000000000000000000000000000000000000fF"
UNUSED_ADDRESS = "0x000000000000000000000000000000000000dEaD"


def everything(service: Service) -> dict[str, Any]:
    """A contract with set and unset slots, an absent account, header fields, and a time."""
    contract = service.node.deploy(compiled_holder())
    service.mine(3)
    block = service.head() - 1
    accounts = {
        contract: {"props": ALL, "slots": [f"0x{slot:x}" for slot in SLOTS]},
        UNUSED_ADDRESS: {"props": ALL, "slots": ["0x0", "0x1"]},
        HOLDER: {"props": ["BALANCE"]},
    }
    seconds = int(service.header(block - 1)["timestamp"], 16)
    return {
        str(CHAIN_ID): {
            f"block:{block}": {"header": ["TIMESTAMP", "EXTRA_DATA", "LOGS_BLOOM"],
                               "accounts": accounts},
            f"timestamp:{seconds}": {"accounts": {HOLDER: {"props": ["BALANCE"]}}},
        }
    }  # fmt: skip


def proven(service: Service, data: dict[str, Any]) -> str:
    batch = service.submit(data)
    service.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
    return batch


def test_calls_of_a_proof_file_prove_the_facts_to_another_registry(
    service: Service, node: LocalNode
) -> None:
    """Every call works alone, in any order."""
    batch = proven(service, everything(service))
    with running_service(node) as other:
        bundle = checked_proof(service, batch)
        for block in reversed(bundle.blocks):
            for call in block.calls:
                assert node.send(other.registry.address, call).gas_used
        contract = bundle.blocks[-1].accounts
        for request in contract:
            address = request.proof.address or b""
            number = bundle.blocks[-1].header.number
            for slot in request.proof.slots:
                assert other.reads.slot_value(address, number, slot.slot) == slot.value
        timed = bundle.blocks[0]
        for seconds in timed.timestamps:
            assert other.reads.block_number_at(seconds) == timed.header.number


def test_facts_that_someone_else_proved_have_their_proof(service: Service, node: LocalNode) -> None:
    """Some facts of the second batch are new."""
    data = everything(service)
    first = proven(service, data)
    with running_service(node) as other:
        for block in checked_proof(service, first).blocks:
            for call in block.calls:
                node.send(other.registry.address, call)
        # Forget how they were proven to the first registry.
        Proof.objects.all().delete()
        Query.objects.all().delete()
        SentTransaction.objects.all().delete()
        data[str(CHAIN_ID)][next(iter(data[str(CHAIN_ID)]))]["accounts"][NEW] = {"props": ["NONCE"]}
        batch = proven(other, data)
        assert SentTransaction.objects.count() == 1
        checked_proof(other, batch)
        count = Proof.objects.count()
        again = proven(other, data)
        assert Proof.objects.count() == count
        checked_proof(other, again)


def test_a_proof_of_a_block_that_a_reorg_replaced_is_refused(service: Service) -> None:
    batch = proven(service, {str(CHAIN_ID): {f"block:{service.head() - 1}": {
        "accounts": {HOLDER: {"props": ["BALANCE"]}}}}})  # fmt: skip
    Fact.objects.update(word=32 * b"1")
    response = request_proof(service, batch)
    assert (response.status_code, response.json()["code"]) == (409, "proof_unavailable")
    assert response.json()["error"].endswith("the chain has another block there now.")


def test_the_events_of_a_batch_have_their_witnesses(service: Service) -> None:
    """Only the requested facts are listed, also if the call relied on a stored root."""
    transfer = mine_transfer(service)
    prove_events(service, transfer)
    part = prove_events(service, transfer, receipts=[0], absent=[{"transaction": 1}])
    (block,) = checked_proof(service, part).blocks
    assert {fact.name for fact in block.words} == {"RECEIPT:0", "ABSENT_TRANSACTION:1"}
    assert len(block.event_calls) == 1
    other = mine_transfer(service)
    prove_events(service, other, header=["RECEIPTS_ROOT"])
    batch = prove_events(service, other, logs=[{"transaction": 0, "log": 0}])
    (block,) = checked_proof(service, batch).blocks
    ((group,),) = block.events
    assert group.block is None  # unlike in the call, which named it instead of a section


def test_an_event_without_its_proof_or_of_a_replaced_block_is_refused(service: Service) -> None:
    batch = prove_events(service, mine_transfer(service), receipts=[0])
    word = Fact.objects.get(job__queries__batch=batch, name="RECEIPT:0").word
    for change, sentence in (
        (lambda: Fact.objects.update(word=32 * b"1"), "has another block there"),
        (Proof.objects.all().delete, "others had proven it before"),
    ):
        change()
        answer = request_proof(service, batch)
        assert (answer.status_code, answer.json()["code"]) == (409, "proof_unavailable")
        assert answer.json()["error"].startswith("The proof of RECEIPT:0")
        assert sentence in answer.json()["error"]
        Fact.objects.update(word=word)


def test_a_proof_file_has_checksummed_addresses(service: Service) -> None:
    batch = service.ask_balance(HOLDER, service.head() - 1)
    service.work(batch)
    (block,) = json.loads(proof_file(service, batch))["blocks"]
    assert block["registry"]["address"] == service.registry.address
    assert [account["address"] for account in block["accounts"]] == [HOLDER]
    assert {fact["account"] for fact in block["facts"]} == {HOLDER}


def test_a_thousand_accounts_take_little_memory(service: Service) -> None:
    names = [f"0x{secrets.token_hex(20)}" for _ in range(1_000)]
    accounts = {name: {"props": ["BALANCE"]} for name in names}
    batch = service.submit({str(CHAIN_ID): {f"block:{service.head() - 1}": {"accounts": accounts}}})
    service.work(batch, seconds=120)
    tracemalloc.start()
    start = time.monotonic()
    with build_proof_file(batch, service.routes) as file:
        seconds, (_, peak) = time.monotonic() - start, tracemalloc.get_traced_memory()
        content = file.read()
    tracemalloc.stop()
    assert seconds < 30
    assert peak < 64 * 2**20
    assert len(check_bundle(content).blocks[0].words) == 1_000


BEACON_ROOTS = "0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02"  # EIP-4788
ANOTHER_ROOT = "0x60015f5260205ff3"  # code that answers every timestamp with it


@pytest.mark.parametrize("knows_root", [True, False])
def test_a_call_omits_hashes_that_a_native_registry_can_find_itself(*, knows_root: bool) -> None:
    """If that is cheaper, and a dry run shows that it works. The proof file has the hashes."""
    holders = [(f"0x{number:040x}", hex(ETHER)) for number in range(4096, 5120)]
    with (
        local_node("--slots-in-an-epoch", "1", *day_old_genesis()) as node,
        running_service(node, new_slot_gas=1) as service,
    ):
        node.rpc.ask_many("anvil_setBalance", holders)
        if not knows_root:
            node.rpc.ask("anvil_setCode", BEACON_ROOTS, ANOTHER_ROOT)
        service.mine(9)
        batch = service.ask_balance(holders[0][0], service.head() - 3)
        service.work(batch)
        data = decode_transaction(SentTransaction.objects.get().raw).data
        flags = HeaderFlag(data[len(PROVE_SELECTOR) + 3])
        both = HeaderFlag.PARENT_KNOWN | HeaderFlag.BEACON_KNOWN
        assert flags & both == (both if knows_root else 0)
        assert checked_proof(service, batch)
