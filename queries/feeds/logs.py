"""Feeds that run `on` a log: read the final blocks of their source, once in `FEED_SECONDS`.

Logs are not proven: two nodes that lie can cause a run or prevent one, and what the run proves is
what is true.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, Q

from accounts.http.errors import RefusalError
from queries.chain.answers import FoundLog
from queries.chain.client import ChainClient
from queries.chain.errors import (
    BlockUnknownError,
    ChainError,
    HistoryPrunedError,
    StateNotAvailableError,
)
from queries.chain.logs import EventSource, read_logs
from queries.database.clock import shared_now
from queries.error_codes import FeedCode
from queries.feeds.bodies import DueRun, one_block
from queries.feeds.runs import NewRun, end_past_feeds, insert_runs
from queries.feeds.triggers import batch_of, log_filter
from queries.models import ChainRecord, Feed
from queries.schema.event_values import log_values
from queries.selectors import Selector, placeholder_of_hash
from queries.statuses import FeedState, Trigger

MAX_WAITING_RUNS = 20  # of a feed: with so many, no further logs are read
LONG_PAUSE = timedelta(hours=1)  # of a feed whose logs nodes refuse


def are_logs_awaited(chain: int) -> bool:
    """Whether feeds wait for logs of final blocks of this chain."""
    feeds = Feed.objects.filter(state=FeedState.ACTIVE, source=chain, trigger=Trigger.LOGS)
    return feeds.exists()


def insert_runs_of_logs(source: ChainClient, record: ChainRecord, feeds: Sequence[Feed]) -> None:
    """Insert the runs of these feeds. One request serves all that wait for the same block, and
    another one some that are behind, which take turns.
    """
    waiting = Count("runs", filter=Q(runs__submitted_at=None))
    ids = [feed.pk for feed in feeds]
    counted = list(Feed.objects.filter(pk__in=ids).annotate(waiting=waiting))
    ready = [feed for feed in counted if feed.waiting < MAX_WAITING_RUNS]
    newest = 0
    if ready:
        newest = max(feed.due for feed in ready)
        _read_feeds(source, record, [feed for feed in ready if feed.due == newest])
    if behind := [feed for feed in ready if feed.due < newest]:
        first = min(behind, key=lambda feed: feed.next_attempt_at or feed.created_at).due
        group = [feed for feed in behind if feed.due >= first]
        # They are the last ones next time, also if this fails.
        rows = Feed.objects.filter(pk__in=[feed.pk for feed in group if feed.due == first])
        rows.update(next_attempt_at=shared_now())
        _read_feeds(source, record, group)
    final = record.final_number
    active = Feed.objects.filter(pk__in=ids, state=FeedState.ACTIVE)
    late = active.filter(due__lte=final, waits_for="")
    late.update(waits_for=f"Logs up to block {final:,} are still to be read.")
    ends = [feed.pk for feed in feeds if is_past(feed.until, record.timestamp)]
    if ends:
        final_time = datetime.fromtimestamp(source.header(final).timestamp, UTC)
        are_read = Feed.objects.filter(pk__in=ends, until__lt=final_time, due__gt=final)
        end_past_feeds(are_read)


def is_past(until: datetime | None, timestamp: int) -> bool:
    """Whether a chain's time is after the end of a feed."""
    return until is not None and timestamp > until.timestamp()


def postpone(feeds: Iterable[Feed], reason: str, pause: timedelta = timedelta(0)) -> None:
    """Have these feeds not be read for this pause, and say why they wait."""
    columns: dict[str, Any] = {"waits_for": reason[:1_000]}
    if pause:
        columns["next_attempt_at"] = shared_now() + pause
    ids = [feed.pk for feed in feeds]
    Feed.objects.filter(pk__in=ids, state=FeedState.ACTIVE).update(**columns)


def _read_feeds(source: ChainClient, record: ChainRecord, feeds: Sequence[Feed]) -> None:
    by_event = defaultdict[EventSource, list[Feed]](list)
    for feed in feeds:
        by_event[log_filter(feed.request).source].append(feed)
    positions = {event: min(feed.due for feed in group) for event, group in by_event.items()}
    for part in read_logs(source, positions, record.final_number):
        group = [feed for event in part.events for feed in by_event[event]]
        group = [feed for feed in group if feed.due in part.blocks]
        if part.error:
            postpone(group, part.error.sentence, LONG_PAUSE)
            continue
        idle = []
        for feed in group:
            matches = log_filter(feed.request).matches
            logs = [entry for entry in part.logs if entry.block >= feed.due and matches(entry.log)]
            if logs:
                _insert_runs(source, feed, logs, part.blocks.stop)
            else:
                idle.append(feed.pk)
        rows = Feed.objects.filter(pk__in=idle, due__lt=part.blocks.stop)
        rows.update(due=part.blocks.stop, waits_for="")


def _insert_runs(source: ChainClient, feed: Feed, logs: Sequence[FoundLog], stop: int) -> None:
    """Insert the feed's runs for these logs. It then waits for logs from the block `stop` on."""
    places = set(feed.runs.filter(due__gte=feed.due).values_list("due", "log_index"))
    new_logs = [entry for entry in logs if (entry.block, entry.index) not in places]
    room = MAX_WAITING_RUNS - feed.runs.filter(submitted_at=None).count()
    try:
        if feed.until:
            new_logs = _logs_until(source, feed, new_logs[: room + 1])
        following = new_logs[room].block if len(new_logs) > room else stop
        runs = [_run_of_log(source, feed, entry) for entry in new_logs[:room]]
    except ChainError as error:
        postpone([feed], error.sentence)
        return
    with transaction.atomic():
        rows = Feed.objects.filter(pk=feed.pk, due=feed.due, state=FeedState.ACTIVE)
        if rows.select_for_update(no_key=True).exists():
            insert_runs(NewRun(feed, run) for run in runs)
            rows.update(due=following, waits_for="")


def _logs_until(source: ChainClient, feed: Feed, logs: Sequence[FoundLog]) -> list[FoundLog]:
    """Leave out logs after the feed's end."""
    times = {block: source.header(block).timestamp for block in {entry.block for entry in logs}}
    return [entry for entry in logs if not is_past(feed.until, times[entry.block])]


def _run_of_log(source: ChainClient, feed: Feed, entry: FoundLog) -> DueRun:
    """The run for a log, or with the error that it has."""
    selector = Selector(entry.block)
    try:
        values = log_values(log_filter(feed.request).event, entry.log, entry.block)
        _, key = one_block(batch_of(feed.request))
        if placeholder := placeholder_of_hash(key):
            selector = Selector(_block_of_hash(source, str(values[placeholder])))
    except RefusalError as error:
        return DueRun(entry.block, selector, {}, log_index=entry.index, error=error)
    return DueRun(entry.block, selector, values, log_index=entry.index)


def _block_of_hash(source: ChainClient, text: str) -> int:
    """The number of a block that is part of the chain."""
    try:
        header = source.header_by_hash(bytes.fromhex(text.removeprefix("0x")))
        if source.header(header.number).hash == header.hash:
            return header.number
    except (BlockUnknownError, HistoryPrunedError, StateNotAvailableError):
        pass
    sentence = f"{source.chain.name} has no block with the hash {text}."
    raise RefusalError(FeedCode.FEED_MALFORMED, sentence, path="batch.data")
