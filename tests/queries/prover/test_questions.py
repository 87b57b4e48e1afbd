"""How many requests to nodes a fact takes: as many as the operators' guide says, at most."""

from contextlib import ExitStack

import pytest

from explorer.demo.local_node import local_node
from tests.queries.prover.between import between
from tests.queries.prover.provers import through
from tests.queries.prover.service import CHAIN_ID, Service, running_service

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
FEW, MANY = 1, 21  # facts of a block
TRIES, OLDER = 5, 8  # blocks
# For a fact, and for a block, with so many nodes of a chain.
REQUESTS = {1: (5, 40), 2: (9, 50)}
OF_THE_HEAD = {"eth_blockNumber", "eth_chainId"}  # asked all the time


def _questions(service: Service, facts: int, nodes: int) -> int:
    """Until so many facts of a block are DONE, with a block a second; the head's do not count."""
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


@pytest.mark.parametrize("nodes", REQUESTS)
def test_a_fact_and_a_block_take_no_more_requests_than_documented(nodes: int) -> None:
    """On a busy machine a run takes more blocks and asks more, so it has some tries."""
    of_a_fact, of_a_block = REQUESTS[nodes]
    with (
        local_node("--block-time", "1", "--chain-id", str(CHAIN_ID)) as node,
        running_service(node) as service,
    ):
        node.rpc.ask("anvil_mine", hex(OLDER))
        for facts in (FEW, MANY):
            most = facts * of_a_fact + of_a_block
            tries = (_questions(service, facts, nodes) for _ in range(TRIES))
            assert any(most / 2 < asked <= most for asked in tries), facts
