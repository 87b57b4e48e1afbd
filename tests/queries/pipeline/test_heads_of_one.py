"""A batch that was taken unseen lies beyond no head that one node alone tells of."""

from typing import Any

import pytest

from queries.models import Batch, Head
from queries.pipeline import chains as chains_of_a_worker
from queries.pipeline.leases import claim_batch
from queries.pipeline.settle import LOOKS_AT_THE_FUTURE, settle
from queries.pipeline.verdicts import LOOKS_WITH_ONE
from queries.pipeline.worker import work_once
from tests.queries.pipeline.between import Change, between, retold
from tests.queries.pipeline.provers import impatient, through
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service
from tests.queries.pipeline.test_heard_from_all import AWAY, BALANCE

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]


@pytest.fixture
def batch(service: Service, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of a block that is there; no head is known when it is asked for."""
    impatient(monkeypatch, patience=0)
    service.mine(400)
    Head.objects.all().delete()
    return service.ask_balance(HOLDER, service.head() - 2)


def is_behind(asked: Any, answer: Any) -> None:
    if asked["method"] == "eth_getBlockByNumber" and asked["params"][0] == "latest":
        answer["result"] |= {"number": "0x1", "timestamp": "0x1"}


def is_busy(asked: Any, answer: Any) -> None:
    """For all but what tells whether it answers."""
    if asked["method"] not in {"eth_blockNumber", "eth_chainId"}:
        answer.pop("result", None)
        answer["error"] = {"code": -32005, "message": "request rate limited"}


def _looks(prover: Service, batch: str) -> int:
    """Until it ended, without their pauses."""
    chains = prover.chains()
    for looks in range(2 * LOOKS_WITH_ONE):
        if Batch.objects.get(pk=batch).ended:
            return looks
        prover.look_now()
        work_once(chains)
    raise AssertionError("it has not ended")


@pytest.mark.parametrize("others", [1, 2])
@pytest.mark.parametrize("other", [None, is_busy], ids=["away", "busy"])
def test_while_the_others_say_nothing_one_is_asked_for_some_minutes(
    service: Service, batch: str, other: Change | None, others: int
) -> None:
    url = service.node.url
    with (
        between(url, retold(is_behind)) as (behind, _),
        between(url, retold(other or is_behind)) as (busy, _),
    ):
        prover = through(service, behind, *[busy if other else AWAY] * others)
        assert _looks(prover, batch) >= LOOKS_WITH_ONE
    assert service.status(batch)["code"] == "block_beyond_head"


def test_others_are_asked_once_for_all_blocks_of_a_batch(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that hangs would be waited for at each, and a look take longer than its lease."""
    impatient(monkeypatch, patience=0)
    service.mine(400)
    Head.objects.all().delete()
    many = range(service.head() - 30, service.head() - 10)
    service.submit({str(CHAIN_ID): {f"block:{block}": BALANCE for block in many}})
    url, asked_for_heads = service.node.url, list[object]()

    def count(asked: Any, _answer: Any) -> None:
        if asked["method"] == "eth_getBlockByNumber" and asked["params"][0] == "latest":
            asked_for_heads.append(asked)

    with between(url, retold(is_behind)) as (behind, _), between(url, retold(count)) as (other, _):
        chains = through(service, behind, other).chains()
        lease = claim_batch()
        assert lease
        settle(lease, chains)
        assert len(asked_for_heads) == 1
        chains.close()


@pytest.mark.parametrize("looks", [LOOKS_WITH_ONE - 2, LOOKS_WITH_ONE - 1])
def test_when_they_are_back_it_is_proven(
    service: Service, batch: str, monkeypatch: pytest.MonkeyPatch, looks: int
) -> None:
    """Also where the one that is behind is asked first, again and again."""
    monkeypatch.setattr(chains_of_a_worker, "COMPARED_EVERY", 1.0)
    with between(service.node.url, retold(is_behind)) as (behind, _):
        chains = through(service, behind, AWAY).chains()
        while Batch.objects.get(pk=batch).looks < looks:
            service.look_now()
            work_once(chains)
        assert service.waits(batch) == "block_not_final"
        service.look_now()
        through(service, behind, service.node.url).work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"


@pytest.mark.parametrize("count", [1, 2, 3])
def test_two_are_believed_as_soon_as_the_only_one(service: Service, batch: str, count: int) -> None:
    """Also where a third one is away."""
    with between(service.node.url, retold(is_behind)) as (behind, _):
        listed = [behind] * count if count < 3 else [behind, AWAY, behind]
        assert _looks(through(service, *listed), batch) == LOOKS_AT_THE_FUTURE
    assert service.status(batch)["code"] == "block_beyond_head"
