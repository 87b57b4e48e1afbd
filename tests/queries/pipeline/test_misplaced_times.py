"""Blocks that are named by a time, and turn out to be others after the batch was settled."""

from collections.abc import Iterator
from typing import Any

import pytest

from queries.attestations import take
from queries.chain.local_node import LocalNode, local_node
from queries.models import Batch, BlockJob, Query, SentTransaction
from queries.pipeline.chains import Chains
from queries.pipeline.clock import shared_now
from queries.pipeline.leases import claim_batch, claim_job
from queries.pipeline.settle import settle
from queries.pipeline.work import TRIES_OF_LIES
from queries.pipeline.worker import work_once
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service, running_service
from tests.queries.pipeline.two_chains import SIGNERS, SOURCE, TwoChains, two_chains, word_of

pytestmark = pytest.mark.django_db(transaction=True)
ENTRY = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
DEEP = 6  # blocks; more than the finality of any chain here


@pytest.fixture
def node() -> Iterator[LocalNode]:
    """Whose times are this module's alone."""
    with local_node() as running:
        yield running


@pytest.fixture
def service(node: LocalNode) -> Iterator[Service]:
    with running_service(node) as running:
        running.mine(20)
        yield running


@pytest.fixture
def chains() -> Iterator[TwoChains]:
    with two_chains() as both:
        both.final_block()
        both.final_block()
        both.final_block()
        yield both


def _settled(chains: Chains, *batches: str) -> None:
    """Before any of their jobs is looked at."""
    while Batch.objects.filter(pk__in=batches, status="RECEIVED").exists():
        lease = claim_batch()
        assert lease
        assert settle(lease, chains) is None
        lease.close()


def _reorganise(node: LocalNode) -> None:
    """The newest blocks are replaced by as many and some, which come twice as fast."""
    node.rpc.ask("anvil_rollback", DEEP)
    node.rpc.ask("anvil_mine", hex(3 * DEEP), "0x1")


def _time_of(node: LocalNode, block: int) -> int:
    (told,) = node.rpc.ask_many("eth_getBlockByNumber", [(hex(block), False)])
    assert isinstance(told, dict)
    return int(told["timestamp"], 16)


def _last_at(node: LocalNode, seconds: int) -> int:
    """Asked block by block."""
    block = int(node.rpc.ask("eth_blockNumber"), 16)
    while _time_of(node, block) > seconds:
        block -= 1
    return block


def _queries(service: Service, batch: str) -> list[dict[str, Any]]:
    told = service.status(batch)
    assert told["queryStatus"] == "DONE", told
    queries: list[dict[str, Any]] = told["queries"]
    return queries


def test_the_block_at_a_time_is_looked_up_anew_where_its_chain_reorganised(
    service: Service,
) -> None:
    block = service.head() - 3
    seconds = _time_of(service.node, block)
    batch = service.submit({str(CHAIN_ID): {f"timestamp:{seconds}": ENTRY}})
    _settled(service.chains(), batch)
    assert BlockJob.objects.get().block == block
    _reorganise(service.node)
    now = _last_at(service.node, seconds)
    assert now != block
    service.work(batch)
    (query,) = _queries(service, batch)
    assert query["block"] == str(now)
    assert service.reads.block_number_at(seconds) == now
    word = service.reads.account_field(bytes.fromhex(HOLDER[2:]), now, 1)
    assert word == service.balance(HOLDER, now).to_bytes(32, "big")
    assert service.reads.accumulated(block) == bytes(32)
    assert not BlockJob.objects.exclude(look_again=None).exists()
    assert Query.objects.get().misplaced == 1


def test_what_else_its_batch_and_its_job_are_for_goes_on(service: Service) -> None:
    """And a step that was completed for the block that it is no longer begins anew."""
    top = service.head()
    seconds, later = (_time_of(service.node, top - back) for back in (4, 2))
    stays = _time_of(service.node, top - 9)
    names = [f"timestamp:{each}" for each in (seconds, later, stays)]
    timed = service.submit({str(CHAIN_ID): dict.fromkeys([*names, f"block:{top - 4}"], ENTRY)})
    other = service.submit({str(CHAIN_ID): {f"block:{top - 4}": ENTRY}})
    again = service.submit({str(CHAIN_ID): {f"timestamp:{seconds}": ENTRY}})
    _settled(service.chains(), timed, other, again)
    assert BlockJob.objects.count() == 3
    assert Query.objects.filter(job__block=top - 4).count() == 4
    Query.objects.update(
        initial_state_completed=shared_now(), blockhash_available_began=shared_now()
    )
    _reorganise(service.node)
    service.work(timed, other, again)
    told = _queries(service, timed)
    expected = [_last_at(service.node, each) for each in (seconds, later, stays)]
    assert expected[2] == top - 9 != expected[0] != top - 4
    assert [query["block"] for query in told] == [str(each) for each in (*expected, top - 4)]
    assert [query["block"] for query in _queries(service, other)] == [str(top - 4)]
    assert [query["block"] for query in _queries(service, again)] == [str(expected[0])]
    for query in Query.objects.all():
        assert query.initial_state_completed
        assert query.blockhash_available_began
        assert query.initial_state_completed <= query.blockhash_available_began
    assert not SentTransaction.objects.exclude(succeeded=True).exists()
    assert not Batch.objects.exclude(look_again=None).exists()


