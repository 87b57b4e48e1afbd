"""Feeds that run `when` a value has changed: read the values at the head of their source, once in
`FEED_SECONDS`.

What is read is not proven: a node that lies can cause a run or prevent one, and what the run proves
is what is true.
"""

from collections.abc import Sequence
from dataclasses import replace

from django.db import transaction
from django.db.models import F, OuterRef, Subquery, Value

from queries.chain.client import ChainClient
from queries.feeds.bodies import DueRun, scheduled_run
from queries.feeds.runs import NewRun, insert_runs, replace_waiting_run, unclaimed_runs
from queries.feeds.schedule import next_due
from queries.feeds.triggers import watched_value
from queries.models import ChainRecord, Feed, FeedRun
from queries.statuses import FeedState


def insert_runs_of_values(source: ChainClient, record: ChainRecord, feeds: Sequence[Feed]) -> None:
    """Insert the runs of feeds whose value at the head differs enough from the last one. Older
    states are not read, because nodes may have dropped them.

    A run that still waits is about the newest value, or is deleted if the change is undone.
    """
    ids = [feed.pk for feed in feeds]
    submitted = FeedRun.objects.filter(
        feed=OuterRef("pk"), submitted_at__isnull=False, read_time__isnull=False
    )
    last_time = Subquery(submitted.order_by("-id").values("read_time")[:1])
    rows = list(
        Feed.objects.filter(pk__in=ids).select_related("open_run").annotate(last_time=last_time)
    )
    watched = {feed.pk: watched_value(feed.request) for feed in rows}
    facts = [(watched[feed.pk].account, watched[feed.pk].fact, record.number) for feed in rows]
    waiting = FeedRun.objects.filter(feed__in=ids, submitted_at=None)
    have_waiting = set(waiting.values_list("feed", flat=True))
    idle = []
    for feed, value in zip(rows, source.numbers(facts), strict=True):
        if _has_changed(feed, value, record):
            run = scheduled_run(record.number)
            run = replace(run, value=value, read_time=record.timestamp)
            _insert_run(feed, run, is_waiting=feed.pk in have_waiting)
        else:
            if feed.pk in have_waiting:
                _delete_waiting_run(feed)
            idle.append(feed.pk)
    number = Value(record.number)
    following = number - number % F("interval") + F("interval")
    idle_feeds = Feed.objects.filter(pk__in=idle, due__lte=record.number)
    idle_feeds.update(due=following, waits_for="")


def _has_changed(feed: Feed, value: int, record: ChainRecord) -> bool:
    """Whether the value differs enough, or the heartbeat is over."""
    watched = watched_value(feed.request)
    last_value = (feed.open_run.value if feed.open_run else "") or feed.last_value
    if last_value:
        has_changed = watched.change.is_reached(int(last_value, 16), value)
    else:
        has_changed = feed.open_run is None
    last_time: int | None = vars(feed)["last_time"]
    if watched.heartbeat and last_time is not None:
        has_changed |= record.timestamp >= last_time + watched.heartbeat
    return has_changed


def _insert_run(feed: Feed, run: DueRun, *, is_waiting: bool) -> None:
    with transaction.atomic():
        rows = Feed.objects.filter(pk=feed.pk, due=feed.due, state=FeedState.ACTIVE)
        if not rows.select_for_update(no_key=True).exists():
            return
        if is_waiting:
            replace_waiting_run(feed, run)  # unless a worker is submitting it
        else:
            insert_runs([NewRun(feed, run)])
        rows.update(due=next_due(run.due, feed.interval), waits_for="")


def _delete_waiting_run(feed: Feed) -> None:
    with transaction.atomic():
        list(Feed.objects.filter(pk=feed.pk).select_for_update(no_key=True))
        unclaimed_runs(feed).delete()
