"""What counts: the time towards `batch_max_age`, and failed attempts."""

from datetime import timedelta

import pytest

from queries.database.leases import Lease, claim_one
from queries.models import Batch
from queries.wait_reasons import WaitCode
from tests.queries.api.served_api import HERE, SEPOLIA, make_key, submitted

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls(HERE)]


def _claim() -> Lease[Batch]:
    lease = claim_one(Batch.objects.all())
    assert lease
    return lease


def _submit() -> None:
    data = {str(SEPOLIA): {"block:5186021": {"header": ["NONCE"]}}}
    submitted(make_key(), {"destinationChainId": str(SEPOLIA), "fee": "0", "data": data})


def test_an_expired_lease_counts_as_a_failed_attempt() -> None:
    """Otherwise each worker would begin with the slow node that let the last one's lease expire."""
    _submit()
    counts = []
    for _ in range(3):
        lease = _claim()
        counts.append((lease.row.failures, Batch.objects.get().failures))
        Batch.objects.update(lease_until=lease.row.submitted_at)
    assert counts == [(0, 0), (1, 1), (2, 2)]
    lease = _claim()
    lease.reschedule(timedelta(0))
    assert _claim().row.failures == 0


def test_an_exempt_wait_does_not_count_towards_batch_max_age() -> None:
    """Otherwise a daily budget that is spent now and then would let a batch wait for ever."""
    _submit()
    _claim().reschedule(timedelta(0), WaitCode.INTERNAL_ERROR.reason, counts_towards_max_age=True)
    lease = _claim()
    provable_since = lease.row.provable_since
    assert provable_since
    lease.reschedule(timedelta(hours=1), WaitCode.DAILY_BUDGET_SPENT.reason)
    Batch.objects.update(due_at=provable_since)
    lease = _claim()
    assert lease.row.provable_since == provable_since + timedelta(hours=1)
    lease.reschedule(timedelta(0), WaitCode.INTERNAL_ERROR.reason, counts_towards_max_age=True)
    assert Batch.objects.get().provable_since == provable_since + timedelta(hours=1)
