"""Feeds that run `every` so often: they are due at the multiples of their interval, in blocks of
their source or in Unix time.
"""

import math
from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import Q

from queries.database.clock import shared_now
from queries.feeds.bodies import scheduled_run
from queries.feeds.runs import (
    BLOCKS,
    SECONDS,
    NewRun,
    delete_excess_runs,
    end_past_feeds,
    insert_runs,
    replace_waiting_run,
)
from queries.feeds.trigger import Trigger, interval_frequency, last_due, refuse_short_interval
from queries.models import ChainRecord, Feed
from queries.schema.feed_bodies import Interval, TriggerBody
from queries.schema.paths import WHOLE_BODY
from queries.statuses import CatchUp, FeedState

MAX_MISSED_RUNS = 100  # that a feed makes up for
FEEDS_AT_ONCE = 100  # in a database transaction


class Blocks(Trigger):
    """`every` so many blocks of the source."""

    code, member = BLOCKS, "every"
    body: Interval

    @classmethod
    def matches(cls, body: TriggerBody) -> bool:
        return super().matches(body) and body.every.is_time is cls.is_time

    @property
    def frequency(self) -> str:
        return interval_frequency(self.content)

    def seconds_between_runs(self, block_seconds: float | None) -> float | None:
        return self.interval * block_seconds if block_seconds else None

    @property
    def interval(self) -> int:
        return self.body.count

    def check_interval(self, source: int, block_seconds: float | None) -> None:
        path = WHOLE_BODY.child(self.member)
        refuse_short_interval(self.body, path, "feed may run", source, block_seconds)


class Seconds(Blocks):
    """`every` so many seconds of Unix time."""

    code, is_time = SECONDS, True

    def seconds_between_runs(self, block_seconds: float | None) -> float | None:
        return self.interval


def insert_scheduled_runs(record: ChainRecord) -> None:
    """Insert the runs that the newest block of a source makes due.

    A time is due when the source has a later block, so that the last one before it is known.
    """
    is_due = Q(trigger=BLOCKS, due__lte=record.number)
    is_due |= Q(trigger=SECONDS, due__lt=record.timestamp)
    feeds = Feed.objects.filter(is_due, state=FeedState.ACTIVE, source=record.chain)
    ids = list(feeds.values_list("pk", flat=True))
    for start in range(0, len(ids), FEEDS_AT_ONCE):
        chunk = ids[start : start + FEEDS_AT_ONCE]
        with transaction.atomic():
            rows = feeds.filter(pk__in=chunk).order_by("pk").select_for_update(no_key=True)
            _insert_runs(list(rows), record)


def _insert_runs(feeds: Sequence[Feed], record: ChainRecord) -> None:
    new_runs, past_feeds = list[NewRun](), list[str]()
    for feed in feeds:
        dues = _missed_dues(feed, record)
        if not dues:
            past_feeds.append(feed.pk)
            continue
        is_time = feed.trigger == SECONDS
        for due in dues:
            run = scheduled_run(due, is_time=is_time)
            if feed.catch_up == CatchUp.ALL or not replace_waiting_run(feed, run):
                new_runs.append(NewRun(feed, run))
        feed.due = dues[-1] + feed.interval
    insert_runs(new_runs)
    Feed.objects.bulk_update(feeds, ["due", "next_attempt_at"])
    end_past_feeds(Feed.objects.filter(pk__in=past_feeds))
    for feed in feeds:
        if feed.catch_up == CatchUp.ALL:
            delete_excess_runs(feed, MAX_MISSED_RUNS)


def _missed_dues(feed: Feed, record: ChainRecord) -> Sequence[int]:
    """The blocks or times to run, oldest first. Empty after the feed's end."""
    until = feed.until.timestamp() if feed.until else math.inf
    head, seconds_after = record.number, record.timestamp - until
    if feed.trigger == SECONDS:
        head = int(min(record.timestamp - 1, until))
    elif seconds_after > 0:
        head -= math.ceil(seconds_after / (record.block_seconds or math.inf))  # about
    if feed.due > head:
        return ()
    newest = max(feed.due, last_due(head, feed.interval))
    max_runs = MAX_MISSED_RUNS if feed.catch_up == CatchUp.ALL else 1
    return range(max(feed.due, newest - (max_runs - 1) * feed.interval), newest + 1, feed.interval)


def time_until_due(record: ChainRecord) -> timedelta | None:
    """The time until a block is expected that makes a feed due, by the average between blocks."""
    if record.new_block_at is None or not record.block_seconds:
        return None
    feeds = Feed.objects.filter(state=FeedState.ACTIVE, source=record.chain)
    blocks = []
    for trigger, head, blocks_of in (
        (BLOCKS, record.number, 1.0),
        (SECONDS, record.timestamp, 1 / record.block_seconds),
    ):
        dues = feeds.filter(trigger=trigger, due__gte=head).order_by("due")
        if (due := dues.values_list("due", flat=True).first()) is not None:
            blocks.append((due - head) * blocks_of)
    if not blocks:
        return None
    pause = timedelta(seconds=max(min(blocks), 1.0) * record.block_seconds)
    seen_at = record.new_block_at, record.recorded_at  # a late block is waited for as long again
    waits = (moment + pause - shared_now() for moment in seen_at if moment)
    return next((wait for wait in waits if wait > timedelta(0)), None)
