"""An L1's past, proven on its L2 by what that knows of it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from queries.chain.registry import L1_BLOCK
from queries.chain.solidity import call_data
from queries.models import BlockJob, SentTransaction
from queries.pipeline.chains import Chains
from queries.pipeline.fees import Pricing
from queries.pipeline.queue import shared_now
from queries.pipeline.worker import work_once
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service
from tests.queries.pipeline.two_chains import SOURCE, TwoChains, ask_balance, is_right

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]


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
    assert told["waitsFor"].endswith("so the fee given here does not include it.")
    optimism.work(batch)
    is_right(optimism, chains, batch, block)
    assert SentTransaction.objects.filter(brings_hash=True).count() == 1


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
        monkeypatch.setattr(Pricing, "alone", alone)
        chains.destination.rpc.ask_many("evm_setAutomine", [(False,)])
        job = BlockJob.objects.get(lease_until=None)
        BlockJob.objects.filter(pk=job.pk).update(look_again=shared_now())
        assert work_once(other)
        assert SentTransaction.objects.filter(brings_hash=True).exists()
        return alone(*arguments)

    alone = Pricing.alone
    monkeypatch.setattr(Pricing, "alone", slowly)
    try:
        optimism.work_until_it_says("brings the registry a block's hash", *batches)
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
