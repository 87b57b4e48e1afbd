"""Read what feeds wait for on their source chains: the logs of contracts, and values.

One request for logs, and one batch of calls for values, serve all feeds of a chain, once in
`FEED_SECONDS`. Neither is proven: a node that lies about a value, or two about logs, can cause a
run or prevent one, and what the run proves is what is true.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from secrets import choice

from django.conf import settings
from django.db.models import F, Q, Value

from accounts.http.errors import RefusalError
from queries.chain.answers import FoundLog
from queries.chain.client import ChainClient
from queries.chain.errors import (
    BlockUnknownError,
    ChainError,
    HistoryPrunedError,
    NodesUnreachableError,
    NoQuorumError,
    RateLimitedError,
    StateNotAvailableError,
)
from queries.config.routes import Routes
from queries.database.clock import shared_now
from queries.error_codes import FeedCode
from queries.feeds.bodies import DueRun, one_block, scheduled_run
from queries.feeds.outcomes import store_proven_values
from queries.feeds.run import LOGS_PER_FEED, TIME_IS_OVER, can_run, is_past, submit_found, wait_for
from queries.feeds.schedule import next_due
from queries.feeds.triggers import batch_of, log_filter, watched_value
from queries.models import ChainRecord, Feed
from queries.schema.checked_batch import Selector
from queries.schema.feed_bodies import HASH_KEY
from queries.schema.feed_placeholders import log_values
from queries.statuses import FeedState, Trigger
from queries.transitions import end_feeds

log = logging.getLogger("tacitus.prover")

# Pauses: until the next look, and of a feed whose logs nodes refuse.
NEXT_LOOK, LONG_PAUSE = timedelta(0), timedelta(hours=1)
FEW_BLOCKS = 16  # for fewer, feeds are asked for apart

# By chain, the blocks that a request for logs may be about, if nodes did not answer one for more.
_max_blocks: dict[int, int] = {}


def are_logs_awaited(chain: int) -> bool:
    """Whether feeds wait for logs of final blocks of this chain."""
    feeds = Feed.objects.filter(state=FeedState.ACTIVE, source=chain, trigger=Trigger.LOGS)
    return feeds.exists()


def look_for_feeds(source: ChainClient, routes: Routes) -> None:
    """Read what the feeds of this chain wait for, unless that was done a moment ago."""
    now, chain = shared_now(), source.chain.id
    record = ChainRecord.objects.filter(chain=chain, recorded_at__isnull=False).first()
    if record is None:
        return
    store_proven_values(source)
    is_new = Q(trigger=Trigger.LOGS, due__lte=record.final_number)
    is_new |= Q(trigger=Trigger.VALUE, due__lte=record.number)
    feeds = Feed.objects.filter(can_run(now) & is_new, source=chain)
    if not feeds.exists():
        return
    earliest = now - timedelta(seconds=settings.FEED_SECONDS)
    may_read = Q(feeds_read_at=None) | Q(feeds_read_at__lte=earliest)
    if not ChainRecord.objects.filter(may_read, chain=chain).update(feeds_read_at=now):
        return
    is_over = Q(until__lt=datetime.fromtimestamp(record.timestamp, UTC))
    end_feeds(feeds.filter(is_over, trigger=Trigger.VALUE), TIME_IS_OVER)
    rows = list(feeds.select_related("open_run"))
    for trigger, look in ((Trigger.VALUE, _look_at_values), (Trigger.LOGS, _look_for_logs)):
        group = [feed for feed in rows if feed.trigger == trigger]
        try:
            if group:
                look(source, group, record, routes)
        except ChainError as error:
            log.warning("Reading %s for feeds failed: %s", source.chain.name, error)
            wait_for(group, error.sentence, NEXT_LOOK)


def _look_for_logs(
    source: ChainClient, feeds: list[Feed], record: ChainRecord, routes: Routes
) -> None:
    final, chain, limit = record.final_number, source.chain.id, source.chain.limits.max_log_blocks
    max_blocks = _max_blocks.get(chain, limit)
    look = partial(_read_logs, source, routes=routes)
    newest = max(feed.due for feed in feeds)
    try:
        look(feeds, range(newest, final + 1)[:max_blocks])
        # Some were paused, or have more logs than a look takes.
        if behind := [feed for feed in feeds if feed.due < newest]:
            first = choice(behind).due  # so that none waits for another one
            look(behind, range(first, final + 1)[:max_blocks])
    except NodesUnreachableError:  # perhaps because of so many logs
        _max_blocks[chain] = max(max_blocks // 2, 1)
        raise
    _max_blocks[chain] = min(2 * max_blocks, limit)
    active = Feed.objects.filter(pk__in=[feed.pk for feed in feeds], state=FeedState.ACTIVE)
    late = active.filter(due__lte=final, waits_for="")
    late.update(waits_for=f"Logs up to block {final:,} are still to be read.")
    ends = [feed.pk for feed in feeds if is_past(feed.until, record.timestamp)]
    if ends:
        final_time = datetime.fromtimestamp(source.header(final).timestamp, UTC)
        are_read = Feed.objects.filter(pk__in=ends, until__lt=final_time, due__gt=final)
        end_feeds(are_read, TIME_IS_OVER)


def _read_logs(source: ChainClient, feeds: Sequence[Feed], blocks: range, routes: Routes) -> None:
    """Submit the runs of those feeds that wait for logs of these blocks.

    If nodes refuse the request, it is for fewer blocks, and then for fewer feeds, so that a
    contract with many logs stops only the feeds that wait for them.
    """
    group = [feed for feed in feeds if feed.due in blocks]
    if not group:
        return
    filters = [log_filter(feed.request) for feed in group]
    look = partial(_read_logs, source, routes=routes)
    try:
        logs = source.ask_quorum(
            ChainClient.logs,
            addresses={wanted.address for wanted in filters},
            topics=[{wanted.event.topic for wanted in filters}],
            first=blocks[0],
            last=blocks[-1],
        )
    except (NodesUnreachableError, NoQuorumError, RateLimitedError):
        raise
    except ChainError as error:
        middle = len(group) // 2
        if len(blocks) > (FEW_BLOCKS if middle else 1):
            look(group, blocks[: len(blocks) // 2])
        elif middle:
            look(group[:middle], blocks)
            look(group[middle:], blocks)
        else:
            wait_for(group, error.sentence, LONG_PAUSE)
        return
    idle = []
    for feed, wanted in zip(group, filters, strict=True):
        found = [entry for entry in logs if entry.block >= feed.due and wanted.matches(entry.log)]
        if found:
            _run_logs(source, feed, found, blocks.stop, routes)
        else:
            idle.append(feed.pk)
    Feed.objects.filter(pk__in=idle, due__lt=blocks.stop).update(due=blocks.stop, waits_for="")


def _run_logs(
    source: ChainClient, feed: Feed, logs: Sequence[FoundLog], stop: int, routes: Routes
) -> None:
    """Submit the feed's runs for these logs. It then waits for logs from the block `stop` on."""
    made = set(feed.runs.filter(due__gte=feed.due).values_list("due", "log_index"))
    new = [entry for entry in logs if (entry.block, entry.index) not in made]
    new = new[: LOGS_PER_FEED + 1]
    try:
        if feed.until:
            new = _until(source, feed, new)
        following = new[LOGS_PER_FEED].block if len(new) > LOGS_PER_FEED else stop
        runs = [_run_of_log(source, feed, entry) for entry in new[:LOGS_PER_FEED]]
    except ChainError as error:
        wait_for([feed], error.sentence, NEXT_LOOK)
    else:
        submit_found(feed, runs, following, routes)


