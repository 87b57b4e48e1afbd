"""The estimated fee is enough, even if gas prices rise for some blocks."""

from collections.abc import Iterator
from typing import Any

import pytest

from explorer.demo.local_node import LocalNode
from queries.models import SentTransaction
from tests.queries.prover.service import CHAIN_ID, ETHER, HOLDER, Service, running_service
from tests.rigs.faulty_node import relay

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
GWEI = 10**9
BALANCE = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}


@pytest.fixture
def service(node: LocalNode) -> Iterator[Service]:
    with running_service(node, free=False, max_gas_price=ETHER) as running:
        running.mine(8)
        yield running
        node.rpc.ask_many("evm_setAutomine", [(True,)])


def _data(service: Service, count: int = 1) -> dict[str, Any]:
    last = service.head() - 2
    return {str(CHAIN_ID): {f"block:{last - n}": BALANCE for n in range(count)}}


def _set_base_fee(service: Service, wei: int) -> None:
    service.node.rpc.ask("anvil_setNextBlockBaseFeePerGas", hex(wei))
    service.node.rpc.ask("evm_mine")


def _estimated_fee(service: Service, data: dict[str, Any]) -> str:
    _set_base_fee(service, 40 * GWEI)
    estimate = service.estimate(data).json()
    assert estimate["gasPrice"] == str(81 * GWEI)
    return str(estimate["feeNeeded"])


@pytest.mark.parametrize("blocks", [1, 3])
def test_the_estimated_fee_is_enough_after_some_blocks_of_rising_base_fees(
    service: Service, blocks: int
) -> None:
    data = _data(service, blocks)
    fee = _estimated_fee(service, data)
    _set_base_fee(service, 68 * GWEI)
    batch = service.submit(data, fee=fee)
    service.work(batch)
    status = service.status(batch)
    assert status["queryStatus"] == "DONE", status["error"]
    assert int(status["spent"]) <= int(fee)
    assert SentTransaction.objects.count() == 1


def test_a_fee_below_the_next_blocks_price_is_rejected(service: Service) -> None:
    data = _data(service)
    fee = _estimated_fee(service, data)
    _set_base_fee(service, 80 * GWEI)
    batch = service.submit(data, fee=fee)
    service.work(batch)
    status = service.status(batch)
    assert (status["queryStatus"], status["code"]) == ("REJECTED", "fee_too_low")
    assert not SentTransaction.objects.exists()
    again = service.submit(data, fee=service.estimate(data).json()["feeNeeded"])
    service.work(again)
    assert service.status(again)["queryStatus"] == "DONE"


@pytest.mark.parametrize("method", ["eth_maxPriorityFeePerGas", "eth_estimateGas"])
def test_one_nodes_high_price_does_not_reject_a_batch(service: Service, method: str) -> None:
    """The batch is sent at the other node's price."""

    def multiply(asked: str, _params: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        return {"result": hex(50 * int(answer["result"], 16))} if asked == method else answer

    data = _data(service)
    fee = _estimated_fee(service, data)
    with relay(service.node.url, multiply) as expensive:
        batch = service.submit(data, fee=fee)
        service.work(batch, context=service.with_nodes(expensive, service.node.url).context())
    assert service.status(batch)["queryStatus"] == "DONE"
