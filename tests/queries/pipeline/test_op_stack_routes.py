"""An L1's past, proven on its L2 by what that knows of it."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from queries.pipeline.chains import Chains
from tests.queries.pipeline.service import CHAIN_ID, Service
from tests.queries.pipeline.two_chains import SOURCE, TwoChains, ask_balance

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]


@pytest.fixture
def optimism(chains: TwoChains) -> Iterator[Service]:
    with chains.serving_optimism() as running:
        yield running


def _chaining_two_headers(service: Service) -> Chains:
    registry = replace(service.routes.registries[SOURCE, CHAIN_ID], longest_range=2)
    routes = replace(service.routes, registries={(SOURCE, CHAIN_ID): registry})
    return replace(service.chains(), routes=routes)


def test_a_block_too_far_below_all_that_the_l2_will_know_is_rejected_with_its_distance(
    optimism: Service, chains: TwoChains
) -> None:
    """The L2 tells of newer ones only, so none would come that it can be chained to."""
    block = chains.final_block()
    chains.tell_the_l2(newest := chains.final_block())
    batch = ask_balance(optimism, block)
    optimism.work(batch, chains=_chaining_two_headers(optimism))
    told = optimism.status(batch)
    assert (told["code"], told["step"]) == ("block_out_of_reach", "BLOCKHASH_AVAILABLE")
    assert f"lies {newest - block} blocks below" in told["error"]
