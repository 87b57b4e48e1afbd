"""What settling a batch reads: its queries once, however many they are."""

import re
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from queries.chain.local_node import LocalNode
from queries.models import Batch, BlockJob
from queries.pipeline.leases import claim_batch
from queries.pipeline.settle import settle
from tests.queries.pipeline.service import CHAIN_ID, Service, running_service

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def service(shared_node: LocalNode) -> Iterator[Service]:
    with running_service(shared_node) as running:
        running.mine(12)
        running.chains().head(CHAIN_ID)
        yield running


def _statements(service: Service, blocks: list[str], accounts: int) -> list[str]:
    """Of settling a batch of so many accounts in each of these blocks."""
    entry = {"accounts": {f"0x{n:040x}": {"props": ["NONCE"]} for n in range(1, accounts + 1)}}
    batch = service.submit({str(CHAIN_ID): dict.fromkeys(blocks, entry)})
    chains = service.chains()
    chains.head(CHAIN_ID)  # so that it is not noted between
    lease = claim_batch()
    assert lease
    with CaptureQueriesContext(connection) as told:
        assert settle(lease, chains) is None
    lease.close()
    assert Batch.objects.get(pk=batch).status == "ACCEPTED"
    return [each["sql"] for each in told.captured_queries]


def test_queries_are_read_once_whatever_a_batch_asks_for(service: Service) -> None:
    top = service.head()
    seconds = int(service.header(top - 9)["timestamp"], 16)
    small = _statements(service, [f"block:{top - 1}"], 1)
    large = _statements(service, [f"block:{top - 2}"], 60)
    assert len(large) == len(small)
    blocks = [f"block:{top - place}" for place in (3, 4, 5)]
    several = _statements(service, [*blocks, f"timestamp:{seconds}"], 2)
    # Each block more is attached to its job, and one that is named by its time is noted.
    assert len(several) == len(small) + 3 + 1
    for statements in (small, large, several):
        reading = re.compile(r'SELECT .*FROM "queries_query"', re.DOTALL)
        assert len([each for each in statements if reading.match(each)]) == 1
    assert BlockJob.objects.filter(block=top - 9, queries__timestamp=seconds).exists()


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
