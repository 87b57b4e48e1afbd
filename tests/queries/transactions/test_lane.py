"""When transactions are sent again, replaced, confirmed and final."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from django.db.models import F

from explorer.demo.local_node import LocalNode
from queries import transitions
from queries.chain.signer import decode_transaction
from queries.database.handler import Outcome
from queries.engines import PROVE
from queries.models import Batch, SentTransaction, Share
from queries.prover import jobs, prove
from queries.prover.handlers import work_once
from queries.prover.job_pass import JobPass
from queries.statuses import StepName
from queries.transactions import destination_reorgs
from queries.transactions.costs import close_and_charge
from queries.transactions.destination_reorgs import finalize_or_reopen
from queries.transitions import Failure
from tests.queries.prover.service import CHAIN_ID, ETHER, HOLDER, Service, running_service
from tests.queries.prover.two_chains import TwoChains, ask_balance
from tests.rigs.faulty_node import relay

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_transaction_is_replaced_only_once_after_a_long_outage(service: Service) -> None:
    service.node.rpc.ask_many("evm_setAutomine", [(False,)])
    batch = service.ask_balance(HOLDER, service.head() - 2)
    service.work_until_sentence("not mined yet", batch)
    SentTransaction.objects.update(signed_at=F("signed_at") - timedelta(hours=1))
    for _ in range(3):
        SentTransaction.objects.update(sent_at=F("sent_at") - timedelta(minutes=1))
        service.make_all_due()
        assert work_once(PROVE, service.context())
    assert len(SentTransaction.objects.get().hashes) == 2
    service.mine()
    service.work(batch)
    assert SentTransaction.objects.get().succeeded


def test_a_given_up_nonce_that_is_free_after_all_is_filled_by_an_empty_transfer(
    service: Service,
) -> None:
    """A later transaction has proven its pieces."""
    service.node.rpc.ask_many("evm_setAutomine", [(False,)])
    batch = service.ask_balance(HOLDER, service.head() - 2)
    service.work_until_sentence("not mined yet", batch)
    first = SentTransaction.objects.get()
    service.node.rpc.ask("anvil_dropTransaction", first.hashes[-1])
    first.succeeded = False
    close_and_charge(first, free=True)
    service.make_all_due()
    service.work_until(lambda: SentTransaction.objects.count() == 2)
    minutes = timedelta(minutes=5)
    SentTransaction.objects.update(
        signed_at=F("signed_at") - minutes, sent_at=F("sent_at") - minutes
    )
    service.make_all_due()
    assert work_once(PROVE, service.context())
    first.refresh_from_db()
    assert decode_transaction(first.raw).data == b""
    service.node.rpc.ask_many("evm_setAutomine", [(True,)])
    service.mine()
    service.work_until(lambda: not SentTransaction.objects.filter(confirmed=False).exists())
    service.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
    assert SentTransaction.objects.filter(succeeded=True).count() == 2


def test_a_receipt_must_be_deep_enough_for_each_node_of_the_quorum(node: LocalNode) -> None:
    lag = 5

    def answer_older_head(method: str, params: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        if method == "eth_getBlockByNumber" and params[0] == "latest":
            return {"result": node.block(hex(int(answer["result"]["number"], 16) - lag))}
        return answer

    with (
        running_service(node, confirmations=3) as running,
        relay(node.url, answer_older_head) as address,
    ):
        running.mine(12)
        service = running.with_nodes(node.url, address)
        batch = service.ask_balance(HOLDER, service.head() - 8)
        service.work_until_code(batch, "confirming")
        service.mine(3)
        context = service.context()
        for _ in range(4):
            service.make_all_due()
            work_once(PROVE, context)
        assert not SentTransaction.objects.get().confirmed
        lag = 0
        service.work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"


def test_small_node_batches_do_not_slow_down_the_check_of_final_transactions(
    service: Service,
) -> None:
    service = service.with_limits(max_batch_calls=1)
    for distance in (4, 3):
        service.work(service.ask_balance(HOLDER, service.head() - distance))
    service.mine(4)
    finalize_or_reopen(service.context().lane(CHAIN_ID))
    assert SentTransaction.objects.filter(final=True).count() == 2


def test_a_transaction_without_a_quorum_does_not_block_the_check_of_others(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(destination_reorgs, "ROWS_PER_PASS", 1)  # check one at a time
    for distance in (4, 3):
        service.work(service.ask_balance(HOLDER, service.head() - distance))
    first, second = SentTransaction.objects.order_by("mined_block")
    service.mine(4)

    def hide_first(_method: str, params: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        return {"result": None} if params[:1] == [first.mined_hash] else answer

    with relay(service.node.url, hide_first) as address:
        other = service.with_nodes(service.node.url, address)
        lane = other.context().lane(CHAIN_ID)
        for _ in range(3):
            finalize_or_reopen(lane)
    assert list(SentTransaction.objects.filter(final=True)) == [second]


@pytest.mark.parametrize("case", ["at depth", "not deep enough", "no query is open"])
def test_made_up_receipts_of_one_node_do_not_prevent_a_replacement(
    node: LocalNode, case: str
) -> None:
    """One of three nodes, asked first. Its receipt's block changes if it claims a recent one."""
    claims, is_deep = count(), case == "at depth"

    def make_up_receipt(method: str, params: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        if method != "eth_getTransactionReceipt" or answer["result"]:
            return answer
        block = running.head() - (6 if is_deep else next(claims) % 2)
        return {"result": {
            "transactionHash": params[0], "blockNumber": hex(block),
            "status": "0x1", "gasUsed": "0x186a0", "effectiveGasPrice": "0x1",
        }}  # fmt: skip

    with (
        running_service(node, confirmations=3) as running,
        relay(node.url, make_up_receipt) as liar,
    ):
        running.mine(12)
        node.rpc.ask_many("evm_setAutomine", [(False,)])
        service = running.with_nodes(liar, node.url, node.url)
        service = service.with_limits(resend_after=0.2, replace_after=0.4)
        batch, context = service.ask_balance(HOLDER, service.head() - 8), service.context()
        service.work_until(SentTransaction.objects.exclude(sent_at=None).exists, context=context)
        if case == "no query is open":
            failure = Failure("fee_too_low", "…", StepName.HEADER_ACCUMULATED, retryable=False)
            transitions.reject([batch], failure)
        service.work_until(lambda: len(SentTransaction.objects.get().hashes) > 1, context=context)
        node.rpc.ask_many("evm_setAutomine", [(True,)])
        service.mine(4)
        service.work_until(lambda: SentTransaction.objects.get().confirmed, context=context)
        assert SentTransaction.objects.get().succeeded


def test_waiting_for_a_transaction_of_another_batch_counts_towards_batch_max_age(
    chains: TwoChains,
) -> None:
    """It records a hash that both need. The batch that pays for it is not rejected."""
    block = chains.final_block()
    chains.final_block()
    with chains.serving_optimism() as running:
        service = running.with_limits(batch_max_age=1)
        chains.set_l1_block(block + 3)
        service.node.rpc.ask_many("evm_setAutomine", [(False,)])
        first = ask_balance(service, block)
        service.work_until(SentTransaction.objects.filter(is_preparation=True).exists)
        second = ask_balance(service, block - 1)
        service.work(second)
        status = service.status(second)
        assert (status["queryStatus"], status["code"]) == ("REJECTED", "hash_pending")
        assert status["retryable"]
        service.node.rpc.ask_many("evm_setAutomine", [(True,)])
        service.mine()
        service.work(first)
        assert service.status(first)["queryStatus"] == "DONE"


def test_a_job_whose_call_exceeds_the_funds_does_not_wait_for_a_transaction(
    node: LocalNode,
) -> None:
    """The calls of two jobs are too large to be joined, and the funds cover one."""
    with running_service(node, gas_cap=150_000) as service:
        service.mine(4)
        service.work(service.ask_balance(HOLDER, service.head() - 4))
        row = SentTransaction.objects.get()
        funds = row.gas_limit * int(row.max_fee, 16) * 3 // 2
        node.rpc.ask("anvil_setBalance", row.sender, hex(funds))
        account = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
        blocks = {f"block:{service.head() - n}": account for n in (2, 3)}
        batch = service.submit({str(CHAIN_ID): blocks})
        service.work_until(lambda: SentTransaction.objects.count() == 2)
        codes = {query["waitCode"] for query in service.status(batch)["queries"]}
        assert codes == {None, "transaction_pending"}
        node.rpc.ask("anvil_setBalance", row.sender, hex(ETHER))
        service.work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"


def test_a_batch_that_is_rejected_between_proof_and_signature_does_not_pay(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = service.head() - 2
    rejected, other = (service.ask_balance(HOLDER, block) for _ in range(2))

    def reject_then_prove(ready: Sequence[JobPass]) -> dict[int, Outcome | None]:
        failure = Failure("fee_too_low", "…", StepName.HEADER_ACCUMULATED, retryable=False)
        transitions.reject([rejected], failure)
        return prove.send_group(ready)

    monkeypatch.setattr(jobs, "send_group", reject_then_prove)
    service.work(other)
    assert Batch.objects.get(pk=rejected).spent == f"{0:064x}"
    assert Share.objects.get().batch_id == other
