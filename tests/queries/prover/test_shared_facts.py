"""Facts that several batches ask for: their transactions, details and listing."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command

from explorer.demo.local_node import LocalNode
from queries.chain.signer import decode_transaction
from queries.contracts.create2 import verifier_address
from queries.database.clock import shared_now
from queries.models import (
    Batch,
    BlockJob,
    Fact,
    JobTransaction,
    Proof,
    Query,
    SentHash,
    SentTransaction,
    Share,
)
from queries.transactions.destination_reorgs import reopen_undone_rows
from tests.queries.prover.service import CHAIN_ID, ETHER, HOLDER, Service, running_service
from tests.rigs.faulty_node import relay

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
LOG = {"logs": [{"transaction": 0, "log": 0}]}


def request_of(block: int, content: Mapping[str, Any]) -> dict[str, Any]:
    return {str(CHAIN_ID): {f"block:{block}": content}}


def slots(block: int, *numbers: int) -> dict[str, Any]:
    return request_of(block, {"accounts": {HOLDER: {"slots": list(map(hex, numbers))}}})


def deploy_emitter(node: LocalNode, topic: int) -> int:
    """Deploy a contract whose constructor emits a log with this topic; return the block."""
    node.deploy(bytes.fromhex(f"60{topic:02x}5f5fa160015ff3"))
    return int(node.rpc.ask("eth_blockNumber"), 16)


def visible(service: Service, path: str) -> str:
    answer = service.client.get(path)
    assert answer.status_code == 200, path
    return " ".join(re.sub("<[^>]*>", " ", answer.content.decode()).split())


def test_each_fact_has_the_transaction_that_proved_it(node: LocalNode) -> None:
    with running_service(node) as service:
        service.mine(8)
        service.work(service.submit(slots(service.head() - 1, *range(900))), seconds=60)
        counts = [
            Fact.objects.filter(transaction=sent).count() for sent in SentTransaction.objects.all()
        ]
        assert len(counts) > 1
        assert min(counts) > 100
        assert sum(counts) == 900


def test_a_later_batch_does_not_take_over_an_earlier_ones_transaction(node: LocalNode) -> None:
    with running_service(node, confirmations=4) as service:
        service.mine(8)
        block = service.head() - 1
        first = service.submit(slots(block, 1))
        service.work_until(lambda: SentTransaction.objects.count() == 1)
        service.mine(1)
        service.work_until(lambda: SentTransaction.objects.filter(succeeded=True).count() == 1)
        second = service.submit(slots(block, 2))
        service.work_until(lambda: SentTransaction.objects.count() == 2)
        service.mine(8)
        service.work(first, second)
        for batch, slot, sent in zip(
            (first, second), (1, 2), SentTransaction.objects.order_by("nonce"), strict=True
        ):
            assert Fact.objects.get(name=f"0x{slot:064x}").transaction == sent
            step = service.status(batch)["queries"][0]["steps"][-1]
            assert step["transactionHash"] == sent.mined_hash


def test_a_log_is_read_from_the_verifier_whoever_proves_its_header(node: LocalNode) -> None:
    with running_service(node, confirmations=4) as service:
        block = deploy_emitter(node, 0xAA)
        service.mine(4)
        first = service.submit(request_of(block, LOG))
        service.work_until(lambda: SentTransaction.objects.count() == 1)
        service.mine(1)
        service.work_until(lambda: SentTransaction.objects.filter(succeeded=True).count() == 1)
        second = service.submit(request_of(block, {"accounts": {HOLDER: {"props": ["BALANCE"]}}}))
        service.work_until(lambda: SentTransaction.objects.count() == 2)
        service.mine(8)
        service.work(first, second)
        registry = service.registry.address
        assert service.status(first)["queries"][0]["registry"] == verifier_address(registry)
        assert service.status(second)["queries"][0]["registry"] == registry


def test_a_fact_that_others_proved_is_read_again_after_a_reorg(node: LocalNode) -> None:
    """Nothing of ours was undone, but the block was replaced."""
    with running_service(node) as service:
        service.mine(8)
        before_block = node.rpc.ask("evm_snapshot")
        service.mine(1)
        block = service.head()
        service.mine(2)
        before_proof = node.rpc.ask("evm_snapshot")
        service.work(service.ask_balance(HOLDER, block))
        (sent,) = SentTransaction.objects.all()
        calldata = decode_transaction(bytes(sent.raw)).data
        assert node.rpc.ask("evm_revert", before_proof)
        for model in (Share, JobTransaction, SentHash, Query, Batch, Proof, Fact, BlockJob):
            model.objects.all().delete()
        SentTransaction.objects.all().delete()
        node.send(service.registry.address, calldata)
        service.mine(2)
        first = service.ask_balance(HOLDER, block)
        service.work(first)
        assert not SentTransaction.objects.exists()
        old_balance = service.status(first)["queries"][0]["values"]["BALANCE"]
        assert node.rpc.ask("evm_revert", before_block)
        node.rpc.ask("anvil_setBalance", HOLDER, hex(777))
        service.mine(8)
        second = service.ask_balance(HOLDER, block)
        service.work(second)
        service.work_until(lambda: not Query.objects.filter(has_ended=False).exists())
        assert int(old_balance, 16) != 777
        for batch in (first, second):
            assert int(service.status(batch)["queries"][0]["values"]["BALANCE"], 16) == 777


def test_a_fact_has_its_transaction_although_the_receipt_came_later(node: LocalNode) -> None:
    def without_receipts(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        return {"result": None} if method == "eth_getTransactionReceipt" else answer

    with running_service(node) as service:
        service.mine(8)
        with relay(node.url, without_receipts) as address:
            batch = service.ask_balance(HOLDER, service.head() - 2)
            service.work(batch, context=service.with_nodes(address).context())
        service.work_until(lambda: SentTransaction.objects.filter(confirmed=True).exists())
        sent = SentTransaction.objects.get()
        assert sent.succeeded
        assert Fact.objects.get().transaction == sent


def test_a_reorg_of_one_transaction_leaves_final_facts_of_others(node: LocalNode) -> None:
    with running_service(node) as service:
        service.mine(8)
        block = service.head() - 1
        first = service.submit(slots(block, 1))
        service.work(first)
        SentTransaction.objects.update(final=True)
        Batch.objects.update(ended_at=shared_now() - timedelta(days=100))
        service.mine(2)
        snapshot = node.rpc.ask("evm_snapshot")
        second = service.submit(slots(block, 2))
        service.work(second)
        call_command("prune", "--older-than", "90d")
        assert not Batch.objects.filter(pk=first).exists()
        node.rpc.ask("evm_revert", snapshot)
        service.mine(3)
        reopen_undone_rows(service.context().lane(CHAIN_ID))
        assert Query.objects.filter(batch=second, has_ended=False).exists()
        service.work_until(lambda: not Query.objects.filter(has_ended=False).exists())
        for slot in (1, 2):
            visible(service, f"/explorer/fact/{CHAIN_ID}/{block}/{HOLDER}/0x{slot:064x}")


def test_the_step_of_a_query_by_time_has_the_transaction_that_proved_the_time(
    node: LocalNode,
) -> None:
    with running_service(node) as service:
        service.mine(8)
        block = service.head() - 3
        service.work(service.ask_balance(HOLDER, block))
        timestamp = int(service.header(block)["timestamp"], 16)
        content = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
        batch = service.submit({str(CHAIN_ID): {f"timestamp:{timestamp}": content}})
        service.work(batch)
        step = service.status(batch)["queries"][0]["steps"][-1]
        assert step["transactionHash"] == SentTransaction.objects.latest("nonce").mined_hash


def test_an_event_of_a_replaced_block_is_found_again(node: LocalNode) -> None:
    """A rejected batch keeps what it found; the next one gets what is true now."""
    with running_service(node, free=False) as service:
        service.mine(12)
        snapshot = node.rpc.ask("evm_snapshot")
        block = deploy_emitter(node, 0xAA)
        service.mine(2)
        first = service.submit(request_of(block, LOG), fee="1")
        service.work(first)
        assert service.status(first)["queryStatus"] == "REJECTED"
        node.rpc.ask("evm_revert", snapshot)
        assert deploy_emitter(node, 0xBB) == block
        service.mine(3)
        second = service.submit(request_of(block, LOG), fee=str(ETHER))
        balance = request_of(block, {"accounts": {HOLDER: {"props": ["BALANCE"]}}})
        third = service.submit(balance, fee=str(ETHER))
        service.work(second, third)
        assert service.status(second)["queryStatus"] == "DONE"
        (event,) = service.status(second)["queries"][0]["events"]
        assert event["topics"] == [f"0x{0xBB:064x}"]
        assert service.status(third)["queryStatus"] == "DONE"
        assert service.status(first)["queryStatus"] == "REJECTED"
        assert "Transfer" not in visible(service, f"/explorer/query/{first}")


def test_pages_count_and_list_what_is_proven(node: LocalNode) -> None:
    with running_service(node, free=False) as service:
        service.mine(8)
        block = service.head() - 1
        account = f"/explorer/account/{HOLDER}"
        service.work(service.submit(slots(block, *range(30)), fee="1"))  # REJECTED
        service.work(service.submit(slots(block, *range(10)), fee=str(ETHER)))
        assert "facts proven 10 " in visible(service, account)
        service.work(service.submit(slots(block, 20), fee=str(ETHER)))
        assert "facts proven 11 " in visible(service, account)
        for path in (account, f"/explorer/block/{CHAIN_ID}/{block}"):
            assert f"/0x{20:064x}" in service.client.get(path).content.decode()


def test_a_fact_outlives_the_batches_that_asked_for_it(node: LocalNode) -> None:
    with running_service(node) as service:
        service.mine(8)
        block = service.head() - 1
        first = service.submit(slots(block, 7))
        service.work(first)
        service.work(service.ask_balance(HOLDER, block))
        SentTransaction.objects.update(final=True)
        Batch.objects.filter(pk=first).update(ended_at=shared_now() - timedelta(days=100))
        call_command("prune", "--older-than", "90d")
        assert not Batch.objects.filter(pk=first).exists()
        listed = service.client.get(f"/explorer/account/{HOLDER}").content.decode()
        page = f"/explorer/fact/{CHAIN_ID}/{block}/{HOLDER}/0x{7:064x}"
        assert page in listed
        assert "its batches have been deleted" in visible(service, page)
