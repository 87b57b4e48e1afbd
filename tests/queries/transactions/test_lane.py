"""What a signed transaction waits for, and when it is replaced."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from django.db.models import F

from explorer.demo.local_node import LocalNode
from queries import transitions
from queries.chain.signer import Signer, parts_of
from queries.config.routes import Routes
from queries.database.leases import Outcome
from queries.models import Batch, SentTransaction, Share
from queries.prover import prove, worker
from queries.prover.context import Chains
from queries.prover.worker import work_once
from queries.statuses import StepName
from queries.transactions.destination_reorgs import check_final
from queries.transactions.shares import settle_costs
from queries.transitions import Failure
from tests.queries.prover.between import between, retold
from tests.queries.prover.provers import through
from tests.queries.prover.service import CHAIN_ID, HOLDER, SIGNER_KEY, Service, running_service
from tests.queries.prover.two_chains import TwoChains, ask_balance

pytestmark = pytest.mark.django_db(transaction=True)


def test_after_an_outage_a_transaction_is_replaced_once(service: Service) -> None:
    """The next replacement is due a while after it, however long the outage was."""
    service.node.rpc.ask_many("evm_setAutomine", [(False,)])
    batch = service.ask_balance(HOLDER, service.head() - 2)
    service.work_until_it_says("not mined yet", batch)
    SentTransaction.objects.update(signed=F("signed") - timedelta(hours=1))
    for _ in range(3):
        SentTransaction.objects.update(sent=F("sent") - timedelta(minutes=1))
        service.look_now()
        assert work_once(service.chains())
    assert len(SentTransaction.objects.get().hashes) == 2
    service.mine()
    service.work(batch)
    assert SentTransaction.objects.get().succeeded


def test_a_nonce_that_was_given_up_and_is_free_again_takes_an_empty_transfer(
    service: Service,
) -> None:
    """As where a former key is used again: its pieces are in a later transaction by now."""
    service.node.rpc.ask_many("evm_setAutomine", [(False,)])
    batch = service.ask_balance(HOLDER, service.head() - 2)
    service.work_until_it_says("not mined yet", batch)
    first = SentTransaction.objects.get()
    service.node.rpc.ask("anvil_dropTransaction", first.hashes[-1])
    first.succeeded = False
    settle_costs(first, free=True)
    service.look_now()
    service.work_until(lambda: SentTransaction.objects.count() == 2)
    minutes = timedelta(minutes=5)
    SentTransaction.objects.update(signed=F("signed") - minutes, sent=F("sent") - minutes)
    service.look_now()
    assert work_once(service.chains())
    first.refresh_from_db()
    assert parts_of(first.raw).data == b""
    service.node.rpc.ask_many("evm_setAutomine", [(True,)])
    service.mine()
    service.work_until(lambda: not SentTransaction.objects.filter(settled=False).exists())
    service.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
    assert SentTransaction.objects.filter(succeeded=True).count() == 2


def test_each_node_of_a_quorum_finds_a_receipt_deep_enough_for_itself(node: LocalNode) -> None:
    behind = 5

    def tell_an_older_head(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_getBlockByNumber" and asked["params"][0] == "latest":
            number = int(answer["result"]["number"], 16) - behind
            questions = [(hex(number), False)]
            (answer["result"],) = node.rpc.ask_many("eth_getBlockByNumber", questions)

    with (
        running_service(node, confirmations=3) as running,
        between(node.url, retold(tell_an_older_head)) as (address, _),
    ):
        running.mine(12)
        service = through(running, node.url, address)
        batch = service.ask_balance(HOLDER, service.head() - 8)
        service.work_until_it_waits(batch, "confirming")
        service.mine(3)
        chains = service.chains()
        for _ in range(4):
            service.look_now()
            work_once(chains)
        assert not SentTransaction.objects.get().settled
        behind = 0
        service.work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"


def test_transactions_without_a_quorum_hold_up_no_others(service: Service) -> None:
    """As many of them as are checked at once: one, here."""
    for behind in (4, 3):
        service.work(service.ask_balance(HOLDER, service.head() - behind))
    first, second = SentTransaction.objects.order_by("mined_block")
    service.mine(4)

    def hide_the_first(asked: Any, answer: Any) -> None:
        if asked["params"][:1] == [first.mined_hash]:
            answer["result"] = None

    with between(service.node.url, retold(hide_the_first)) as (address, _):
        other = through(service, service.node.url, address)
        limits = replace(other.routes.limits, batch_questions=1)
        nodes = replace(other.routes.chains[CHAIN_ID], limits=limits)
        lane = Chains(Routes({CHAIN_ID: nodes}, limits=limits), Signer(SIGNER_KEY)).lane(CHAIN_ID)
        for _ in range(3):
            check_final(lane)
    assert list(SentTransaction.objects.filter(final=True)) == [second]


@pytest.mark.parametrize("case", ["at depth", "not deep enough", "no query is open"])
def test_a_node_that_makes_up_receipts_keeps_no_transaction_from_being_replaced(
    node: LocalNode, case: str
) -> None:
    """One of three, asked first; its receipt's block changes if the node claims a recent one."""
    claims, is_deep = count(), case == "at depth"

    def make_up_receipt(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_getTransactionReceipt" and answer["result"] is None:
            block = running.head() - (6 if is_deep else next(claims) % 2)
            answer["result"] = {
                "transactionHash": asked["params"][0], "blockNumber": hex(block),
                "status": "0x1", "gasUsed": "0x186a0", "effectiveGasPrice": "0x1",
            }  # fmt: skip

    with (
        running_service(node, confirmations=3) as running,
        between(node.url, retold(make_up_receipt)) as (liar, _),
    ):
        running.mine(12)
        node.rpc.ask_many("evm_setAutomine", [(False,)])
        service = through(running, liar, node.url, node.url)
        limits = replace(service.routes.limits, resend_after=0.2, replace_after=0.4)
        service = replace(service, routes=replace(service.routes, limits=limits))
        batch, chains = service.ask_balance(HOLDER, service.head() - 8), service.chains()
        service.work_until(SentTransaction.objects.exclude(sent=None).exists, chains=chains)
        if case == "no query is open":
            failure = Failure("fee_too_low", "…", StepName.HEADER_ACCUMULATED, retryable=False)
            transitions.reject([batch], failure)
        service.work_until(lambda: len(SentTransaction.objects.get().hashes) > 1, chains=chains)
        node.rpc.ask_many("evm_setAutomine", [(True,)])
        service.mine(4)
        service.work_until(lambda: SentTransaction.objects.get().settled, chains=chains)
        assert SentTransaction.objects.get().succeeded


def test_a_transaction_of_another_batch_is_waited_for_as_long_as_a_batch_may_wait(
    chains: TwoChains,
) -> None:
    """It records a hash that both need. The batch that has sent it goes on waiting."""
    block = chains.final_block()
    chains.final_block()
    with chains.serving_optimism() as running:
        limits = replace(running.routes.limits, batch_max_age=1)
        service = replace(running, routes=replace(running.routes, limits=limits))
        chains.tell_the_l2(block + 3)
        service.node.rpc.ask_many("evm_setAutomine", [(False,)])
        first = ask_balance(service, block)
        service.work_until(SentTransaction.objects.filter(prepares=True).exists)
        second = ask_balance(service, block - 1)
        service.work(second)
        told = service.status(second)
        assert (told["queryStatus"], told["code"]) == ("REJECTED", "hash_on_its_way")
        assert told["retryable"]
        service.node.rpc.ask_many("evm_setAutomine", [(True,)])
        service.mine()
        service.work(first)
        assert service.status(first)["queryStatus"] == "DONE"


def test_a_batch_that_was_rejected_meanwhile_does_not_pay(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the proof and the signature."""
    block = service.head() - 2
    rejected, other = (service.ask_balance(HOLDER, block) for _ in range(2))

    def reject_then_prove(ready: Sequence[prove.Ready]) -> dict[int, Outcome]:
        failure = Failure("fee_too_low", "…", StepName.HEADER_ACCUMULATED, retryable=False)
        transitions.reject([rejected], failure)
        return prove.prove(ready)

    monkeypatch.setattr(worker, "prove", reject_then_prove)
    service.work(other)
    assert Batch.objects.get(pk=rejected).spent == f"{0:064x}"
    assert Share.objects.get().batch_id == other