def test_where_the_new_block_is_not_final_yet_it_is_waited_for(chains: TwoChains) -> None:
    """Meanwhile no block is shown, and it is said why."""
    node = chains.source
    head = int(node.rpc.ask("eth_blockNumber"), 16)
    seconds = _time_of(node, head - 3)
    with chains.serving_attested() as service:
        batch = service.submit({str(SOURCE): {f"timestamp:{seconds}": ENTRY}})
        _settled(service.chains(), batch)
        node.rpc.ask("anvil_rollback", DEEP)
        node.rpc.ask("anvil_mine", hex(DEEP), "0x1")  # as high as before, and not at that time
        service.work_until_it_says("no block after", batch)
        told = service.status(batch)
        assert (told["queryStatus"], told["waitCode"]) == ("IN_PROGRESS", "time_not_reached")
        (query,) = told["queries"]
        assert query["block"] is None
        assert [step["status"] for step in query["steps"]] == ["IN_PROGRESS", None, None, None]
        node.rpc.ask("anvil_mine", hex(2 * DEEP), "0x1")
        now = _last_at(node, seconds)
        for signer in SIGNERS[:2]:
            take(service.routes, word_of(service, chains, signer, now + 2))
        service.work(batch)
        (query,) = _queries(service, batch)
        assert query["block"] == str(now) != str(head - 3)


@pytest.fixture(params=[1, 3])
def elsewhere(service: Service, request: pytest.FixtureRequest) -> Iterator[Service]:
    """The same, whose prover asks a node that answers for another chain, which is faster or slower:
    by it the time's block lies beyond the head, or below its place.
    """
    with local_node() as another:
        # The times of the one begin before those of the other: they were not started at once.
        begin = _time_of(service.node, 0)
        another.rpc.ask("evm_setNextBlockTimestamp", hex(max(begin, _time_of(another, 0)) + 5))
        another.rpc.ask("anvil_mine", hex(40), hex(request.param))
        yield through(service, another.url)


def _named_wrongly(service: Service, elsewhere: Service) -> tuple[str, int]:
    """A batch that names a block by its time, which another chain's node places elsewhere."""
    block = service.head() - 3
    seconds = _time_of(service.node, block)
    batch = service.submit({str(CHAIN_ID): {f"timestamp:{seconds}": ENTRY}})
    _settled(elsewhere.chains(), batch)
    assert BlockJob.objects.get().block != block
    return batch, block


def test_a_node_that_answered_for_another_chain_has_nobody_rejected(
    service: Service, elsewhere: Service
) -> None:
    batch, block = _named_wrongly(service, elsewhere)
    service.work(batch)
    assert [query["block"] for query in _queries(service, batch)] == [str(block)]


def test_a_node_that_goes_on_answering_for_another_chain_is_told_as_lying(
    service: Service, elsewhere: Service
) -> None:
    """Of two that serve one chain, always the other one is asked."""
    batch, block = _named_wrongly(service, elsewhere)
    other = service.submit({str(CHAIN_ID): {f"block:{BlockJob.objects.get().block}": ENTRY}})
    _settled(service.chains(), other)
    wrong, right = elsewhere.chains(), service.chains()
    pauses = []
    for _ in range(TRIES_OF_LIES + 1):
        while not Batch.objects.exclude(look_again=None).exists() and work_once(right):
            pass
        row = Batch.objects.get(pk=batch)
        if row.look_again is None:
            break
        pauses.append(round((row.look_again - shared_now()).total_seconds()))
        assert service.waits(batch) == "time_looked_up_anew"
        Batch.objects.filter(pk=batch).update(look_again=shared_now())
        lease = claim_batch()
        assert lease
        assert settle(lease, wrong) is None
        lease.close()
    told = service.status(batch)
    assert (told["queryStatus"], told["code"], told["retryable"]) == ("REJECTED", "nodes_lie", True)
    assert told["step"] == "INITIAL_STATE"
    assert told["error"] == (
        f"The nodes of chain {CHAIN_ID} do not agree on which block was the last one at "
        f"{_time_of(service.node, block)}."
    )
    assert len(pauses) == TRIES_OF_LIES
    assert pauses == sorted(pauses)
    assert sum(pauses) > 120
    service.mine(20)
    service.work(other)
    assert service.status(other)["queryStatus"] == "DONE"


def test_a_query_that_is_misplaced_while_its_batch_is_settled_is_not_forgotten(
    service: Service,
) -> None:
    """Two jobs may find that at once; whoever settles for the first closes the batch then."""
    top = service.head()
    names = [f"timestamp:{_time_of(service.node, top - back)}" for back in (4, 3)]
    batch = service.submit({str(CHAIN_ID): dict.fromkeys(names, ENTRY)})
    chains = service.chains()
    _settled(chains, batch)
    _reorganise(service.node)
    chains = service.chains()  # which has not seen the head that is gone
    assert work_once(chains)
    Batch.objects.exclude(look_again=None).update(look_again=shared_now())
    lease = claim_batch()
    assert lease
    assert settle(lease, chains) is None
    while Query.objects.exclude(job=None).filter(misplaced=0).exists():
        assert work_once(chains)
    lease.close()
    service.work(batch)
    assert len(_queries(service, batch)) == 2
    assert claim_job() is None
