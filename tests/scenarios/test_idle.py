"""What provers cost at a node while there is nothing to prove."""

import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing

import pytest

from tests.rigs.anvil import Chain
from tests.rigs.faulty_node import Node
from tests.rigs.service import Service, until

pytestmark = pytest.mark.either_database

SPEED = 20  # the limits' defaults, and the chain's blocks, so many times faster
MINUTES = 5


def test_idle_provers_make_six_calls_a_minute_to_each_node(
    new_service: Callable[[], Service], new_chain: Callable[..., Chain]
) -> None:
    """All provers on one database together, once every transaction is final."""
    chain = new_chain(block_time=12 / SPEED)
    with ExitStack() as stack:
        nodes = [stack.enter_context(closing(Node(chain))) for _ in range(2)]
        service = new_service()
        service.set_limits(poll_interval=12 / SPEED, check_interval=300 / SPEED)
        service.add_chain(chain, *nodes)
        service.add_registry("native", chain, chain)
        for run in (service.serve, service.prove, service.prove):
            stack.enter_context(run())
        service.wait(service.submit_balance(1))

        def calls_within(seconds: float) -> list[Counter[str]]:
            for node in nodes:
                node.calls.clear()
            time.sleep(seconds)
            return [node.calls.copy() for node in nodes]

        def is_idle() -> bool:
            """Longer than a check takes to come: each prover's start has proof windows measured."""
            seen = calls_within(320 / SPEED)
            return not any(
                calls["eth_getTransactionReceipt"] + calls["eth_getProof"] for calls in seen
            )

        until(is_idle, what="provers ask for no receipt and measure no proof window any more")
        for calls in calls_within(MINUTES * 60 / SPEED):
            assert 0 < calls.total() <= 6 * MINUTES, calls
            assert calls["eth_getBalance"] <= 1
            assert calls["eth_chainId"] <= 2  # one of each prover
