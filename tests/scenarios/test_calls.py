"""How many calls nodes get for a fact: the figures that `manage.py cost` shows."""

from collections.abc import Callable
from contextlib import closing

from queries.config.measured_costs import TOGETHER, calls_of_a_fact
from tests.rigs.anvil import Chain
from tests.rigs.faulty_node import Node
from tests.rigs.service import Service, accounts

BLOCK_TIME = 2  # seconds; 12 for the figures themselves, which takes two minutes


def test_facts_take_no_more_calls_than_the_costs_say(
    new_service: Callable[[], Service], new_chain: Callable[..., Chain]
) -> None:
    """Each needs two confirmations. Shorter blocks leave less time in which heads are polled."""
    chain, service = new_chain(block_time=BLOCK_TIME), new_service()
    with closing(Node(chain)) as node:
        service.add_chain(chain, node, confirmations=2)
        service.add_registry("native", chain, chain)
        with service.serve(), service.prove():
            service.wait(service.submit_balance(1))
            for block, many in enumerate(TOGETHER, 2):
                some = [f"0x{number:040x}" for number in range(1, many + 1)]
                node.calls.clear()
                service.wait(service.submit({chain.id: {block: accounts(*some)}}))
                calls = node.calls.total() / many
                assert calls_of_a_fact(many) / 4 < calls < calls_of_a_fact(many) * 1.1, node.calls
