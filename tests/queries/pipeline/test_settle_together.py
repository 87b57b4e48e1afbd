"""Small batches alike are settled together; what is not alike is settled alone."""

import math
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from queries.chain.local_node import LocalNode
from queries.models import Batch, BlockJob, Query
from queries.pipeline.leases import Lease, LeaseLost, claim_batch, close_batches
from queries.pipeline.settle import attach
from queries.pipeline.settle_together import AT_ONCE, SMALL, claim_alike, settle_together
from queries.pipeline.worker import work_once
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service, running_service

pytestmark = pytest.mark.django_db(transaction=True)

A_BALANCE = {"props": ["BALANCE"]}


@pytest.fixture
def service(shared_node: LocalNode) -> Iterator[Service]:
    with running_service(shared_node) as running:
        running.mine(12)
        running.chains().head(CHAIN_ID)
        yield running


def _ask(service: Service, block: str, accounts: dict[str, Any] | None = None) -> str:
    entry = {"accounts": accounts or {HOLDER: A_BALANCE}}
    return service.submit({str(CHAIN_ID): {block: entry}})


def _claimed() -> Lease[Batch]:
    lease = claim_batch()
    assert lease
    return lease


def _statements(service: Service, batches: int) -> int:
    """Of settling so many batches of one block, once one of them is claimed; but for PostgreSQL's
    clock, which is asked once a second.
    """
    block = service.head() - 2
    named = [_ask(service, f"block:{block}") for _ in range(batches)]
    chains = service.chains()
    chains.head(CHAIN_ID)  # so that it is not noted between
    first = _claimed()
    with CaptureQueriesContext(connection) as told:
        leases = claim_alike(first, chains)
        settle_together(leases)
    assert sorted(lease.row.pk for lease in leases) == sorted(named)
    _are_settled(named, block)
    return sum("CLOCK_TIMESTAMP" not in each["sql"] for each in told.captured_queries)


def _are_settled(batches: list[str], block: int) -> None:
    rows = Batch.objects.filter(pk__in=batches)
    assert set(rows.values_list("status", "lease_token", "look_again")) == {("ACCEPTED", "", None)}
    job = BlockJob.objects.get(block=block)
    assert job.look_again is not None
    queries = Query.objects.filter(batch__in=batches)
    assert list(queries.values_list("job", flat=True)) == [job.pk] * len(batches)


def test_many_of_one_block_take_as_many_statements_as_two(service: Service) -> None:
    assert _statements(service, 2) == _statements(service, 20)


def test_what_is_not_alike_is_left_to_be_settled_alone(service: Service) -> None:
    top = service.head()
    seconds = int(service.header(top - 9)["timestamp"], 16)
    many = {f"0x{place:040x}": A_BALANCE for place in range(1, SMALL["asked_queries__lte"] + 2)}
    first = _ask(service, f"block:{top - 1}")
    alike = _ask(service, f"block:{top - 2}")
    blocks = SMALL["asked_blocks__lte"] + 1
    entry = {"accounts": {HOLDER: A_BALANCE}}
    failed = _ask(service, f"block:{top - 8}")
    Batch.objects.filter(pk=failed).update(failures=1)
    others = [
        failed,
        service.submit({str(CHAIN_ID): {f"block:{top - n}": entry for n in range(blocks)}}),
        _ask(service, f"timestamp:{seconds}"),
        _ask(service, f"block:{top - 3}", many),
    ]
    by_name = _ask(service, f"block:{top - 4}")
    Query.objects.filter(batch=by_name).update(account="", name="vault.eth")
    elsewhere = _ask(service, f"block:{top - 5}")
    Batch.objects.filter(pk=elsewhere).update(destination=5)
    of_another = _ask(service, f"block:{top - 6}")
    Query.objects.filter(batch=of_another).update(source=5)
    ahead = _ask(service, f"block:{top - 7}")
    Query.objects.filter(batch=ahead).update(block=top + 5)
    Batch.objects.filter(pk=first).update(turn=Batch.objects.get(pk=first).turn - timedelta(1))
    lease = _claimed()
    assert lease.row.pk == first
    leases = claim_alike(lease, service.chains())
    assert [each.row.pk for each in leases] == [first, alike]
    settle_together(leases)
    left = {*others, by_name, elsewhere, of_another, ahead}
    while lease_of_another := claim_batch():
        assert not claim_alike(lease_of_another, service.chains())
        left.remove(lease_of_another.row.pk)
        lease_of_another.look_again(timedelta(hours=1))
    assert not left


def test_a_block_has_the_turn_of_the_first_who_names_it(service: Service) -> None:
    block = service.head() - 3
    batches = [_ask(service, f"block:{block}") for _ in range(3)]
    turns = Batch.objects.filter(pk__in=batches).values_list("turn", flat=True)
    settle_together(claim_alike(_claimed(), service.chains()))
    assert BlockJob.objects.get(block=block).turn == min(turns)


def test_where_another_worker_has_one_of_them_nothing_is_closed(service: Service) -> None:
    batches = [_ask(service, f"block:{service.head() - 4}") for _ in range(3)]
    leases = claim_alike(_claimed(), service.chains())
    lost = Batch.objects.filter(pk=leases[-1].row.pk)
    lost.update(lease_token="another's")  # noqa: S106
    with pytest.raises(LeaseLost):
        settle_together(leases)
    assert set(Batch.objects.values_list("status", flat=True)) == {"RECEIVED"}
    assert Batch.objects.exclude(look_again=None).count() == 3
    # As when their worker died.
    Batch.objects.update(lease_until=None, lease_token="")
    service.work(*batches)
    assert {service.status(each)["queryStatus"] for each in batches} == {"DONE"}


def test_a_batch_one_of_whose_queries_has_no_job_is_looked_at_again(service: Service) -> None:
    """It lost it meanwhile to a worker that found another block at its time."""
    block = service.head() - 5
    batches = [_ask(service, f"block:{block}") for _ in range(2)]
    leases = claim_alike(_claimed(), service.chains())
    rows = [lease.row for lease in leases]
    attach(rows, {(CHAIN_ID, block): rows[0].turn})
    row = Query.objects.get(batch=batches[1])
    row.pk, row.place, row.timestamp, row.block, row.job = None, 7, 5, None, None
    row.save()
    held = Batch.objects.filter(pk__in=batches, lease_token=leases[0].token)
    close_batches(held)
    assert [each.look_again is None for each in Batch.objects.order_by("pk")] == [True, False]
    assert not Batch.objects.exclude(lease_token="").exists()


def test_a_prover_takes_a_backlog_in_few_steps(service: Service) -> None:
    for _ in range(AT_ONCE + 20):
        _ask(service, f"block:{service.head() - 6}")
    chains = service.chains()
    steps = 0
    while Batch.objects.filter(status="RECEIVED").exists():
        work_once(chains)
        steps += 1
    assert steps <= 4
    assert chains.settles_until < math.inf
    service.work(*Batch.objects.values_list("pk", flat=True), chains=chains)
    assert set(Batch.objects.values_list("status", flat=True)) == {"DONE"}
