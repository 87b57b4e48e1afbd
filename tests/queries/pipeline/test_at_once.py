"""A look at a block is at what one batch may ask for, and who asks for little is not the last."""

from datetime import timedelta

import pytest
from django.conf import LazySettings
from eth_account import Account as Key
from ulid import ULID

from accounts.models import Account
from accounts.wallets import Wallet
from queries.models import Batch, BlockJob, Query
from queries.pipeline.queue import OF_A_QUERY, looked_at_now, shared_now

pytestmark = pytest.mark.django_db


def _asked(job: BlockJob, queries: int, *, slots: int = 0, turn: int = 0) -> list[int]:
    """Keys, of a batch whose turn comes so many seconds from now."""
    owner, _ = Account.objects.of_wallet(Wallet(Key.create().address))
    now = shared_now()
    batch = Batch.objects.create(
        id=str(ULID()), owner=owner, destination=1, fee=64 * "0", submitted=now,
        turn=now + timedelta(seconds=turn),
    )  # fmt: skip
    return [
        Query.objects.create(
            batch=batch,
            place=place,
            source=1,
            job=job,
            block=job.block,
            slot_count=slots,
            initial_state_began=now,
        ).pk
        for place in range(queries)
    ]


@pytest.fixture
def job(settings: LazySettings) -> BlockJob:
    settings.BATCH_ACCOUNTS, settings.BATCH_SLOTS = 10, 100
    return BlockJob.objects.create(source=1, destination=1, block=7)


def test_all_of_the_largest_batch_is_looked_at_together(job: BlockJob) -> None:
    header_and_accounts = _asked(job, 1 + 10, slots=0)
    assert looked_at_now(job) == header_and_accounts
    Query.objects.filter(pk__in=header_and_accounts[1:]).update(slot_count=10)
    assert looked_at_now(job) == header_and_accounts


def test_what_two_ask_for_is_looked_at_one_after_the_other(job: BlockJob) -> None:
    first = _asked(job, 10, slots=10)
    second = _asked(job, 10, slots=10, turn=1)
    assert looked_at_now(job)[:10] == first
    assert len(looked_at_now(job)) < 10 + 3
    Query.objects.filter(pk__in=first).update(ended=True)
    assert looked_at_now(job) == second


def test_who_asks_for_little_is_looked_at_with_the_first(job: BlockJob) -> None:
    for _ in range(5):
        _asked(job, 10, slots=10, turn=60)
    mine = _asked(job, 1, turn=0)
    assert mine[0] in looked_at_now(job)


def test_one_that_asks_for_more_than_is_allowed_by_now_is_looked_at_alone(
    job: BlockJob, settings: LazySettings
) -> None:
    settings.BATCH_ACCOUNTS, settings.BATCH_SLOTS = 1, 0
    wide = _asked(job, 1, slots=100)
    _asked(job, 1, turn=1)
    assert looked_at_now(job) == wide


def test_no_more_rows_are_read_than_are_looked_at(job: BlockJob) -> None:
    _asked(job, 50)
    assert len(looked_at_now(job)) <= (10 * OF_A_QUERY + 100) // OF_A_QUERY + 1
