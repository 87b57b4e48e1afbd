"""The lane of a signer: stuck transactions get dearer, nonces are taken once, ours or not."""

import json
import time
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from eth_account import Account as Key

from queries.chain.destination import Destination
from queries.chain.errors import NodesOfAnotherChain
from queries.chain.local_node import LocalNode
from queries.chain.signed_parts import parts_of
from queries.chain.signer import Signer
from queries.models import SentTransaction
from queries.pipeline import following, lane, last_looks
from queries.pipeline.clock import shared_now
from queries.pipeline.costs import price_of
from tests.queries.chain.lying_node import LyingNode
from tests.queries.pipeline.between import PassOn, between, methods, retold
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import (
    CHAIN_ID,
    ETHER,
    HOLDER,
    SIGNER_KEY,
    Service,
    running_service,
)
from tests.queries.pipeline.standing_still import CALLS, standing_at
from tests.queries.pipeline.test_a_bad_node_first import swallows

pytestmark = pytest.mark.django_db(transaction=True)
SIGNER = Key.from_key(SIGNER_KEY)


def _sent_and_not_mined(service: Service) -> str:
    block = service.head() - 1
    service.node.rpc.ask_many("evm_setAutomine", [(False,)])
    batch = service.ask_balance(HOLDER, block)
    service.work_until_it_says("on its way", batch)
    assert service.waits(batch) == "transaction_on_its_way"
    return batch


def _mine(service: Service) -> None:
    service.node.rpc.ask("evm_mine")
    service.node.rpc.ask_many("evm_setAutomine", [(True,)])


