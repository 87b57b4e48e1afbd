"""Who offers what an estimate told is served for it, although gas got dearer meanwhile."""

from collections.abc import Iterator
from typing import Any

import pytest

from explorer.demo.local_node import LocalNode
from queries.models import SentTransaction
from tests.queries.prover.between import between, retold
from tests.queries.prover.provers import through
from tests.queries.prover.service import CHAIN_ID, ETHER, HOLDER, Service, running_service

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
GWEI = 10**9
BALANCE = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}


@pytest.fixture
def service(node: LocalNode) -> Iterator[Service]:
    with running_service(node, free=False, dearest_gas=ETHER) as running:
        running.mine(8)
        yield running
        node.rpc.ask_many("evm_setAutomine", [(True,)])


def _data(service: Service, count: int = 1) -> dict[str, Any]:
    newest = service.head() - 2
    return {str(CHAIN_ID): {f"block:{newest - number}": BALANCE for number in range(count)}}


def _base_fee(service: Service, wei: int) -> None:
    service.node.rpc.ask("anvil_setNextBlockBaseFeePerGas", hex(wei))
    service.node.rpc.ask("evm_mine")


def _told(service: Service, data: dict[str, Any]) -> str:
    _base_fee(service, 40 * GWEI)
    told = service.estimate(data).json()
    assert told["gasPrice"] == str(81 * GWEI)
    return str(told["feeNeeded"])


@pytest.mark.parametrize("blocks", [1, 3])
def test_what_was_reported_is_enough_when_gas_is_dearer_by_some_blocks(
    service: Service, blocks: int
) -> None:
    data = _data(service, blocks)
    needed = _told(service, data)
    _base_fee(service, 68 * GWEI)
    batch = service.submit(data, fee=needed)
    service.work(batch)
    told = service.status(batch)
    assert told["queryStatus"] == "DONE", told["error"]
    assert int(told["spent"]) <= int(needed)
    assert SentTransaction.objects.count() == 1


def test_what_does_not_cover_the_next_block_is_refused_with_what_it_takes_now(
    service: Service,
) -> None:
    data = _data(service)
    needed = _told(service, data)
    _base_fee(service, 80 * GWEI)
    batch = service.submit(data, fee=needed)
    service.work(batch)
    told = service.status(batch)
    assert (told["queryStatus"], told["code"]) == ("REJECTED", "fee_too_low")
    assert not SentTransaction.objects.exists()
    again = service.submit(data, fee=service.estimate(data).json()["feeNeeded"])
    service.work(again)
    assert service.status(again)["queryStatus"] == "DONE"


@pytest.mark.parametrize("method", ["eth_maxPriorityFeePerGas", "eth_estimateGas"])
def test_one_nodes_price_rejects_no_batch(service: Service, method: str) -> None:
    """Which is asked first, and one of two: the batch is sent at the other node's price."""

    def multiply(asked: Any, answer: Any) -> None:
        if asked["method"] == method:
            answer["result"] = hex(50 * int(answer["result"], 16))

    data = _data(service)
    needed = _told(service, data)
    with between(service.node.url, retold(multiply)) as (dear, _):
        batch = service.submit(data, fee=needed)
        service.work(batch, chains=through(service, dear, service.node.url).chains())
    assert service.status(batch)["queryStatus"] == "DONE"
