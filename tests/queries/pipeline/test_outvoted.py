"""What two of three nodes agree on ends a batch, whatever the third one says in its turns; what one
says alone never does.
"""

import itertools
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from queries.models import Batch, BlockJob, SentTransaction
from queries.pipeline import chains as chains_of_a_worker
from queries.pipeline.worker import work_once
from tests.queries.pipeline.between import Handle, between, retold
from tests.queries.pipeline.provers import impatient, through
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service, running_service
from tests.queries.pipeline.test_a_bad_node_first import refuses_to_estimate
from tests.queries.pipeline.test_heard_from_all import (
    AWAY,
    BALANCE,
    is_beyond_reach,
    made_up_header,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
MOST_LOOKS = 40
Bad = Callable[[Service], Handle]


@pytest.fixture(autouse=True)
def _doubts_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that has nothing failed is asked first until it has stood still for so long."""
    monkeypatch.setattr(chains_of_a_worker, "STANDS_STILL_AFTER", 0.5)


def is_far_behind(_: Service) -> Handle:
    """Nothing is final, as it says, which is no failure."""

    def change(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_getBlockByNumber" and asked["params"][0] == "latest":
            answer["result"] |= {"number": "0x1", "timestamp": "0x1"}

    return retold(change)


def says_now_this_and_now_that(_: Service) -> Handle:
    """It refuses each time, and each time otherwise."""
    errors = itertools.cycle(
        [
            {"code": -32000, "message": "exceeds block gas limit"},
            {"code": 3, "message": "execution reverted", "data": "0x"},
        ]
    )

    def change(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_estimateGas":
            answer.pop("result", None)
            answer["error"] = next(errors)

    return retold(change)


def begins_late(service: Service) -> Handle:
    """With a first block after the time that is asked for."""
    late = (service.chains().head(CHAIN_ID).timestamp - 2).to_bytes(4)
    first = made_up_header(service.header(0), timestamp=late)
    parent = bytes.fromhex(first["hash"][2:])
    second = made_up_header(service.header(1), timestamp=late, parentHash=parent)
    told = {"0x0": first, "0x1": second}

    def change(asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_getBlockByNumber" and asked["params"][0] in told:
            answer["result"] = told[asked["params"][0]]

    return retold(change)


def looks_until_ended(prover: Service, batch: str, most: int = MOST_LOOKS) -> int:
    """How many it took until the batch had ended, without their pauses."""
    chains = prover.chains()
    for looks in range(most):
        if Batch.objects.filter(pk=batch).exclude(ended=None).exists():
            return looks
        prover.look_now()
        work_once(chains)
    return most


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(
    ("two", "one", "code"),
    [
        (is_beyond_reach, refuses_to_estimate, "block_out_of_reach"),
        (is_beyond_reach, is_far_behind, "block_out_of_reach"),
        (is_beyond_reach, says_now_this_and_now_that, "block_out_of_reach"),
        (refuses_to_estimate, is_beyond_reach, "registry_refuses"),
        (refuses_to_estimate, is_far_behind, "registry_refuses"),
    ],
)
def test_what_two_agree_on_ends_it(
    service: Service, two: Bad, one: Bad, code: str, place: int
) -> None:
    with ExitStack() as stack:
        nodes = [stack.enter_context(between(service.node.url, two(service)))[0] for _ in range(2)]
        nodes.insert(place, stack.enter_context(between(service.node.url, one(service)))[0])
        prover = through(service, *nodes)
        batch = prover.ask_balance(HOLDER, service.head() - 2)
        looks = looks_until_ended(prover, batch)
    assert looks < MOST_LOOKS, BlockJob.objects.values_list("heard").get()
    assert Batch.objects.get(pk=batch).error_code == code
    assert not SentTransaction.objects.exists()


@pytest.mark.parametrize("place", [0, 1, 2])
def test_so_does_it_where_a_time_is_looked_up(service: Service, place: int) -> None:
    seconds = service.chains().head(CHAIN_ID).timestamp - 3
    with ExitStack() as stack:
        late, behind = begins_late(service), is_far_behind(service)
        nodes = [stack.enter_context(between(service.node.url, late))[0] for _ in range(2)]
        nodes.insert(place, stack.enter_context(between(service.node.url, behind))[0])
        prover = through(service, *nodes)
        batch = prover.submit({str(CHAIN_ID): {f"timestamp:{seconds}": BALANCE}})
        looks = looks_until_ended(prover, batch)
    assert looks < MOST_LOOKS, Batch.objects.values_list("heard").get()
    assert Batch.objects.get(pk=batch).error_code == "time_too_early"


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("third_is_away", [False, True])
def test_what_one_says_alone_does_not_while_the_others_wait(
    service: Service, monkeypatch: pytest.MonkeyPatch, place: int, *, third_is_away: bool
) -> None:
    """Nor where it answers in the turns of one that is away as well."""
    impatient(monkeypatch, patience=0)
    with running_service(service.node, finality=8) as waiting:
        with between(service.node.url, is_beyond_reach(service)) as (address, _):
            nodes = [service.node.url, AWAY if third_is_away else service.node.url]
            nodes.insert(place, address)
            prover = through(waiting, *nodes)
            batch = prover.ask_balance(HOLDER, service.head() - 2)
            prover.work_until(BlockJob.objects.exists)
            BlockJob.objects.update(heard=[("nodes_unreachable", [CHAIN_ID])])
            looks_until_ended(prover, batch)
            assert Batch.objects.get(pk=batch).error_code == ""
            service.mine(20)
            assert looks_until_ended(prover, batch, most=4 * MOST_LOOKS) < 4 * MOST_LOOKS
        assert waiting.status(batch)["queryStatus"] == "DONE"
