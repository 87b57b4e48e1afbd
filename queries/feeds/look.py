"""Read what feeds wait for on their source chains: the logs of contracts, and values.

One request for logs, and one batch of calls for values, serve all feeds of a chain, once in
`FEED_SECONDS`. Neither is proven: a node that lies about a value, or two about logs, can cause a
run or prevent one, and what the run proves is what is true.
"""

import logging
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from secrets import choice

from django.conf import settings
from django.db.models import F, Q, Value

from accounts.http.errors import RefusalError
from queries.chain.answers import FoundLog
from queries.chain.client import ChainClient
from queries.chain.errors import BlockUnknownError, ChainError, NodesUnreachableError, NoQuorumError
from queries.config.routes import Routes
from queries.database.clock import shared_now
from queries.error_codes import FeedCode
from queries.feeds.bodies import DueRun, one_block, scheduled_run
from queries.feeds.run import RUNS_PER_FEED, can_run, ended, submit_found
from queries.feeds.schedule import last_due
from queries.feeds.triggers import LogFilter, batch_of, log_filter, watched_value
from queries.models import ChainRecord, Feed
from queries.schema.checked_batch import Selector
from queries.schema.feed_bodies import HASH_KEY
from queries.schema.feed_placeholders import log_values
from queries.statuses import FeedState, Trigger

log = logging.getLogger("tacitus.prover")


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
    is_new = Q(trigger=Trigger.LOGS, due__lte=record.final_number)
    is_new |= Q(trigger=Trigger.VALUE, due__lte=record.number)
    feeds = Feed.objects.filter(can_run(now) & is_new, source=chain)
    if not feeds.exists():
        return
    earliest = now - timedelta(seconds=settings.FEED_SECONDS)
    may_read = Q(feeds_read_at=None) | Q(feeds_read_at__lte=earliest)
    if not ChainRecord.objects.filter(may_read, chain=chain).update(feeds_read_at=now):
        return
    feeds.filter(until__lt=datetime.fromtimestamp(record.timestamp, UTC)).update(**ended())
    rows = {feed.pk: feed for feed in feeds}
    for trigger, look in ((Trigger.VALUE, _look_at_values), (Trigger.LOGS, _look_for_logs)):
        group = [feed for feed in rows.values() if feed.trigger == trigger]
        try:
            if group:
                look(source, group, record, routes)
        except ChainError as error:
            log.warning("Reading %s for feeds failed: %s", source.chain.name, error)
            ids = [feed.pk for feed in group]
            Feed.objects.filter(pk__in=ids).update(waits_for=error.sentence[:1_000])


def _look_for_logs(
    source: ChainClient, feeds: list[Feed], record: ChainRecord, routes: Routes
) -> None:
    final, max_blocks = record.final_number, source.chain.limits.max_log_blocks
    recent = final - max_blocks + 1
    behind = [feed for feed in feeds if feed.due < recent]  # they were paused, or have many logs
    if len(behind) < len(feeds):
        first = min(feed.due for feed in feeds if feed.due >= recent)
        _read_logs(source, feeds, range(first, final + 1), routes)
    if behind:
        first = choice(behind).due  # so that none waits for another one
        _read_logs(source, behind, range(first, first + max_blocks), routes)


def _read_logs(source: ChainClient, feeds: Iterable[Feed], blocks: range, routes: Routes) -> None:
    """Submit the runs of those feeds that wait for logs of these blocks."""
    group = [feed for feed in feeds if feed.due in blocks]
    filters = {feed.pk: log_filter(feed.request) for feed in group}
    logs, blocks = _fetch_logs(source, filters.values(), blocks)
    idle = []
    for feed in group:
        wanted = filters[feed.pk]
        found = [entry for entry in logs if entry.block >= feed.due and wanted.matches(entry.log)]
        if not found:
            idle.append(feed.pk)
            continue
        made = set(feed.runs.filter(due__gte=feed.due).values_list("due", "log_index"))
        new = [entry for entry in found if (entry.block, entry.index) not in made]
        runs = [_run_of_log(source, feed, entry) for entry in new[:RUNS_PER_FEED]]
        following = new[RUNS_PER_FEED].block if len(new) > RUNS_PER_FEED else blocks.stop
        submit_found(feed, runs, following, routes)
    Feed.objects.filter(pk__in=idle, due__lt=blocks.stop).update(due=blocks.stop, waits_for="")


def _fetch_logs(
    source: ChainClient, filters: Collection[LogFilter], blocks: range
) -> tuple[tuple[FoundLog, ...], range]:
    """The logs of these blocks, or of the first ones if nodes refuse so many."""
    addresses = {wanted.address for wanted in filters}
    topics = [{wanted.event.topic for wanted in filters}]
    while True:
        first, last = blocks[0], blocks[-1]
        try:
            return source.ask_quorum(
                ChainClient.logs, addresses=addresses, topics=topics, first=first, last=last
            ), blocks
        except (NodesUnreachableError, NoQuorumError):
            raise
        except ChainError:
            if len(blocks) == 1:
                raise
            blocks = blocks[: len(blocks) // 2]


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
    try:
        return source.header_by_hash(bytes.fromhex(text.removeprefix("0x"))).number
    except BlockUnknownError:
        sentence = f"The nodes of {source.chain.name} know no block with the hash {text}."
        raise RefusalError(FeedCode.FEED_MALFORMED, sentence, path="batch.data") from None


def _look_at_values(
    source: ChainClient, feeds: list[Feed], record: ChainRecord, routes: Routes
) -> None:
    """Read each feed's value at the last block that its interval divides."""
    watched = {feed.pk: watched_value(feed.request) for feed in feeds}
    blocks = {feed.pk: last_due(record.number, feed.interval) for feed in feeds}
    facts = [(watched[feed.pk].account, watched[feed.pk].fact, blocks[feed.pk]) for feed in feeds]
    idle = []
    for feed, value in zip(feeds, source.numbers(facts), strict=True):
        due, wanted = blocks[feed.pk], watched[feed.pk]
        before, last_time = feed.last_value and int(feed.last_value, 16), feed.last_run_time
        has_changed = before == "" or wanted.change.is_reached(before, value)
        is_due = has_changed or last_time is None
        if wanted.heartbeat and last_time is not None:
            is_due |= record.timestamp >= last_time + wanted.heartbeat
        if is_due:
            # The block that a contract names is older, and deliveries may have it name a newer one.
            is_last = not has_changed or "block" not in batch_of(feed.request)
            head_time = record.timestamp if is_last else None
            run = replace(scheduled_run(due), value=value, head_time=head_time)
            submit_found(feed, [run], due + feed.interval, routes)
        else:
            idle.append(feed.pk)
    number = Value(record.number)
    following = number - number % F("interval") + F("interval")
    Feed.objects.filter(pk__in=idle, due__lte=record.number).update(due=following, waits_for="")
