"""Follow the source chains of feeds: insert the runs that new blocks, logs and values make due."""

import logging
from datetime import timedelta

from django.conf import settings
from django.db.models import Q

from queries.chain import ChainClient, ChainError
from queries.database.clock import shared_now
from queries.feeds.runs import postpone
from queries.feeds.scheduled_runs import insert_scheduled_runs, time_until_due
from queries.feeds.trigger import ChainTrigger
from queries.feeds.triggers import TRIGGERS
from queries.feeds.watched_values import store_proven_values
from queries.models import ChainRecord, Feed
from queries.statuses import FeedState

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
    return time_until_due(record)


def _read_source(source: ChainClient, record: ChainRecord) -> None:
    """Read logs and values, unless that was done in the last `FEED_SECONDS`."""
    now = shared_now()
    last_time, pause = record.feeds_read_at, timedelta(seconds=settings.FEED_SECONDS)
    if last_time and now < last_time + pause:
        return
    is_readable = Q(next_attempt_at=None) | Q(next_attempt_at__lte=now)
    active = Feed.objects.filter(is_readable, state=FeedState.ACTIVE, source=record.chain)
    kinds = [kind for kind in TRIGGERS.values() if issubclass(kind, ChainTrigger)]
    feeds = {
        kind: list(active.filter(trigger=kind.code, due__lte=kind.newest_due(record)))
        for kind in kinds
    }
    if not any(feeds.values()):
        return
    ChainRecord.objects.filter(chain=record.chain).update(feeds_read_at=now)
    for kind, rows in feeds.items():
        try:
            if rows:
                kind.insert_runs(source, record, rows)
        except ChainError as error:
            log.warning("Reading %s for feeds failed: %s", source.chain.name, error)
            postpone(rows, error.sentence)
