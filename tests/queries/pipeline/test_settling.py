"""A batch whose worker died while it settled it."""

from collections.abc import Iterator

import pytest

from queries.chain.local_node import LocalNode
from queries.models import BlockJob
from queries.pipeline.queue import claim_batch
from queries.pipeline.settle import settle
from tests.queries.pipeline.service import CHAIN_ID, Service, running_service

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def service(shared_node: LocalNode) -> Iterator[Service]:
    with running_service(shared_node) as running:
        running.mine(12)
        running.chains().head(CHAIN_ID)
        yield running


def test_a_batch_whose_worker_died_in_the_middle_is_settled_by_the_next_one(
    service: Service,
) -> None:
    entry = {"accounts": {f"0x{1:040x}": {"props": ["NONCE"]}}}
    top = service.head()
    batch = service.submit({str(CHAIN_ID): {f"block:{top - n}": entry for n in (1, 2)}})
    lease = claim_batch()
    assert lease
    lease.row.queries.filter(block=top - 1).update(
        job=BlockJob.objects.create(source=CHAIN_ID, destination=CHAIN_ID, block=top - 1)
    )
    assert settle(lease, service.chains()) is None
    jobs = BlockJob.objects.filter(queries__batch=batch)
    assert set(jobs.exclude(look_again=None).values_list("block", flat=True)) == {top - 1, top - 2}
