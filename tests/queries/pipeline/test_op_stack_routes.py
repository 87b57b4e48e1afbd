"""An L1's past, proven on its L2 by what that knows of it."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from queries.chain.registry_facts import L1_BLOCK
from queries.chain.registry_reads import call_data
from queries.models import BlockJob, Query, SentTransaction
from queries.pipeline import prove
from queries.pipeline.chains import Chains
from queries.pipeline.clock import shared_now
from queries.pipeline.pricing import priced_alone
from queries.pipeline.worker import work_once
from queries.routes import NodeAddress
from tests.queries.pipeline.between import between, called, retold
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service
from tests.queries.pipeline.two_chains import SOURCE, TwoChains, ask_balance, is_right

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def optimism(chains: TwoChains) -> Iterator[Service]:
    with chains.serving_optimism() as running:
        yield running


def test_the_l2s_own_knowledge_is_recorded_and_headers_chain_back(
    optimism: Service, chains: TwoChains
) -> None:
    block = chains.final_block()
    batch = ask_balance(optimism, block)
    said = optimism.work_until_it_waits(batch, "hash_not_recorded")
    assert "has not recorded a hash" in said
    chains.final_block()
    chains.tell_the_l2(block + 3)
    entry = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
    estimate = optimism.estimate({str(SOURCE): {f"block:{block}": entry}}).json()
    (told,) = estimate["blocks"]
    assert (estimate["complete"], told["readiness"], told["price"]) == (False, "NOT_KNOWN", None)
    assert told["waitsFor"].endswith("hash first. What that takes cannot be tried out beforehand, "
                                     "and is not in the fee that is told.")  # fmt: skip
    optimism.work(batch)
    is_right(optimism, chains, batch, block)
    assert SentTransaction.objects.filter(brings_hash=True).count() == 1


def test_a_node_that_denies_each_hash_has_three_paid_for(
    optimism: Service, chains: TwoChains
) -> None:
    """The L1 may reorganise, so a second one is no fault."""
    block = chains.final_block()
    chains.tell_the_l2(block)
    batch = ask_balance(optimism, block)
    denied = [
        f"0x{call_data(f'{view}(uint256)', 0)[:4].hex()}" for view in ("recorded", "accumulated")
    ]
    lies = [True]

    def deny(asked: Any, answer: Any) -> None:
        if lies and called(asked).startswith(tuple(denied)):
            answer["result"] = f"0x{64 * '0'}"

    with between(chains.destination.url, retold(deny)) as (address, _):
        nodes = (NodeAddress(address),)
        known = dict(optimism.routes.chains)
        known[CHAIN_ID] = replace(known[CHAIN_ID], nodes=nodes)
        prover = replace(optimism, routes=replace(optimism.routes, chains=known))
        assert "deny each hash" in prover.work_until_it_waits(batch, "registry_misread")
        brought = SentTransaction.objects.filter(brings_hash=True)
        assert brought.count() == prove.BROUGHT
        lies.clear()
        prover.work(batch)
    is_right(optimism, chains, batch, block)
    assert brought.count() == prove.BROUGHT


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


def test_no_block_is_too_far_below_one_that_the_l1_does_not_have(
    optimism: Service, chains: TwoChains
) -> None:
    block = chains.final_block()
    last = chains.final_block()
    data = call_data("set(uint64,bytes32)", last, bytes(31) + b"\x01")
    chains.destination.send(L1_BLOCK, data)
    batch = ask_balance(optimism, block)
    optimism.work_until_it_waits(batch, "hash_not_recorded", _chaining_two_headers(optimism))
    chains.tell_the_l2(block + 1)
    optimism.work(batch)
    is_right(optimism, chains, batch, block)


def test_what_is_not_known_for_long_is_looked_at_less_often(
    optimism: Service, chains: TwoChains
) -> None:
    """Each look reads as many words as headers may be chained."""
    block = chains.final_block()
    batch = ask_balance(optimism, block)
    for seconds, least, most in (
        (0, 0.2, 0.3),
        (16, 0.9, 1.3),
        (160, 9.9, 10.3),
        (3_600, 59.9, 60.0),
    ):
        optimism.work_until_it_says("has not recorded a hash", batch)
        began = shared_now() - timedelta(seconds=seconds)
        Query.objects.update(blockhash_available_began=began)
        BlockJob.objects.update(look_again=shared_now())
        assert work_once(optimism.chains())
        look_again = BlockJob.objects.get().look_again
        assert look_again
        pause = (look_again - shared_now()).total_seconds()
        assert least - 0.1 < pause <= most
    chains.final_block()
    chains.tell_the_l2(block + 3)
    ask_balance(optimism, block)  # who asks anew does not wait for so long
    optimism.work(batch, seconds=2)


def test_two_workers_that_bring_a_hash_at_once_send_one_transaction(
    optimism: Service, chains: TwoChains, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both saw that none is on its way; one of them is the first to store what it signed."""
    block = chains.final_block()
    chains.final_block()
    chains.tell_the_l2(block + 3)
    batches = [ask_balance(optimism, block), ask_balance(optimism, block - 1)]
    other = optimism.chains()

    def slowly(*arguments: Any) -> Any:
        monkeypatch.setattr(prove, "priced_alone", priced_alone)
        chains.destination.rpc.ask_many("evm_setAutomine", [(False,)])
        job = BlockJob.objects.get(lease_until=None)
        BlockJob.objects.filter(pk=job.pk).update(look_again=shared_now())
        assert work_once(other)
        assert SentTransaction.objects.filter(brings_hash=True).exists()
        return priced_alone(*arguments)

    monkeypatch.setattr(prove, "priced_alone", slowly)
    try:
        optimism.work_until_it_says("being told a block's hash", *batches)
        assert optimism.waits(batches[0]) == "hash_on_its_way"
        assert SentTransaction.objects.filter(brings_hash=True).count() == 1
        chains.destination.rpc.ask("evm_mine")
    finally:
        chains.destination.rpc.ask_many("evm_setAutomine", [(True,)])
    optimism.work(*batches)
    assert SentTransaction.objects.filter(brings_hash=True).count() == 1


def test_the_predeploy_moves_on_between_record_and_proof(
    optimism: Service, chains: TwoChains
) -> None:
    block = chains.final_block()
    chains.final_block()
    chains.tell_the_l2(block + 1)
    chains.destination.rpc.ask_many("evm_setAutomine", [(False,)])
    batch = ask_balance(optimism, block)
    try:
        optimism.work_until_it_says("on its way", batch)
        chains.destination.rpc.ask("evm_mine")
    finally:
        chains.destination.rpc.ask_many("evm_setAutomine", [(True,)])
    chains.tell_the_l2(block + 3)
    optimism.work(batch)
    is_right(optimism, chains, batch, block)
