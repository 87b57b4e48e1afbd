"""JSON-RPC calls of provers: idle, and per fact as `tacitus cost` shows."""

import time
from collections import Counter
from contextlib import ExitStack, closing

import pytest

from queries.config.measured_costs import MEASURED_ACCOUNTS, calls_per_fact
from tests.rigs.faulty_node import Node
from tests.rigs.service import accounts, wait_until
from tests.scenarios.fixtures import NewChain, NewService

pytestmark = pytest.mark.either_database

SPEED = 20  # times the default limits and the block time
MINUTES = 5


@pytest.mark.parametrize("count", [1, 2], ids=["one node", "two nodes"])
def test_idle_provers_make_six_calls_a_minute_to_each_node(
    new_service: NewService, new_chain: NewChain, count: int
) -> None:
    """All provers of a database together, once every transaction is final."""
    chain = new_chain(block_time=12 / SPEED)
    chain.mine(1_000)  # the proof window is measured again when a young chain is twice as long
    with ExitStack() as stack:
        nodes = [stack.enter_context(closing(Node(chain))) for _ in range(count)]
        service = new_service()
        service.set_limits(poll_interval=12 / SPEED, check_interval=300 / SPEED)
        service.add_native_chain(chain, *nodes)
        for run in (service.serve, service.prove, service.prove):
            stack.enter_context(run())
        service.wait(service.submit_balance(1))

        def count_calls(seconds: float) -> list[Counter[str]]:
            for node in nodes:
                node.log.requests.clear()
            time.sleep(seconds)
            return [node.calls.copy() for node in nodes]

        def is_idle() -> bool:
            """Wait a whole check interval: a prover measures proof windows after its start."""
            return not any(
                calls["eth_getTransactionReceipt"] + calls["eth_getProof"]
                for calls in count_calls(320 / SPEED)
            )

        wait_until(is_idle, what="provers get no receipts and measure no proof windows any more")
        for calls in count_calls(MINUTES * 60 / SPEED):
            assert 0 < calls.total() <= 6 * MINUTES, calls
            assert calls["eth_getBalance"] <= 1
            assert calls["eth_chainId"] <= 2  # one per prover


OTHER_CALLS = 25
BLOCK_TIME = 2  # seconds; with 12, as in the figures, this takes two minutes


def test_a_fact_takes_no_more_node_calls_than_the_cost_command_shows(
    new_service: NewService, new_chain: NewChain
) -> None:
    """With two confirmations. A service that has just started polls more often: OTHER_CALLS."""
    chain, service = new_chain(block_time=BLOCK_TIME), new_service()
    with closing(Node(chain)) as node:
        service.add_native_chain(chain, node, confirmations=2)
        with service.serve(), service.prove():
            service.wait(service.submit_balance(1))
            for block, count in enumerate(MEASURED_ACCOUNTS, 2):
                addresses = [f"0x{number:040x}" for number in range(1, count + 1)]
                node.log.requests.clear()
                service.wait(service.submit({chain.id: {block: accounts(*addresses)}}))
                shown = calls_per_fact(count) * count
                assert shown / 4 < node.calls.total() < shown + OTHER_CALLS, node.calls