def _until(source: ChainClient, feed: Feed, logs: Sequence[FoundLog]) -> list[FoundLog]:
    """Leave out logs after the feed's end."""
    times = {block: source.header(block).timestamp for block in {entry.block for entry in logs}}
    return [entry for entry in logs if not is_past(feed.until, times[entry.block])]


def _run_of_log(source: ChainClient, feed: Feed, entry: FoundLog) -> DueRun:
    """The run for a log, or with the error that it has."""
    selector = Selector(entry.block)
    try:
        values = log_values(log_filter(feed.request).event, entry.log, entry.block)
        _, key = one_block(batch_of(feed.request))
        if match := HASH_KEY.fullmatch(key):
            selector = Selector(_block_of_hash(source, str(values[match[1]])))
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


def _look_at_values(
    source: ChainClient, feeds: list[Feed], record: ChainRecord, routes: Routes
) -> None:
    """Read each feed's value at the head: nodes may have dropped older states."""
    watched = {feed.pk: watched_value(feed.request) for feed in feeds}
    due = record.number
    facts = [(watched[feed.pk].account, watched[feed.pk].fact, due) for feed in feeds]
    idle = []
    for feed, value in zip(feeds, source.numbers(facts), strict=True):
        wanted = watched[feed.pk]
        last_value = (feed.open_run.value if feed.open_run else "") or feed.last_value
        if last_value:
            is_due = wanted.change.is_reached(int(last_value, 16), value)
        else:
            is_due = feed.open_run is None
        if wanted.heartbeat and feed.last_run_time is not None:
            is_due |= record.timestamp >= feed.last_run_time + wanted.heartbeat
        if is_due:
            run = replace(scheduled_run(due), value=value, head_time=record.timestamp)
            submit_found(feed, [run], next_due(due, feed.interval), routes)
        else:
            idle.append(feed.pk)
    number = Value(record.number)
    following = number - number % F("interval") + F("interval")
    Feed.objects.filter(pk__in=idle, due__lte=record.number).update(due=following, waits_for="")
