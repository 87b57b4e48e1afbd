"""Batches for which no node has to be asked are settled in groups; all others alone."""

from collections.abc import Iterator
from datetime import timedelta
from unittest.mock import Mock

import pytest
from django.conf import LazySettings
from django.db import OperationalError

from queries import transitions
from queries.chain.local_node import LocalNode
from queries.models import Batch, BlockJob, Query
from queries.pipeline.queue import Lease, claim, claim_batch
from queries.pipeline.settle import attach, settle
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


def _ask(service: Service, block: str) -> str:
    return service.submit({str(CHAIN_ID): {block: {"accounts": {HOLDER: A_BALANCE}}}})


def _claimed() -> Lease[Batch]:
    lease = claim_batch()
    assert lease
    return lease


def _received() -> set[str]:
    return set(Batch.objects.filter(status="RECEIVED").values_list("pk", flat=True))


def test_what_asks_a_node_or_goes_elsewhere_is_left_to_be_settled_alone(service: Service) -> None:
    top = service.head()
    seconds = int(service.header(top - 9)["timestamp"], 16)
    first = _ask(service, f"block:{top - 1}")
    _ask(service, f"block:{top - 2}")
    by_time = _ask(service, f"timestamp:{seconds}")
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
    assert settle(lease, service.chains()) is None
    assert _received() == {by_time, by_name, elsewhere, of_another, ahead}


def test_a_group_asks_for_no_more_than_the_largest_batch(
    service: Service, settings: LazySettings
) -> None:
    settings.BATCH_ACCOUNTS = 3
    for _ in range(5):
        _ask(service, f"block:{service.head() - 2}")
    settle(_claimed(), service.chains())
    assert len(_received()) == 2


def test_a_block_has_the_turn_of_the_first_batch_that_names_it(service: Service) -> None:
    block = service.head() - 3
    batches = [_ask(service, f"block:{block}") for _ in range(3)]
    turns = Batch.objects.filter(pk__in=batches).values_list("turn", flat=True)
    settle(_claimed(), service.chains())
    assert BlockJob.objects.get(block=block).turn == min(turns)


def test_a_batch_that_another_worker_has_by_now_is_left_to_it(service: Service) -> None:
    batches = [_ask(service, f"block:{service.head() - 4}") for _ in range(3)]
    leases = claim(Batch.objects.all(), 3)
    lost = Batch.objects.filter(pk=leases[-1].row.pk)
    lost.update(lease_token="another's")  # noqa: S106
    attach(leases)
    assert _received() == {leases[-1].row.pk}
    assert Batch.objects.exclude(look_again=None).get().lease_token == "another's"  # noqa: S105
    # As when their worker died.
    Batch.objects.update(lease_until=None, lease_token="")
    service.work(*batches)
    assert {service.status(each)["queryStatus"] for each in batches} == {"DONE"}


def test_a_prover_takes_a_backlog_in_few_steps(service: Service) -> None:
    for _ in range(70):
        _ask(service, f"block:{service.head() - 6}")
    chains = service.chains()
    steps = 0
    while _received():
        work_once(chains)
        steps += 1
    assert steps == 1
    service.work(*Batch.objects.values_list("pk", flat=True), chains=chains)
    assert set(Batch.objects.values_list("status", flat=True)) == {"DONE"}


def test_when_they_cannot_be_attached_only_the_first_one_stays_leased(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        _ask(service, f"block:{service.head() - 7}")
    lease = _claimed()
    monkeypatch.setattr(transitions, "accept", Mock(side_effect=OperationalError))
    with pytest.raises(OperationalError):
        settle(lease, service.chains())
    assert list(Batch.objects.exclude(lease_token="")) == [lease.row]
