"""A proof that a registry is said to refuse: nobody is rejected for the word of one node."""

from collections.abc import Iterator
from typing import Any

import pytest

from queries.chain.local_node import LocalNode
from queries.models import Batch, BlockJob
from tests.queries.pipeline.between import between, retold
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service, running_service

pytestmark = pytest.mark.django_db(transaction=True)
REVERTED = {"code": 3, "message": "execution reverted"}


@pytest.fixture
def service(shared_node: LocalNode) -> Iterator[Service]:
    with running_service(shared_node) as running:
        running.mine(12)
        running.chains().head(CHAIN_ID)
        yield running


class Refuses:
    """Every call, as if the registry did, as long as it lies."""

    def __init__(self) -> None:
        self.lies, self.told = True, 0

    def __call__(self, asked: Any, answer: Any) -> None:
        if self.lies and asked["method"] == "eth_estimateGas":
            answer.pop("result", None)
            answer["error"] = REVERTED
            self.told += 1


def test_what_failed_before_is_not_counted_as_refused(service: Service) -> None:
    batch = service.ask_balance(HOLDER, service.head() - 2)
    refuses = Refuses()
    with between(service.node.url, retold(refuses)) as (address, _):
        prover = through(service, address)
        prover.work_until(Batch.objects.filter(pk=batch, status="ACCEPTED").exists)
        BlockJob.objects.update(failures=9, wait_code="nodes_unreachable")
        prover.work_until(BlockJob.objects.filter(wait_code="registry_refuses").exists)
        assert service.waits(batch) == "registry_refuses"
        assert BlockJob.objects.get().failures == 1
        refuses.lies = False
        prover.work(batch)
    assert service.status(batch)["queryStatus"] == "DONE"


def test_another_node_is_asked_when_one_says_so(service: Service) -> None:
    batch = service.ask_balance(HOLDER, service.head() - 2)
    refuses = Refuses()
    with between(service.node.url, retold(refuses)) as (address, _):
        through(service, address, service.node.url).work(batch)
    assert refuses.told
    assert service.status(batch)["queryStatus"] == "DONE"


def test_where_all_say_so_it_is_rejected(service: Service) -> None:
    batch = service.ask_balance(HOLDER, service.head() - 2)
    with between(service.node.url, retold(Refuses())) as (address, _):
        through(service, address).work(batch)
    told = service.status(batch)
    assert (told["queryStatus"], told["code"]) == ("REJECTED", "registry_refuses")
