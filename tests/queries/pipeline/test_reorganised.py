"""Chains that reorganise: what was undone is done again, and DONE is only said of what stays."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from queries import transitions
from queries.chain.local_node import LocalNode, local_node
from queries.models import BlockJob, Query, SentTransaction, WebhookDelivery
from queries.pipeline import costs, undone
from queries.pipeline.chains import Chains
from queries.pipeline.leases import claim_job, claim_job_beside
from queries.pipeline.worker import work_once
from queries.statuses import StepName
from queries.transitions import Failure
from tests.queries.pipeline.service import CHAIN_ID, ETHER, Service, running_service

pytestmark = pytest.mark.django_db(transaction=True)
HOLDER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
OTHER = "0x69030ef8C2744b37a096fAf2A4C78B4dAec1308b"


@pytest.fixture
def service(node: LocalNode) -> Iterator[Service]:
    with running_service(node, confirmations=4) as running:
        running.node.rpc.ask("anvil_setBalance", HOLDER, hex(7 * ETHER))
        running.mine(8)
        yield running


def _proven_but_not_deep(service: Service, batch: str) -> None:
    """However long that takes; what was said of it before is forgotten."""
    BlockJob.objects.update(waits_for="")
    waits = BlockJob.objects.filter(waits_for__contains="4 blocks are to confirm it")
    service.work_until(waits.exists)
    assert service.waits(batch) == "confirming"


def _is_right(service: Service, batch: str, block: int) -> None:
    assert service.status(batch)["queryStatus"] == "DONE"
    word = service.reads.account_field(bytes.fromhex(HOLDER[2:]), block, 1)
    assert word is not None
    assert int.from_bytes(word) == service.balance(HOLDER, block)


def _reorganise(service: Service, depth: int) -> None:
    service.node.rpc.ask("anvil_reorg", depth, [])


def test_a_transaction_that_was_undone_is_sent_again(service: Service) -> None:
    """On the destination alone: the proven block lies below what was undone."""
    block = service.head() - 4
    batch = service.ask_balance(HOLDER, block)
    _proven_but_not_deep(service, batch)
    _reorganise(service, 1)
    assert service.reads.account_field(bytes.fromhex(HOLDER[2:]), block, 1) is None
    _proven_but_not_deep(service, batch)
    service.mine(4)
    service.work(batch)
    _is_right(service, batch, block)
    assert SentTransaction.objects.count() == 1


def test_a_block_that_was_replaced_is_proven_as_it_is_now(service: Service) -> None:
    """On a native route both change together: the header that was proven is gone too."""
    block = service.head()
    before = service.header(block)["hash"]
    batch = service.ask_balance(HOLDER, block)
    _proven_but_not_deep(service, batch)
    _reorganise(service, 3)
    assert service.header(block)["hash"] != before
    for _ in range(30):
        service.mine(2)
        try:
            service.work(batch, seconds=1.5)
            break
        except AssertionError:
            continue
    _is_right(service, batch, block)
    leaf = service.reads.accumulated(block)
    assert leaf != bytes(32)


def test_what_is_deep_enough_has_settled(service: Service) -> None:
    block = service.head() - 4
    batch = service.ask_balance(HOLDER, block)
    _proven_but_not_deep(service, batch)
    service.mine(4)
    service.work(batch)
    _is_right(service, batch, block)
    assert set(SentTransaction.objects.values_list("settled", flat=True)) == {True}


def test_what_is_sent_again_after_it_was_paid_for_is_not_held_back_once_more(
    service: Service,
) -> None:
    batch = service.ask_balance(HOLDER, service.head() - 4)
    _proven_but_not_deep(service, batch)
    assert costs.held_back(CHAIN_ID)[batch] > 0
    service.mine(4)
    service.work(batch)
    assert int(service.status(batch)["spent"]) > 0
    undone.reopen(SentTransaction.objects.get())
    assert costs.held_back(CHAIN_ID) == {}


def test_what_is_not_deep_is_followed_although_its_route_was_taken_away(service: Service) -> None:
    """Undone and not sent again, it would hold up every transaction of the signer after it."""
    block = service.head() - 4
    batch = service.ask_balance(HOLDER, block)
    _proven_but_not_deep(service, batch)
    without = replace(service.chains(), routes=replace(service.routes, registries={}))
    service.work(batch, chains=without)
    assert service.status(batch)["code"] == "route_unsupported"
    _reorganise(service, 1)
    row = SentTransaction.objects.get()
    assert service.node.rpc.ask("eth_getTransactionReceipt", row.mined_hash) is None
    _mining(service, without, 24)
    row.refresh_from_db()
    assert (row.settled, row.succeeded) == (True, True)


def test_of_a_chain_that_was_taken_away_nobody_is_asked_for_what_is_not_deep(
    service: Service,
) -> None:
    """What was heard of its nodes before counts no longer, and looking does no harm."""
    batch = service.ask_balance(HOLDER, service.head() - 4)
    _proven_but_not_deep(service, batch)
    BlockJob.objects.update(heard=[["nodes_unreachable", []]], failures=1)
    without = replace(service.chains(), routes=replace(service.routes, chains={}, registries={}))
    service.work(batch, chains=without)
    assert service.status(batch)["code"] == "route_unsupported"
    service.look_now()
    assert work_once(without)
    job = BlockJob.objects.get()
    assert (job.wait_code, job.lease_token, job.look_again is None) == ("chain_left", "", False)


def test_a_job_that_ends_unproven_is_kept_until_its_transactions_stay(service: Service) -> None:
    block = service.head() - 4
    batch = service.ask_balance(HOLDER, block)
    _proven_but_not_deep(service, batch)
    lease = claim_job() or claim_job_beside(BlockJob.objects.get(), timedelta(seconds=9))
    assert lease
    failure = Failure("block_out_of_reach", "…", StepName.BLOCKHASH_AVAILABLE, retryable=False)
    transitions.reject([batch], failure)
    lease.close()
    _mining(service, service.chains(), 12)
    assert SentTransaction.objects.get().settled
    assert BlockJob.objects.get().look_again is None


def test_a_deeper_reorganisation_is_seen_at_finality_and_what_it_undid_is_sent_again() -> None:
    """The batch was DONE, as deep as its operator asked for; the fact is to be there after all."""
    with local_node() as slow, running_service(slow, confirmations=2, finality=None) as service:
        service.mine(8)
        block = service.head() - 4
        batch = service.ask_balance(HOLDER, block)
        chains = service.chains()
        _mining(service, chains, 10)
        spent = service.status(batch)["spent"]
        row = SentTransaction.objects.get()
        assert (row.settled, row.final) == (True, False)
        _reorganise(service, service.head() - (row.mined_block or 0) + 1)
        assert service.reads.account_field(bytes.fromhex(HOLDER[2:]), block, 1) is None
        service.mine(70)
        _mining(service, chains, 20)
        _is_right(service, batch, block)
        row.refresh_from_db()
        assert row.settled
        told = service.status(batch)
        price = str(costs.price_of(row))
        assert told["spent"] == told["queries"][0]["cost"] == price != spent
        service.mine(70)
        _mining(service, chains, 1)
        row.refresh_from_db()
        assert row.final


def test_what_was_mined_anew_and_failed_is_proven_again() -> None:
    """Its nonce is used; so another transaction proves it, which the batch does not pay for."""
    with local_node() as slow, running_service(slow, confirmations=2, finality=None) as service:
        service.mine(8)
        block = service.head() - 4
        batch = service.ask_balance(HOLDER, block)
        chains = service.chains()
        _mining(service, chains, 10)
        told = service.status(batch)
        row = SentTransaction.objects.get()
        _reorganise(service, service.head() - (row.mined_block or 0) + 1)
        registry = service.registry.address
        code = service.node.rpc.ask("eth_getCode", registry, "latest")
        service.node.rpc.ask("anvil_setCode", registry, "0x5f5ffd")  # it reverts
        service.node.rpc.ask("eth_sendRawTransaction", f"0x{row.raw.hex()}")
        service.mine(1)
        service.node.rpc.ask("anvil_setCode", registry, code)
        service.mine(70)
        _mining(service, chains, 20)
        _is_right(service, batch, block)
        failed, again = SentTransaction.objects.order_by("nonce")
        assert (failed.settled, failed.succeeded) == (True, False)
        assert (again.settled, again.succeeded, again.shares) == (True, True, {})
        anew = service.status(batch)
        price = str(costs.price_of(failed))
        assert anew["spent"] == anew["queries"][0]["cost"] == price != told["spent"]
        query = Query.objects.get()
        assert query.ended
        assert query.header_transaction == query.account_transaction == again
        assert WebhookDelivery.objects.count() == 0
        service.mine(70)
        _mining(service, chains, 1)
        assert set(SentTransaction.objects.values_list("final", flat=True)) == {True}


def test_what_cannot_be_proven_again_stays_undone_and_its_batch_done(service: Service) -> None:
    batch = service.ask_balance(HOLDER, service.head() - 4)
    _proven_but_not_deep(service, batch)
    service.mine(4)
    service.work(batch)
    undone.reopen(SentTransaction.objects.get())
    assert not Query.objects.get().ended
    failure = Failure("block_out_of_reach", "…", StepName.BLOCKHASH_AVAILABLE, retryable=False)
    transitions.reject([batch], failure, Query.objects.all())
    assert service.status(batch)["queryStatus"] == "DONE"
    query = Query.objects.get()
    assert (query.ended, query.failed) == (True, False)


def _mining(service: Service, chains: Chains, times: int) -> None:
    """A prover works while blocks come."""
    for _ in range(times):
        chains.looks_at_final = 0
        while work_once(chains):
            pass
        service.mine(1)
        time.sleep(0.3)


@contextmanager
def _confirmed_by_one(below: int) -> Iterator[tuple[Service, int, SentTransaction]]:
    """A service, a block so far below the head, and what has proven it; long before it is final."""
    with local_node() as slow, running_service(slow, confirmations=1, finality=None) as service:
        service.node.rpc.ask("anvil_setBalance", HOLDER, hex(7 * ETHER))
        service.mine(8)
        block = service.head() - below
        service.work(service.ask_balance(HOLDER, block))
        yield service, block, SentTransaction.objects.get(settled=True, final=False)


def test_what_the_one_node_there_is_has_undone_is_sent_again() -> None:
    """Deeper than it was confirmed: for whoever asks for the block."""
    with _confirmed_by_one(below=4) as (service, block, row):
        assert row.mined_block is not None
        _reorganise(service, service.head() - row.mined_block + 1)
        again, other = (service.ask_balance(each, block) for each in (HOLDER, OTHER))
        service.work(again, other)
        _is_right(service, again, block)
        assert service.status(other)["queryStatus"] == "DONE"
        assert SentTransaction.objects.get(nonce=row.nonce).hashes == row.hashes
        assert SentTransaction.objects.count() == 2


def test_where_its_block_was_undone_as_well_what_failed_then_is_proven_anew() -> None:
    """Deeper than it was confirmed: what it was shown is no hash of the chain's any more."""
    with _confirmed_by_one(below=1) as (service, block, row):
        _reorganise(service, service.head() - block + 1)
        service.node.rpc.ask("eth_sendRawTransaction", f"0x{bytes(row.raw).hex()}")
        service.mine(2)
        receipt = service.node.rpc.ask("eth_getTransactionReceipt", row.mined_hash)
        assert receipt["status"] == "0x0"
        service.chains().head(CHAIN_ID)
        service.work(again := service.ask_balance(HOLDER, block))
        _is_right(service, again, block)
        assert SentTransaction.objects.filter(succeeded=True).count() == 1
