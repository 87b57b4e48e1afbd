"""Follow the source chains of feeds: insert the runs that new blocks, logs and values make due."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db.models import Q, QuerySet

from queries.chain.client import ChainClient
from queries.chain.errors import ChainError
from queries.database.clock import shared_now
from queries.feeds.logs import insert_runs_of_logs, postpone
from queries.feeds.outcomes import store_proven_values
from queries.feeds.runs import end_past_feeds
from queries.feeds.schedule import insert_scheduled_runs
from queries.feeds.watched_values import insert_runs_of_values
from queries.models import ChainRecord, Feed
from queries.statuses import FeedState, Trigger

log = logging.getLogger("tacitus.prover")


def follow_source(source: ChainClient) -> timedelta | None:
    """Insert the runs of feeds of this chain that are due by now. Returns the time until a block is
    expected that makes another one due, if a feed waits for one.

    Call this under the lease of the chain's record.
    """
    record = ChainRecord.objects.filter(chain=source.chain.id, recorded_at__isnull=False).first()
    if record is None:
        return None
    insert_scheduled_runs(record)
    store_proven_values(source)
    _read_source(source, record)
    return _time_until_due(record)


def _read_source(source: ChainClient, record: ChainRecord) -> None:
    """Read logs and values, unless that was done in the last `FEED_SECONDS`."""
    now = shared_now()
    last_time, pause = record.feeds_read_at, timedelta(seconds=settings.FEED_SECONDS)
    if last_time and now < last_time + pause:
        return
    is_readable = Q(next_attempt_at=None) | Q(next_attempt_at__lte=now)
    feeds = Feed.objects.filter(is_readable, state=FeedState.ACTIVE, source=record.chain)
    of_values = feeds.filter(trigger=Trigger.VALUE, due__lte=record.number)
    of_logs = feeds.filter(trigger=Trigger.LOGS, due__lte=record.final_number)
    if not of_values.exists() and not of_logs.exists():
        return
    ChainRecord.objects.filter(chain=record.chain).update(feeds_read_at=now)
    head_time = datetime.fromtimestamp(record.timestamp, UTC)
    end_past_feeds(of_values.filter(until__lt=head_time))
    of_values = of_values.filter(Q(until=None) | Q(until__gte=head_time))
    for rows, insert in ((of_values, insert_runs_of_values), (of_logs, insert_runs_of_logs)):
        _insert_runs(source, record, rows, insert)


def _insert_runs(
    source: ChainClient,
    record: ChainRecord,
    rows: QuerySet[Feed],
    insert: Callable[[ChainClient, ChainRecord, list[Feed]], None],
) -> None:
    feeds = list(rows)
    try:
        if feeds:
            insert(source, record, feeds)
    except ChainError as error:
        log.warning("Reading %s for feeds failed: %s", source.chain.name, error)
        postpone(feeds, error.sentence)


def _time_until_due(record: ChainRecord) -> timedelta | None:
    """By the average time between blocks."""
    if record.new_block_at is None or not record.block_seconds:
        return None
    feeds = Feed.objects.filter(state=FeedState.ACTIVE, source=record.chain)
    blocks = []
    for trigger, head, blocks_of in (
        (Trigger.BLOCKS, record.number, 1.0),
        (Trigger.SECONDS, record.timestamp, 1 / record.block_seconds),
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
