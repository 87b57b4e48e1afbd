"""A node makes up a receipt of what is not mined: nothing is paid twice, nobody rejected for it."""

import json
import time
from datetime import timedelta
from typing import Any

import pytest

from queries.chain.local_node import LocalNode
from queries.models import Batch, ChainCost, SentTransaction
from queries.pipeline import following
from queries.pipeline.clock import shared_now
from queries.pipeline.costs import price_of
from queries.pipeline.finality import look_at_final
from queries.pipeline.worker import work_once
from queries.proving.keccak import keccak256
from tests.queries.chain.lying_node import LyingNode
from tests.queries.pipeline.between import PassOn, between, methods, retold
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service, running_service

pytestmark = pytest.mark.django_db(transaction=True)
AWAY = "http://127.0.0.1:9"
LOOKS = 12


class MadeUp:
    """Says of what was sent that it is in the newest block, and maybe passes nothing on."""

    def __init__(
        self, service: Service, status: str, *, swallows: bool = False, ahead: int = 0
    ) -> None:
        self.node, self.status, self.swallows, self.ahead = service.node, status, swallows, ahead
        self.told = self.swallowed = 0

    def handle(self, connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        """It passes no transaction on, and says that it did."""
        if self.swallows and methods(question) == ["eth_sendRawTransaction"]:
            self.swallowed += 1
            raw = bytes.fromhex(question["params"][0][2:])
            told = {"jsonrpc": "2.0", "id": question["id"], "result": f"0x{keccak256(raw).hex()}"}
            connection.answer(json.dumps(told).encode())
        else:
            retold(self)(connection, question, pass_on)

    def __call__(self, asked: Any, answer: Any) -> None:
        receipt = asked["method"] == "eth_getTransactionReceipt" and answer.get("result") is None
        if not receipt:
            return
        newest = self.node.rpc.ask("eth_getBlockByNumber", "latest", False)  # noqa: FBT003
        self.told += 1
        answer["result"] = {
            "transactionHash": asked["params"][0],
            "status": self.status,
            "blockNumber": hex(int(newest["number"], 16) + self.ahead),
            "blockHash": newest["hash"],
            "gasUsed": "0x1",
            "effectiveGasPrice": "0x1",
        }


def _look(prover: Service, batch: str) -> None:
    chains = prover.chains()
    for _ in range(LOOKS):
        prover.look_now()
        work_once(chains)
        time.sleep(0.12)  # a head is fresh for less
    chains.close()
    assert not Batch.objects.get(pk=batch).ended


def _is_done_by_one(service: Service, batch: str, confirmations: int = 1) -> None:
    service.mine(confirmations)
    service.node.rpc.ask_many("evm_setAutomine", [(True,)])
    service.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
    row = SentTransaction.objects.get()
    receipt = service.node.rpc.ask("eth_getTransactionReceipt", row.mined_hash)
    used, price = (int(receipt[name], 16) for name in ("gasUsed", "effectiveGasPrice"))
    assert row.settled
    assert (row.succeeded, row.gas_used) == (True, used)
    assert int(service.status(batch)["spent"]) == used * price


@pytest.mark.parametrize("status", ["0x1", "0x0"], ids=["succeeded", "failed"])
@pytest.mark.parametrize("confirmations", [1, 3])
def test_it_is_not_paid_for_again(node: LocalNode, status: str, confirmations: int) -> None:
    with running_service(node, confirmations=confirmations) as service:
        service.mine(12)
        service.node.rpc.ask_many("evm_setAutomine", [(False,)])
        liar = MadeUp(service, status)
        with between(service.node.url, retold(liar)) as (address, _):
            prover = through(service, address, service.node.url)
            batch = prover.ask_balance(HOLDER, service.head() - 2)
            _look(prover, batch)
        assert liar.told
        assert not SentTransaction.objects.get().settled
        _is_done_by_one(service, batch, confirmations)


def test_what_has_been_on_its_way_for_long_is_not_settled_the_sooner(service: Service) -> None:
    service.node.rpc.ask_many("evm_setAutomine", [(False,)])
    with between(service.node.url, retold(MadeUp(service, "0x0"))) as (address, _):
        prover = through(service, address, service.node.url)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        prover.work_until_it_says("on its way", batch)
        SentTransaction.objects.update(signed=shared_now() - timedelta(hours=1))
        _look(prover, batch)
    row = SentTransaction.objects.get()
    assert row.doubted
    assert not row.settled
    _is_done_by_one(service, batch)


def test_two_that_deny_it_outvote_it_however_long_it_is_told(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "AGREED_WITHIN", timedelta(0))
    service.node.rpc.ask_many("evm_setAutomine", [(False,)])
    liar = MadeUp(service, "0x0")
    with between(service.node.url, retold(liar)) as (address, _):
        prover = through(service, address, service.node.url, service.node.url)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        _look(prover, batch)
    assert liar.told
    assert not SentTransaction.objects.get().settled
    _is_done_by_one(service, batch)


def test_what_nobody_tells_of_any_more_is_no_longer_doubted(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "SENT_AGAIN_AFTER", timedelta(0))
    service.node.rpc.ask_many("evm_setAutomine", [(False,)])
    with between(service.node.url, retold(MadeUp(service, "0x1"))) as (address, _):
        prover = through(service, address, service.node.url)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        prover.work_until(SentTransaction.objects.exclude(doubted=None).exists)
    honest = through(service, service.node.url, service.node.url)
    honest.work_until(SentTransaction.objects.filter(doubted=None).exists)
    _is_done_by_one(service, batch)


def test_it_is_sent_again_by_another_node(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the node that makes it up has passed nothing on."""
    monkeypatch.setattr(following, "SENT_AGAIN_AFTER", timedelta(seconds=1))
    liar = MadeUp(service, "0x1", swallows=True)
    with between(service.node.url, liar.handle) as (address, _):
        prover = through(service, address, service.node.url)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        prover.work(batch)
    assert liar.told
    assert liar.swallowed
    _is_done_by_one(service, batch)


def test_what_was_settled_while_the_other_node_was_away(service: Service) -> None:
    """It is followed again when that one denies it."""
    liar = MadeUp(service, "0x1", swallows=True)
    with between(service.node.url, liar.handle) as (address, _):
        prover = through(service, address, AWAY)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        prover.work_until(SentTransaction.objects.filter(settled=True).exists)
        through(service, address, service.node.url).work(batch)
        through(service, service.node.url).work_until(
            SentTransaction.objects.filter(settled=True).exists
        )
    row = SentTransaction.objects.get()
    assert service.status(batch)["queryStatus"] == "DONE"
    # Not what was made up, nor both.
    assert row.gas_used != 1
    assert int(service.status(batch)["spent"]) == price_of(row)
    assert int(ChainCost.objects.get().spent, 16) == price_of(row)
    assert ChainCost.objects.get().transactions == 1


def test_one_that_succeeded_is_not_final_by_one_nodes_word(service: Service) -> None:
    service.work(service.ask_balance(HOLDER, service.head() - 1))
    SentTransaction.objects.update(mined_hash="0x" + 64 * "7", mined_block=1)  # nobody's
    service.mine(80)
    with between(service.node.url, retold(MadeUp(service, "0x1"))) as (address, _):
        look_at_final(through(service, address, service.node.url).chains(), CHAIN_ID)
    assert not SentTransaction.objects.get().final


def test_a_block_that_is_far_ahead_holds_up_nobody(service: Service) -> None:
    """While it is told of; else no node would be far enough to be asked what a registry holds."""
    liar = MadeUp(service, "0x1", ahead=1_000_000)
    with between(service.node.url, retold(liar)) as (address, _):
        prover = through(service, address, service.node.url)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        service.node.rpc.ask_many("evm_setAutomine", [(False,)])
        _look(prover, batch)
        assert liar.told
        assert SentTransaction.objects.get().mined_block is None
        service.node.rpc.ask_many("evm_setAutomine", [(True,)])
        prover.work(other := prover.ask_balance(HOLDER, service.head() - 3))
    assert service.status(other)["queryStatus"] == "DONE"


def _takes_one_gas_more(asked: Any, answer: Any) -> None:
    if asked["method"] == "eth_getTransactionReceipt" and answer.get("result"):
        used = int(answer["result"]["gasUsed"], 16)
        answer["result"] |= {"gasUsed": hex(used + 1)}


def test_made_up_gas_is_in_the_cost_of_no_query_once_it_is_settled(service: Service) -> None:
    """Facts are there before two nodes agree on what it took to prove them."""
    with between(service.node.url, retold(_takes_one_gas_more)) as (address, _):
        prover = through(service, address, service.node.url)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        prover.work(batch)
    told = service.status(batch)
    assert (told["queryStatus"], told["spent"]) == ("DONE", "0")
    assert told["queries"][0]["cost"] is None
    through(service, service.node.url).work_until(
        SentTransaction.objects.filter(settled=True).exists
    )
    told = service.status(batch)
    price = price_of(SentTransaction.objects.get())
    assert told["spent"] == told["queries"][0]["cost"] == str(price)
