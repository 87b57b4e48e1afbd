"""Rows that several workers want are locked in one order: none waits for one that waits for it."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from queries import transitions
from queries.models import Batch, BlockJob
from queries.pipeline.leases import claim_batch, look_now
from queries.pipeline.settle import settle
from queries.statuses import StepName
from queries.transitions import Failure
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service

pytestmark = pytest.mark.django_db(transaction=True)
FAILURE = Failure("registry_refuses", "It does not.", StepName.HEADER_ACCUMULATED, retryable=False)


@pytest.fixture
def service(service: Service) -> Service:
    service.mine(80)
    service.chains().head(CHAIN_ID)
    return service


def _submit(service: Service, blocks: list[int]) -> str:
    entry = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
    return service.submit({str(CHAIN_ID): {f"block:{block}": entry for block in blocks}})


def test_jobs_are_added_in_the_order_of_their_blocks(service: Service) -> None:
    top = service.head()
    blocks = [top - (place * 37) % 71 for place in range(12)]
    _submit(service, blocks)
    lease = claim_batch()
    assert lease
    with CaptureQueriesContext(connection) as told:
        settle(lease, service.chains())
    (added,) = [
        each["sql"]
        for each in told.captured_queries
        if each["sql"].startswith("INSERT") and "queries_blockjob" in each["sql"]
    ]
    assert list(BlockJob.objects.order_by("pk").values_list("block", flat=True)) == sorted(blocks)
    numbers = re.findall(r"\b\d+\b", re.sub(r"\S+ \d+:\d+:[\d.+:]+", "", added))  # no time's
    named = [int(number) for number in numbers if int(number) in blocks]
    assert named == sorted(blocks)


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has one writer at a time")
def test_batches_jobs_and_queries_are_locked_in_their_order(service: Service) -> None:
    _submit(service, [service.head() - 1])
    with CaptureQueriesContext(connection) as told:
        transitions.reject(Batch.objects.values_list("pk", flat=True), FAILURE)
        look_now(BlockJob.objects.all())
    locking = [each["sql"] for each in told.captured_queries if "FOR UPDATE" in each["sql"]]
    assert len(locking) == 3
    assert all("ORDER BY" in each for each in locking)


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has one writer at a time")
def test_queries_are_locked_in_their_order_before_it_is_noted_whose_transaction_it_is(
    service: Service,
) -> None:
    batch = _submit(service, [service.head() - place for place in (1, 3)])
    with CaptureQueriesContext(connection) as told:
        service.work(batch)
    said = [each["sql"] for each in told.captured_queries]
    setting = re.compile(r'UPDATE "queries_query" SET "\w+_transaction')
    noted = [each for each in said if setting.match(each)]
    assert len(noted) > 2
    before = said[: said.index(noted[0])]
    stored = max(place for place, each in enumerate(before) if "queries_senttransaction" in each)
    locked = [each for each in before[:stored] if each.endswith("FOR UPDATE")]
    assert re.search('FROM "queries_query".* ORDER BY 1 ASC FOR', locked[-1])
