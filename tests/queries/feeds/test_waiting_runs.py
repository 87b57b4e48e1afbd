"""Runs that wait: for the budget, for a pause to end, and for their turn."""

import json
import time
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from ulid import ULID

from queries.database.clock import shared_now
from queries.feeds.scheduled_runs import insert_scheduled_runs
from queries.feeds.submit import FeedRunHandler
from queries.models import Batch, ChainRecord, Feed, FeedRun
from queries.planning.readers import ChainReaders
from queries.reading.changes import feed_changes
from tests.queries.api.served_api import (
    HERE,
    ROUTES,
    SEPOLIA,
    WALLET,
    made_feed,
    make_key,
    record_head,
)

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.urls(HERE),
    pytest.mark.either_database,
]
HEAD, EVERY, FEE = 1_000, 100, 10
LATER = HEAD + 20 * EVERY


class OwnFeed:
    """A feed of blocks, and its owner's requests."""

    def __init__(self, **more: Any) -> None:
        record_head(SEPOLIA, number=HEAD, timestamp=int(time.time()))
        data = {str(SEPOLIA): {"block:$due": {"accounts": {WALLET: {"props": ["BALANCE"]}}}}}
        batch = {"destinationChainId": str(SEPOLIA), "fee": str(FEE), "data": data}
        self.key = make_key()
        self.id = made_feed(self.key, {"every": f"{EVERY} blocks", "batch": batch, **more})

    @property
    def state(self) -> str:
        return Feed.objects.get().state

    def patch(self, **body: object) -> int:
        address, headers = f"/feeds/{self.id}", {"api-key": self.key}
        return (
            Client()
            .patch(address, json.dumps(body), "application/json", headers=headers)
            .status_code
        )

    def delete(self) -> None:
        answer = Client().delete(f"/feeds/{self.id}", headers={"api-key": self.key})
        assert answer.status_code == 200


def reach(block: int, **columns: object) -> None:
    """The source has this block now, and a prover has polled it."""
    ChainRecord.objects.update(number=block, **columns)
    insert_scheduled_runs(ChainRecord.objects.get(chain=SEPOLIA))


def work(*, as_if_later: bool = False) -> int:
    """Make passes over the runs that are due, each of them once; return how many."""
    if as_if_later:
        FeedRun.objects.exclude(due_at=None).update(due_at=shared_now())
    passes = 0
    while FeedRunHandler().work_once(ChainReaders(ROUTES)):
        passes += 1
    return passes


def submitted_dues() -> list[int]:
    runs = FeedRun.objects.exclude(batch=None).order_by("due")
    return list(runs.values_list("due", flat=True))


def test_the_budget_counts_runs_that_have_waited_for_long() -> None:
    OwnFeed(budget=str(FEE), catchUp="all")
    reach(LATER)
    first = int(ULID.from_datetime(timezone.now() - timedelta(days=8)))
    for number, key in enumerate(FeedRun.objects.order_by("id").values_list("pk", flat=True)):
        FeedRun.objects.filter(pk=key).update(id=str(ULID.from_int(first + number)))
    for _ in range(3):
        work(as_if_later=True)
    assert Batch.objects.count() == 1


def test_one_run_of_a_feed_is_tried_at_a_time() -> None:
    feed = OwnFeed(budget=str(FEE), catchUp="all")
    reach(LATER)
    assert work(as_if_later=True) == 1
    assert work(as_if_later=True) == 1  # it waits for the budget, and others for it
    assert submitted_dues() == [HEAD + EVERY]
    assert feed.patch(budget=str(100 * FEE)) == 200
    assert work() == 1  # the next one waits half of FEED_SECONDS
    assert submitted_dues() == [HEAD + EVERY, HEAD + 2 * EVERY]
    assert feed.patch(budget=str(101 * FEE)) == 200
    assert work() == 0


@pytest.mark.parametrize("catch_up", ["latest", "all"])
def test_a_run_that_waited_in_a_pause_is_replaced_or_made_up_for(catch_up: str) -> None:
    feed = OwnFeed(budget=str(FEE), catchUp=catch_up)
    reach(HEAD + EVERY)
    work()
    reach(HEAD + 2 * EVERY)
    work(as_if_later=True)
    assert FeedRun.objects.filter(submitted_at=None).count() == 1
    assert feed.patch(state="PAUSED") == 200
    reach(LATER)
    assert work(as_if_later=True) == 0
    assert feed.patch(state="ACTIVE", budget=str(100 * FEE)) == 200
    work()  # before the next poll
    reach(LATER)
    while work(as_if_later=True):
        pass
    every = list(range(HEAD + EVERY, LATER + 1, EVERY))
    assert submitted_dues() == (every if catch_up == "all" else [every[0], every[-1]])


def test_a_feed_ends_once_its_last_run_was_submitted() -> None:
    feed = OwnFeed(budget=str(FEE), until=int(time.time()) + 5)
    reach(HEAD + EVERY)
    work()
    reach(HEAD + 2 * EVERY)
    work(as_if_later=True)
    after = {"timestamp": int(time.time()) + 1_000, "block_seconds": 12.0}
    reach(HEAD + 3 * EVERY, **after)
    assert feed.state == "ACTIVE"
    assert feed.patch(budget=str(100 * FEE)) == 200
    work(as_if_later=True)
    reach(HEAD + 3 * EVERY, **after)
    assert feed.state == "ENDED"
    assert len(submitted_dues()) == 2


def test_a_feed_that_is_ended_submits_no_run_that_waits() -> None:
    feed = OwnFeed(budget=str(FEE), catchUp="all")
    reach(LATER)
    work()
    feed.delete()
    assert work(as_if_later=True) == 0
    assert not FeedRun.objects.filter(submitted_at=None).exists()


def test_pages_notice_runs_behind_those_that_wait() -> None:
    feed = OwnFeed(catchUp="all")
    reach(HEAD + 60 * EVERY)
    work()
    before = feed_changes(feed.id, 30)
    work(as_if_later=True)
    assert feed_changes(feed.id, 30) != before
