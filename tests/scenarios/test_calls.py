"""JSON-RPC calls per fact: the figures that `manage.py cost` shows."""

from contextlib import closing

import pytest

from queries.config.measured_costs import MEASURED_ACCOUNTS, calls_per_fact
from tests.rigs.faulty_node import Node
from tests.rigs.service import accounts
from tests.scenarios.fixtures import NewChain, NewService

pytestmark = pytest.mark.either_database

BLOCK_TIME = 2  # seconds; with 12, as in the figures, this takes two minutes


def test_a_fact_takes_no_more_node_calls_than_the_cost_command_shows(
    new_service: NewService, new_chain: NewChain
) -> None:
    """With two confirmations. Fewer calls are made than at 12 seconds, as heads are polled less."""
    chain, service = new_chain(block_time=BLOCK_TIME), new_service()
    with closing(Node(chain)) as node:
        service.add_native_chain(chain, node, confirmations=2)
        with service.serve(), service.prove():
            service.wait(service.submit_balance(1))
            for block, count in enumerate(MEASURED_ACCOUNTS, 2):
                addresses = [f"0x{number:040x}" for number in range(1, count + 1)]
                node.calls.clear()
                service.wait(service.submit({chain.id: {block: accounts(*addresses)}}))
                calls = node.calls.total() / count
                assert calls_per_fact(count) / 4 < calls < calls_per_fact(count) * 1.1, node.calls
