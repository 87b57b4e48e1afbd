"""How often nodes are asked: what /docs/growth counts with, and whoever pays by the question."""

from contextlib import ExitStack
from statistics import median

import pytest

from explorer.growth.figures import Figures
from queries.chain.local_node import local_node
from tests.queries.pipeline.between import between
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import CHAIN_ID, Service, running_service

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
FEW, MANY = 1, 21  # facts of a block
TIMES, OLDER = 3, 8  # blocks
OF_ONE_NODE = (5, 40)  # a fact, and a block, where no other one is asked for its word
OF_THE_HEAD = {"eth_blockNumber", "eth_chainId"}  # asked all the time


def _questions(service: Service, facts: int, nodes: int) -> int:
    """Until so many facts of a block are DONE, where a block comes a second, without its head's."""
    accounts = {f"0x{number + 1:040x}": {"props": ["BALANCE"]} for number in range(facts)}
    with ExitStack() as stack:
        each = [stack.enter_context(between(service.node.url)) for _ in range(nodes)]
        running = through(service, *(address for address, _ in each))
        batch = running.submit(
            {str(CHAIN_ID): {f"block:{running.head() - 2}": {"accounts": accounts}}}
        )
        running.work(batch)
        assert running.status(batch)["queryStatus"] == "DONE"
        asked = [method for _, counted in each for method in counted.asked]
    return sum(method not in OF_THE_HEAD for method in asked)


@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_a_fact_and_a_block_take_as_many_questions_as_growth_counts_with(nodes: int) -> None:
    """How many exactly is a matter of when a block comes, so of three times the middle one."""
    figures = Figures()
    of_a_fact, of_a_block = figures.questions_per_fact, figures.questions_per_block
    if nodes == 1:
        of_a_fact, of_a_block = OF_ONE_NODE
    with (
        local_node("--block-time", "1", "--chain-id", str(CHAIN_ID)) as node,
        running_service(node) as service,
    ):
        node.rpc.ask("anvil_mine", hex(OLDER))
        for facts in (FEW, MANY):
            asked = median(_questions(service, facts, nodes) for _ in range(TIMES))
            counted = facts * of_a_fact + of_a_block
            assert counted / 2 < asked <= counted, facts
