"""Feeds that run `every` so often: they are due at the multiples of their interval, in blocks of
their source or in Unix time.
"""

import math
from collections.abc import Sequence

from django.db import transaction
from django.db.models import Q

from queries.feeds.bodies import scheduled_run
from queries.feeds.runs import (
    NewRun,
    delete_excess_runs,
    end_past_feeds,
    insert_runs,
    replace_waiting_run,
)
from queries.models import ChainRecord, Feed
from queries.selectors import Selector
from queries.statuses import CatchUp, FeedState, Trigger

MAX_MISSED_RUNS = 100  # that a feed makes up for
FEEDS_AT_ONCE = 100  # in a database transaction


def next_due(position: int, interval: int) -> int:
    """The first multiple of the interval after this position."""
    return last_due(position, interval) + interval


def last_due(position: int, interval: int) -> int:
    """The last multiple of the interval at or before this position."""
    return position - position % interval


def due_selector(feed: Feed, due: int) -> Selector:
    return Selector(due, is_time=feed.trigger == Trigger.SECONDS)


def insert_scheduled_runs(record: ChainRecord) -> None:
    """Insert the runs that the newest block of a source makes due.

    A time is due when the source has a later block, so that the last one before it is known.
    """
    is_due = Q(trigger=Trigger.BLOCKS, due__lte=record.number)
    is_due |= Q(trigger=Trigger.SECONDS, due__lt=record.timestamp)
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
        is_time = feed.trigger == Trigger.SECONDS
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
    if feed.trigger == Trigger.SECONDS:
        head = int(min(record.timestamp - 1, until))
    elif seconds_after > 0:
        head -= math.ceil(seconds_after / (record.block_seconds or math.inf))  # about
    if feed.due > head:
        return ()
    newest = max(feed.due, last_due(head, feed.interval))
    max_runs = MAX_MISSED_RUNS if feed.catch_up == CatchUp.ALL else 1
    return range(max(feed.due, newest - (max_runs - 1) * feed.interval), newest + 1, feed.interval)
