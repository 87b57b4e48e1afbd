"""Insert the runs that a schedule makes due, and expect the next one."""

import math
from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import Q

from queries.database.clock import shared_now
from queries.feeds.bodies import scheduled_run
from queries.feeds.runs import (
    NewRun,
    delete_excess_runs,
    end_past_feeds,
    insert_runs,
    replace_waiting_run,
)
from queries.feeds.trigger import last_due
from queries.feeds.triggers import TRIGGERS
from queries.models import ChainRecord, Feed
from queries.statuses import CatchUp, FeedState

SCHEDULED = [kind for kind in TRIGGERS.values() if kind.is_scheduled]
MAX_MISSED_RUNS = 100  # that a feed makes up for
FEEDS_AT_ONCE = 100  # in a database transaction


def insert_scheduled_runs(record: ChainRecord) -> None:
    """Insert the runs that the newest block of a source makes due.

    A time is due when the source has a later block, so that the last one before it is known.
    """
    is_due = Q(pk__in=())
    for kind in SCHEDULED:
        is_due |= Q(trigger=kind.code, due__lte=kind.newest_due(record))
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
        is_time = TRIGGERS[feed.trigger].is_time
        for due in dues:
            run = scheduled_run(due, is_time=is_time)
            if feed.catch_up == CatchUp.ALL or not replace_waiting_run(feed, run):
                new_runs.append(NewRun(feed, run))
        feed.due = dues[-1] + feed.interval
    insert_runs(new_runs, are_scheduled=True)
    Feed.objects.bulk_update(feeds, ["due", "next_attempt_at"])
    end_past_feeds(Feed.objects.filter(pk__in=past_feeds))
    for feed in feeds:
        if feed.catch_up == CatchUp.ALL:
            delete_excess_runs(feed, MAX_MISSED_RUNS)


def _missed_dues(feed: Feed, record: ChainRecord) -> Sequence[int]:
    """The blocks or times to run, oldest first. Empty after the feed's end."""
    until = feed.until.timestamp() if feed.until else math.inf
    kind, seconds_after = TRIGGERS[feed.trigger], record.timestamp - until
    head = kind.newest_due(record)
    if kind.is_time:
        head = int(min(head, until))
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
    for kind in SCHEDULED:
        head = record.timestamp if kind.is_time else record.number
        dues = feeds.filter(trigger=kind.code, due__gte=head).order_by("due")
        if (due := dues.values_list("due", flat=True).first()) is not None:
            blocks.append((due - head) / (record.block_seconds if kind.is_time else 1))
    if not blocks:
        return None
    pause = timedelta(seconds=max(min(blocks), 1.0) * record.block_seconds)
    seen_at = record.new_block_at, record.recorded_at  # a late block is waited for as long again
    waits = (moment + pause - shared_now() for moment in seen_at if moment)
    return next((wait for wait in waits if wait > timedelta(0)), None)