def test_what_is_stuck_is_replaced_at_a_higher_fee_and_mined_once(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = _sent_and_not_mined(service)
    first = SentTransaction.objects.get()
    monkeypatch.setattr(following, "SENT_AGAIN_AFTER", timedelta(seconds=0.1))
    monkeypatch.setattr(following, "REPLACED_AFTER", timedelta(seconds=0.5))
    service.work_until(lambda: len(SentTransaction.objects.get().hashes) > 1)
    assert service.waits(batch) == "transaction_on_its_way"
    second = SentTransaction.objects.get()
    assert second.nonce == first.nonce
    assert int(second.max_fee, 16) > int(first.max_fee, 16) * 112 // 100
    was, now = (parts_of(row.raw) for row in (first, second))
    assert now == was
    pool = service.node.rpc.ask("txpool_content")["pending"]
    ((held,),) = [list(by_nonce.values()) for by_nonce in pool.values()]
    assert held["hash"] in second.hashes
    _mine(service)
    service.work(batch)
    mined = SentTransaction.objects.get()
    assert mined.mined_hash in second.hashes
    assert {each.hash for each in mined.sent_hashes.all()} == set(second.hashes)
    assert service.status(batch)["queryStatus"] == "DONE"


def test_two_workers_that_replace_one_at_once_forget_no_hash(service: Service) -> None:
    _sent_and_not_mined(service)
    way = service.chains().lane(CHAIN_ID)
    one, other = SentTransaction.objects.get(), SentTransaction.objects.get()
    following._replace(way, one)
    following._replace(way, other)
    kept = SentTransaction.objects.get()
    assert kept.hashes == one.hashes == other.hashes
    assert (len(kept.hashes), kept.raw) == (2, other.raw)
    _mine(service)


def test_nothing_is_replaced_beyond_the_operators_bound(service: Service) -> None:
    _sent_and_not_mined(service)
    chains = service.chains()
    way, row = chains.lane(CHAIN_ID), SentTransaction.objects.get()
    bound = int(row.max_fee, 16) * 9 // 8
    chain = replace(chains.chain(CHAIN_ID), dearest_gas=bound)
    following._replace(replace(way, destination=Destination(chain)), row)
    assert len(SentTransaction.objects.get().hashes) == 1
    _mine(service)


def test_what_is_stuck_where_gas_got_too_dear_is_kept_as_it_is(service: Service) -> None:
    """And what else the job waits for is looked at."""
    _sent_and_not_mined(service)
    chains = service.chains()
    way, row = chains.lane(CHAIN_ID), SentTransaction.objects.get()
    too_dear = Destination(replace(chains.chain(CHAIN_ID), dearest_gas=1))
    following._replace(replace(way, destination=too_dear), row)
    assert len(SentTransaction.objects.get().hashes) == 1
    _mine(service)


def test_what_another_key_signed_is_not_signed_again_with_this_one(service: Service) -> None:
    """It would take a nonce of this one's, for a transaction that is not told as its."""
    _sent_and_not_mined(service)
    other = replace(service.chains().lane(CHAIN_ID), signer=Signer("0x" + 32 * "5b"))
    following._replace(other, SentTransaction.objects.get())
    assert len(SentTransaction.objects.get().hashes) == 1
    _mine(service)


def test_what_was_sent_where_gas_was_free_is_replaced(service: Service) -> None:
    _sent_and_not_mined(service)
    row = SentTransaction.objects.get()
    row.max_fee = row.most = f"{0:064x}"
    following._replace(service.chains().lane(CHAIN_ID), row)
    assert len(row.hashes) == 2
    _mine(service)


def test_what_the_node_forgot_is_sent_again_as_it_was(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = _sent_and_not_mined(service)
    (sent,) = SentTransaction.objects.get().hashes
    service.node.rpc.ask("anvil_dropTransaction", sent)
    monkeypatch.setattr(following, "SENT_AGAIN_AFTER", timedelta(seconds=0.1))
    service.work_until_it_says("on its way", batch)
    _mine(service)
    service.work(batch)
    assert SentTransaction.objects.get().mined_hash == sent


def _of_another_chain(_: Destination) -> None:
    raise NodesOfAnotherChain("The nodes of Local are of another chain.")


def test_a_nonce_that_the_key_used_elsewhere_is_not_waited_for(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = _sent_and_not_mined(service)
    ours = SentTransaction.objects.get()
    service.node.rpc.ask("anvil_dropTransaction", ours.hashes[0])
    other = SIGNER.sign_transaction(
        {
            "type": 2,
            "chainId": CHAIN_ID,
            "nonce": ours.nonce,
            "to": HOLDER,
            "value": 1,
            "gas": 21_000,
            "maxFeePerGas": 10**11,
            "maxPriorityFeePerGas": 10**9,
        }
    )
    service.node.rpc.ask("eth_sendRawTransaction", "0x" + bytes(other.raw_transaction).hex())
    _mine(service)
    monkeypatch.setattr(lane, "LOST_AFTER", timedelta(0))
    monkeypatch.setattr(following, "SENT_AGAIN_AFTER", timedelta(seconds=0.1))
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(Destination, "confirm_chain", _of_another_chain)
        service.work_until_it_says("another chain", batch)
    assert not SentTransaction.objects.get().settled
    service.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
    nonces = list(SentTransaction.objects.order_by("nonce").values_list("nonce", flat=True))
    assert nonces == [ours.nonce, ours.nonce + 1]


def test_what_one_of_two_behind_an_address_does_not_know_of_yet_is_not_given_up(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one takes what is sent and counts nonces; the other, a block behind, has no receipt."""
    monkeypatch.setattr(following, "SENT_AGAIN_AFTER", timedelta(seconds=0.1))
    behind = service.head()
    batch = _sent_and_not_mined(service)
    SentTransaction.objects.update(signed=shared_now() - timedelta(hours=1), sent=None)
    _mine(service)
    with between(service.node.url, standing_at(behind, CALLS)) as (address, proxy):
        prover = through(service, address)
        prover.work_until(lambda: proxy.asked.count("eth_sendRawTransaction") > 2)
    assert not SentTransaction.objects.get().settled
    assert SentTransaction.objects.get().nonce_used
    service.work(batch)
    assert SentTransaction.objects.get().nonce_used is None
    row = SentTransaction.objects.get()
    assert row.succeeded
    assert int(service.status(batch)["spent"]) == price_of(row)


def test_what_one_node_goes_on_taking_is_given_up_where_its_nonce_is_used(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane, "LOST_AFTER", timedelta(seconds=2))
    monkeypatch.setattr(following, "SENT_AGAIN_AFTER", timedelta(seconds=0.1))
    batch = _sent_and_not_mined(service)
    _mine(service)
    # As if it had been another one, and a transaction of ours had its nonce as well.
    SentTransaction.objects.update(hashes=["0x" + 64 * "7"])
    with between(service.node.url, swallows(service)) as (address, _):
        prover = through(service, address, service.node.url, service.node.url)
        prover.work_until(SentTransaction.objects.filter(settled=True).exists)
    assert SentTransaction.objects.get().succeeded is False
    service.work(batch)


def test_what_is_pending_is_not_given_up_for_the_word_of_one_node(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That its nonce is used."""
    monkeypatch.setattr(last_looks, "ANEW_AFTER", 0.1)
    monkeypatch.setattr(lane, "LOST_AFTER", timedelta(seconds=1))
    monkeypatch.setattr(following, "SENT_AGAIN_AFTER", timedelta(seconds=0.1))
    batch = _sent_and_not_mined(service)
    nonce = SentTransaction.objects.get().nonce

    def used(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        told = json.loads(pass_on())
        if methods(question) == ["eth_sendRawTransaction"]:
            told = {"jsonrpc": "2.0", "id": question["id"]}
            told["error"] = {"code": -32000, "message": "nonce too low"}
        if methods(question) == ["eth_getTransactionCount"]:
            told["result"] = hex(nonce + 1)
        connection.answer(json.dumps(told).encode())

    with between(service.node.url, used) as (address, proxy):
        prover = through(service, service.node.url, service.node.url, address)
        until = time.monotonic() + 4
        prover.work_until(lambda: time.monotonic() > until)
    assert proxy.asked.count("eth_sendRawTransaction") > 1
    assert not SentTransaction.objects.get().settled
    _mine(service)
    service.work(batch)
    assert SentTransaction.objects.count() == 1


def test_a_nonce_that_was_used_before_all_of_ours_is_not_taken_for_one_that_was_left_out(
    service: Service,
) -> None:
    service.node.rpc.ask("anvil_setNonce", SIGNER.address, hex(50))
    _sent_and_not_mined(service)

    def low(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_getTransactionCount":
            answer["result"] = "0x0"

    with between(service.node.url, retold(low)) as (address, _):
        prover = through(service, address, service.node.url, service.node.url)
        second = prover.ask_balance(HOLDER, service.head() - 2)
        prover.work_until(lambda: SentTransaction.objects.count() > 1)
    _mine(service)
    service.work(second)
    assert set(SentTransaction.objects.values_list("nonce", flat=True)) == {50, 51}


def test_without_money_the_batch_waits_and_goes_on_when_there_is_some(service: Service) -> None:
    service.node.rpc.ask("anvil_setBalance", SIGNER.address, "0x1")
    batch = service.ask_balance(HOLDER, service.head() - 1)
    service.work_until_it_says("too little to pay", batch)
    assert service.waits(batch) == "insufficient_funds"
    service.node.rpc.ask("anvil_setBalance", SIGNER.address, hex(9 * ETHER))
    service.work(batch)


def test_gas_that_is_too_dear_is_waited_out(node: LocalNode) -> None:
    with running_service(node, dearest_gas=1) as service:
        service.mine(3)
        batch = service.ask_balance(HOLDER, service.head() - 1)
        service.work_until_it_says("at most 0.000000001 gwei are paid here", batch)
        assert service.waits(batch) == "fees_too_high"
