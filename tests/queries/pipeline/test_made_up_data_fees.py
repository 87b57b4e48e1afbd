"""What an OP-stack chain takes for its L1 is in no hash: a node that lies of it spoils nothing."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from queries.chain.destination import GAS_PRICE_ORACLE
from queries.chain.local_node import LocalNode
from queries.models import ChainCost, SentTransaction
from tests.queries.pipeline.between import Change, between, retold
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import CHAIN_ID, ETHER, HOLDER, Service, running_service

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
ANSWERS = "0x60206000f3"  # code that returns 32 zero bytes
L1_FEE, ANY = 10**9, 2**120  # wei


@pytest.fixture
def op_stack(node: LocalNode) -> Iterator[LocalNode]:
    node.rpc.ask("anvil_setCode", GAS_PRICE_ORACLE, ANSWERS)
    yield node
    node.rpc.ask("anvil_setCode", GAS_PRICE_ORACLE, "0x")


def telling(fee: int) -> Change:
    def change(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_getTransactionReceipt" and answer.get("result"):
            answer["result"]["l1Fee"] = hex(fee)

    return change


def _denying_once() -> Change:
    """That the chain takes any."""
    left, honest = [True], telling(L1_FEE)

    def change(asked: Any, answer: Any) -> None:
        honest(asked, answer)
        if asked["method"] == "eth_getCode" and left:
            left.pop()
            answer["result"] = "0x"

    return change


def test_that_a_chain_takes_none_is_not_believed_of_one_node(op_stack: LocalNode) -> None:
    with ExitStack() as stack, running_service(op_stack) as service:
        service.mine(12)
        told = (_denying_once(), telling(L1_FEE), telling(L1_FEE))
        nodes = [stack.enter_context(between(op_stack.url, retold(each)))[0] for each in told]
        prover = through(service, *nodes)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        prover.work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"


def test_one_lie_spends_no_whole_day(op_stack: LocalNode) -> None:
    with (
        ExitStack() as stack,
        running_service(
            op_stack, free=False, dearest_gas=ETHER, most_a_day=ETHER, confirmations=1
        ) as service,
    ):
        service.mine(12)
        told = (telling(ANY), telling(L1_FEE), telling(L1_FEE))
        nodes = [stack.enter_context(between(op_stack.url, retold(each)))[0] for each in told]
        _done(service, nodes)
        _done(service, nodes[1:])
        assert int(ChainCost.objects.get().spent, 16) < ETHER


def test_one_node_has_no_fee_of_a_chain_that_takes_none(node: LocalNode) -> None:
    """Whatever it says of the chain's contracts."""

    def change(asked: Any, answer: Any) -> None:
        telling(ANY)(asked, answer)
        if asked["method"] == "eth_getCode":
            answer["result"] = ANSWERS

    with running_service(node, free=False, dearest_gas=ETHER) as service:
        service.mine(12)
        with between(node.url, retold(change)) as (address, _):
            _done(service, [address, node.url, node.url])
        row = SentTransaction.objects.get()
        assert row.gas_used
        assert int(ChainCost.objects.get().spent, 16) == int(row.gas_price, 16) * row.gas_used


def test_while_one_of_two_is_away_the_others_word_has_to_do(op_stack: LocalNode) -> None:
    """Or nothing that it mines would ever be settled."""
    with running_service(op_stack, free=False, dearest_gas=ETHER) as service:
        service.mine(12)
        with between(op_stack.url, retold(telling(L1_FEE))) as (address, _):
            _done(service, [address, "http://127.0.0.1:9"])
        row = SentTransaction.objects.get()
        assert row.settled
        assert int(row.data_fee, 16) == L1_FEE


def _done(service: Service, nodes: list[str]) -> None:
    prover = through(service, *nodes)
    block = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
    data = {str(CHAIN_ID): {f"block:{service.head() - 2}": block}}
    batch = prover.submit(data, fee=str(ETHER // 100))
    prover.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"
