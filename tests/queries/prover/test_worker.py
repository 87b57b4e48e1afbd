"""What a pass has found and its outcome are stored together, and only under the job's lease."""

from collections.abc import Iterator

import pytest
from django.db import transaction

from queries.database.handler import Outcome, Wait
from queries.database.leases import Lease, LeaseLostError, claim_one
from queries.facts import facts_of
from queries.intake.cancel import cancel
from queries.models import Batch, BlockJob, Fact, Query
from queries.prover.batches import BatchHandler
from queries.prover.job_pass import Findings
from queries.prover.jobs import JobHandler
from queries.prover.outcomes import Reject
from queries.proving.keccak import number_word
from queries.statuses import StepName
from queries.transitions import Failure
from queries.wait_reasons import WaitCode
from tests.queries.prover.service import HOLDER, Service

pytestmark = pytest.mark.django_db(transaction=True)
FAILURE = Failure("refused", "Refused.", StepName.HEADER_ACCUMULATED, retryable=False)


@pytest.fixture
def lease(service: Service) -> Iterator[Lease[BlockJob]]:
    """A claimed job that one batch waits for."""
    service.ask_balance(HOLDER, service.head() - 2)
    context = service.context()
    assert BatchHandler().work_once(context)
    job = claim_one(BlockJob.objects.all())
    assert job is not None
    yield job
    context.close()


def _release(
    service: Service, lease: Lease[BlockJob], outcome: Outcome | None, findings: Findings
) -> None:
    with transaction.atomic():
        findings.store()
        JobHandler().release(lease, outcome, service.routes.limits)


def test_the_step_and_the_wait_are_stored_together(
    service: Service, lease: Lease[BlockJob]
) -> None:
    findings = Findings(lease)
    findings.reach(StepName.HEADER_ACCUMULATED)
    _release(service, lease, Wait(WaitCode.CONFIRMING.reason), findings)
    query, job = Query.objects.get(), BlockJob.objects.get()
    assert query.blockhash_available_completed_at
    assert query.header_accumulated_began_at
    assert not query.header_accumulated_completed_at
    assert query.batch.status == "IN_PROGRESS"
    assert (job.lease_token, job.wait_code) == ("", "confirming")


@pytest.mark.parametrize("is_rejected", [True, False])
def test_a_worker_that_lost_its_lease_stores_nothing(
    service: Service, lease: Lease[BlockJob], *, is_rejected: bool
) -> None:
    BlockJob.objects.update(lease_token="another")
    findings = Findings(lease)
    if not is_rejected:
        findings.reach(StepName.ACCOUNT_ACCUMULATED)
        findings.proven_queries = [1]
    outcome = Reject.create(list(Query.objects.all()), FAILURE) if is_rejected else None
    with pytest.raises(LeaseLostError):
        _release(service, lease, outcome, findings)
    query = Query.objects.get()
    assert (query.has_ended, query.initial_state_completed_at) == (False, None)
    assert not Fact.objects.exclude(word=None).exists()
    assert query.batch.status == "ACCEPTED"
    assert BlockJob.objects.get().lease_token == "another"


def test_an_ended_batch_stays_as_it_ended(service: Service, lease: Lease[BlockJob]) -> None:
    """Its owner cancelled it while the pass was under way."""
    queries = list(Query.objects.all())
    cancel(queries[0].batch.owner, queries[0].batch_id)
    assert Batch.objects.get().error_code == "cancelled"
    words = {fact: number_word(0) for fact in facts_of(queries[0]).values()}
    findings = Findings(lease, proven_queries=[queries[0].pk], words=words)
    _release(service, lease, Reject.create(queries, FAILURE), findings)
    batch = Batch.objects.get()
    assert (batch.status, batch.error_code) == ("REJECTED", "cancelled")
    assert not Fact.objects.exclude(word=None).exists()
    assert BlockJob.objects.get().due_at is None
