"""Feeds that run `on` a log: read the final blocks of their source, once in `FEED_SECONDS`.

Logs are not proven: two nodes that lie can cause a run or prevent one, and what the run proves is
what is true.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, Q

from accounts.http.errors import RefusalError
from accounts.wallets import short_hash
from queries.chain import (
    BlockUnknownError,
    ChainClient,
    ChainError,
    EventSource,
    FoundLog,
    HistoryPrunedError,
    StateNotAvailableError,
    read_logs,
)
from queries.database.clock import shared_now
from queries.error_codes import FeedCode
from queries.feeds.bodies import DueRun, batch_of, one_block
from queries.feeds.runs import NewRun, end_past_feeds, insert_runs, postpone
from queries.feeds.trigger import ChainTrigger
from queries.models import ChainRecord, Feed
from queries.proving import Log
from queries.schema.event_values import is_hash, log_values, sample_values
from queries.schema.feed_bodies import LogTriggerBody
from queries.selectors import Selector, hash_selector, placeholder_of_hash
from queries.statuses import FeedState

MAX_WAITING_RUNS = 20  # of a feed: with so many, no further logs are read
LONG_PAUSE = timedelta(hours=1)  # of a feed whose logs nodes refuse


class Logs(ChainTrigger):
    """`on` the logs of one event of a contract."""

    code, member = "LOGS", "on"
    can_run_now = False
    next_run_condition = "with the next log"
    body: LogTriggerBody

    def __init__(self, body: LogTriggerBody, content: dict[str, Any]) -> None:
        super().__init__(body, content)
        self.event, self.address = body.event, body.address.lower()
        others = (body.topics or [])[1:]
        topics = (None if names is None else frozenset(map(_topic, names)) for names in others)
        self.topics = (frozenset({self.event.topic}), *topics)  # by position; None: any

    @property
    def event_source(self) -> EventSource:
        return EventSource(self.address, self.event.topic)

    def matches_log(self, log: Log) -> bool:
        return (
            f"0x{log.emitter.hex()}" == self.address
            and len(log.topics) >= len(self.topics)
            and all(
                choices is None or topic in choices
                for choices, topic in zip(self.topics, log.topics, strict=False)
            )
        )

    @property
    def frequency(self) -> str:
        return f"for each {self.event.name} of {short_hash(self.content['address'])}"

    @property
    def placeholder_names(self) -> Mapping[str, str]:
        flags = self.event.are_indexed
        names = list(zip(self.event.names, flags, strict=True))
        indexed = [name for name, is_indexed in names if is_indexed]
        data = [name for name, is_indexed in names if not is_indexed]
        placeholders = {f"$topic{place}": name for place, name in enumerate(indexed, 1)}
        placeholders |= {f"$data[{place}]": name for place, name in enumerate(data)}
        return {placeholder: f"${name}" for placeholder, name in placeholders.items() if name}

    @property
    def selectors(self) -> set[str]:
        samples = sample_values(self.event, 0)
        hashes = {hash_selector(name) for name, value in samples.items() if is_hash(value)}
        return super().selectors | hashes

    def sample_run(self, due: int) -> DueRun:
        return DueRun(due, Selector(due), sample_values(self.event, due))

    def first_due(self, record: ChainRecord) -> int:
        return record.number + 1  # no log before the feed

    @classmethod
    def newest_due(cls, record: ChainRecord) -> int:
        return record.final_number

    def due_after_pause(self, feed: Feed, record: ChainRecord) -> int:
        return max(feed.due, record.number + 1)

    @classmethod
    def insert_runs(cls, source: ChainClient, record: ChainRecord, feeds: Sequence[Feed]) -> None:
        _insert_runs_of_logs(source, record, feeds)


def _topic(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def are_logs_awaited(chain: int) -> bool:
    """Whether feeds wait for logs of final blocks of this chain."""
    feeds = Feed.objects.filter(state=FeedState.ACTIVE, source=chain, trigger=Logs.code)
    return feeds.exists()


def _insert_runs_of_logs(source: ChainClient, record: ChainRecord, feeds: Sequence[Feed]) -> None:
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


def _read_feeds(source: ChainClient, record: ChainRecord, feeds: Sequence[Feed]) -> None:
    by_event = defaultdict[EventSource, list[Feed]](list)
    for feed in feeds:
        by_event[Logs.stored(feed.request).event_source].append(feed)
    positions = {event: min(feed.due for feed in group) for event, group in by_event.items()}
    for part in read_logs(source, positions, record.final_number):
        group = [feed for event in part.events for feed in by_event[event]]
        group = [feed for feed in group if feed.due in part.blocks]
        if part.error:
            postpone(group, part.error.sentence, LONG_PAUSE)
            continue
        idle = []
        for feed in group:
            matches = Logs.stored(feed.request).matches_log
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
        values = log_values(Logs.stored(feed.request).event, entry.log, entry.block)
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
