"""Feeds that are not due cost one query a poll, which reads by indexes."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Account
from accounts.wallets import Wallet
from queries.feeds.run import submit_due_runs
from queries.ids import is_ulid
from queries.models import Feed
from queries.statuses import CatchUp, FeedState, Trigger
from tests.queries.api.served_api import OPTIMISM, ROUTES, SEPOLIA, WALLET, record_head

pytestmark = pytest.mark.django_db
HEAD, COUNT = 1_000, 1_000


@pytest.fixture(autouse=True)
def feeds() -> None:
    """Half by time and half by block; some are due, but paused or ended."""
    now = timezone.now()
    owner, _ = Account.objects.get_or_create_for_wallet(Wallet(WALLET))
    record_head(SEPOLIA, number=HEAD, timestamp=int(now.timestamp()))
    rows = []
    for number in range(COUNT):
        is_idle = number % 20 > 1
        distance = 10 if is_idle else -10
        state = FeedState.ACTIVE if is_idle else FeedState.PAUSED
        is_time = number % 2 == 0
        row = Feed(
            id=f"01J2VM6JSA6VKKZ0ENWGY{number:05}", owner=owner, request="{}", source=SEPOLIA,
            trigger=Trigger.SECONDS if is_time else Trigger.BLOCKS, interval=100,
            due=(int(now.timestamp()) if is_time else HEAD) + distance, catch_up=CatchUp.LATEST,
            state=state, created_at=now, resumed_at=now,
        )  # fmt: skip
        assert is_ulid(row.pk)
        rows.append(row)
    Feed.objects.bulk_create(rows)


def test_a_poll_reads_a_thousand_idle_feeds_with_one_query(
    django_assert_num_queries: Callable[[int], AbstractContextManager[CaptureQueriesContext]],
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    poll = django_assert_num_queries(1 if connection.vendor == "sqlite" else 2)  # with the clock
    with poll as queries:
        submit_due_runs(ROUTES, [SEPOLIA, OPTIMISM])
    sql = queries.captured_queries[-1]["sql"]
    explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":  # it would rather scan so few rows
            cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"{explain} {sql}")
        plan = "\n".join(str(row) for row in cursor.fetchall())
    assert "queries_feed_due" in plan, plan
