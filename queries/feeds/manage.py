"""Make, change and end feeds."""

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from ulid import ULID

from accounts.http.errors import RefusalError
from accounts.models import Account
from accounts.wording import format_count, format_timestamp, quote_text
from queries.database.clock import shared_now
from queries.database.durable import durable_transaction
from queries.error_codes import FeedCode
from queries.feeds.bodies import DueRun, check_alone, check_run, scheduled_run
from queries.feeds.budget import budget_shortage
from queries.feeds.runs import delete_waiting_runs, queue_next_run, submitted_run, unclaimed_runs
from queries.feeds.schedule import next_due
from queries.feeds.triggers import batch_of, named_fact
from queries.ids import is_ulid
from queries.models import ChainRecord, Feed, FeedRun
from queries.schema.batch_checks import BatchLimits, read_chain
from queries.schema.bodies import read_body
from queries.schema.checked_batch import CheckedBatch
from queries.schema.event_values import is_hash, sample_values
from queries.schema.feed_bodies import FeedChange, FeedRequest, ValueTriggerBody
from queries.schema.paths import WHOLE_BODY, JsonPath
from queries.schema.templates import slot_name
from queries.selectors import DUE_BLOCK, DUE_TIME, NAMED_BLOCK, Selector, hash_selector
from queries.sources.routes import Routes
from queries.statuses import CatchUp, FeedState, Trigger
from queries.transitions import end_feeds, pause_feed_by_owner, resume_feed


@dataclass(frozen=True, slots=True)
class _Parts:
    """What of a request decides when the feed runs."""

    trigger: Trigger
    interval: int
    path: JsonPath  # of the interval


@dataclass(frozen=True, slots=True)
class CheckedFeed:
    """A request for a feed that is valid."""

    body: FeedRequest
    parts: _Parts
    source: int
    due: int
    batch: CheckedBatch  # of its first run


def check_feed(content: Any, routes: Routes, limits: BatchLimits) -> CheckedFeed:
    """Check a parsed body as `create_feed` does, and store nothing. Raises `RefusalError`."""
    body = read_body(FeedRequest, content)
    parts = _parts(body)
    source = _read_source(body, parts.trigger, routes, limits)
    stored_record = ChainRecord.objects.filter(chain=source, recorded_at__isnull=False).first()
    record = stored_record or ChainRecord(chain=source)
    if parts.trigger != Trigger.LOGS:
        _check_interval(parts, source, record.block_seconds)
    due = _first_due(parts, record)
    request = check_run(body.content, _first_run(body, parts.trigger, due), routes, limits)
    if stored_record is None:
        raise RefusalError(
            FeedCode.HEAD_UNKNOWN,
            f"No prover has read the newest block of chain {source} yet. Try again in a minute.",
            path=f"batch.data.{source}",
        )
    if body.when:
        _check_value(body.when, request)
    first_time = due if parts.trigger == Trigger.SECONDS else record.timestamp
    if body.until is not None and body.until < first_time:
        raise WHOLE_BODY.child("until").refusal(
            FeedCode.FEED_MALFORMED,
            f"is {format_timestamp(body.until)}, before the first run; it must be {first_time} or "
            "later.",
        )
    _check_budget(body.budget, request.fee)
    return CheckedFeed(body, parts, source, due, request)


def create_feed(
    owner: Account, content: Any, routes: Routes, limits: BatchLimits
) -> tuple[Feed, CheckedBatch]:
    """Check and store a feed. Returns it with its first batch, which is not stored yet."""
    checked = check_feed(content, routes, limits)
    body, parts = checked.body, checked.parts
    now = shared_now()
    feed = Feed(
        id=str(ULID.from_datetime(now)),
        owner=owner,
        request=json.dumps(content),
        source=checked.source,
        trigger=parts.trigger,
        interval=parts.interval,
        due=checked.due,
        catch_up=body.catchUp,
        until=None if body.until is None else datetime.fromtimestamp(body.until, UTC),
        budget="" if body.budget is None else f"{body.budget:064x}",
        created_at=now,
        resumed_at=now,
    )
    with transaction.atomic():
        # Lock the account, so that two concurrent requests cannot exceed the limit.
        Account.objects.select_for_update(no_key=True).get(pk=owner.pk)
        own_feeds = Feed.objects.filter(owner=owner).exclude(state=FeedState.ENDED)
        if own_feeds.count() >= settings.FEEDS_PER_ACCOUNT:
            raise RefusalError(
                FeedCode.TOO_MANY_FEEDS,
                f"An account may have {format_count(settings.FEEDS_PER_ACCOUNT, 'feed')} here. End "
                "one that is not needed.",
            )
        feed.save(force_insert=True)
    return feed, checked.batch


def _parts(body: FeedRequest) -> _Parts:
    if body.every:
        trigger = Trigger.SECONDS if body.every.is_time else Trigger.BLOCKS
        return _Parts(trigger, body.every.count, WHOLE_BODY.child("every"))
    if body.when:
        path = WHOLE_BODY.child("when").child("every")
        return _Parts(Trigger.VALUE, body.when.every.count, path)
    return _Parts(Trigger.LOGS, 1, WHOLE_BODY.child("on"))


def _first_due(parts: _Parts, record: ChainRecord) -> int:
    if parts.trigger == Trigger.LOGS:
        return record.number + 1  # no log before the feed
    head = record.timestamp if parts.trigger == Trigger.SECONDS else record.number
    return next_due(head, parts.interval)


def _first_run(body: FeedRequest, trigger: Trigger, due: int) -> DueRun:
    """The run that the batch is checked with; that of a log has samples for values."""
    if trigger == Trigger.LOGS:
        return DueRun(due, Selector(due), sample_values(body.on.event, due))
    return scheduled_run(due, is_time=trigger == Trigger.SECONDS)


def _read_source(body: FeedRequest, trigger: Trigger, routes: Routes, limits: BatchLimits) -> int:
    """The source chain. Refuse others, and a block with a key that is not the trigger's."""
    path = WHOLE_BODY.child("batch").child("data")
    data: Any = body.content.get("data")
    if not isinstance(data, dict) or not all(isinstance(blocks, dict) for blocks in data.values()):
        check_alone(body.content, routes, limits)
    if len(data) != 1:
        count = format_count(len(data), "source chain")
        raise _malformed(path, f"has {count}, but a feed has one.")
    ((chain, blocks),) = data.items()
    expected = DUE_TIME if trigger == Trigger.SECONDS else DUE_BLOCK
    keys = {expected}
    if "block" in body.content:
        keys, expected = {NAMED_BLOCK}, NAMED_BLOCK
    elif body.on:
        samples = sample_values(body.on.event, 0)
        keys |= {hash_selector(name) for name, value in samples.items() if is_hash(value)}
    if len(blocks) != 1 or not blocks.keys() <= keys:
        names = ", ".join(map(quote_text, list(blocks)[:3])) or "no block"
        choices = " or ".join(f'"{key}"' for key in sorted(keys))
        raise _malformed(
            path.child(chain),
            f"has {names}, but this feed's one block must have the key {choices}.",
        )
    return read_chain(chain, path.child(chain), routes)


def _check_interval(parts: _Parts, source: int, block_seconds: float | None) -> None:
    """Refuse an interval shorter than a block of the source, or than the operator's minimum."""
    shortest = settings.FEED_SECONDS
    blocks_take = (
        f", and a block of chain {source} takes {block_seconds or 0:.3g} seconds, as measured last"
    )
    action = "value may be read" if parts.trigger == Trigger.VALUE else "feed may run"
    reason = f"a {action} once in {format_count(shortest, 'second')} here"
    if parts.trigger == Trigger.SECONDS:
        minimum, unit = max(shortest, math.ceil(block_seconds or 0)), "second"
        reason += blocks_take if block_seconds else ""
    else:
        minimum, unit = math.ceil(shortest / block_seconds) if block_seconds else 1, "block"
        reason += blocks_take
    if parts.interval < minimum:
        requested, shortest_interval = (format_count(n, unit) for n in (parts.interval, minimum))
        problem = f"is {requested}, but must be at least {shortest_interval}: {reason}."
        raise _malformed(parts.path, problem)


def _check_value(body: ValueTriggerBody, request: CheckedBatch) -> None:
    """Refuse a value with another form, or that the batch does not ask for."""
    address, fact = named_fact(body.value)
    (block,) = request.blocks
    for account in block.accounts:
        names = {prop.name for prop in account.props} | {slot_name(slot) for slot in account.slots}
        if account.account == address and fact in names:
            return
    raise _malformed(
        WHOLE_BODY.child("when").child("value"),
        f"is {quote_text(body.value)}, which the batch does not ask for.",
    )


def _check_budget(budget: int | None, fee: int) -> None:
    if budget is not None and budget < fee:
        raise _malformed(
            WHOLE_BODY.child("budget"), f"is {budget} wei, but one run may spend its fee, {fee}."
        )


def _malformed(path: JsonPath, problem: str) -> RefusalError:
    return path.refusal(FeedCode.FEED_MALFORMED, problem)


def change_feed(owner: Account, feed_id: str, content: object) -> Feed:
    """Pause or resume the feed, or change its budget."""
    change = read_body(FeedChange, content)
    with transaction.atomic():
        feed = _locked_feed(owner, feed_id)
        if feed.state == FeedState.ENDED:
            sentence = f"This feed has ended: {feed.reason}"
            raise RefusalError(FeedCode.FEED_ENDED, sentence, path="feed")
        if change.budget is not None:
            _check_budget(change.budget, int(batch_of(feed.request)["fee"]))
            feed.budget = f"{change.budget:064x}"
            # Not those that wait because a feed runs once in `FEED_SECONDS`.
            rows = unclaimed_runs(feed).exclude(due_at=None).exclude(waits_for="")
            rows.update(due_at=shared_now())
        is_paused = change.state == FeedState.PAUSED and feed.state == FeedState.ACTIVE
        is_resumed = change.state == FeedState.ACTIVE and feed.state == FeedState.PAUSED
        if is_resumed and feed.catch_up == CatchUp.LATEST:
            _skip_to_latest(feed)
        feed.save()
        if is_paused:
            pause_feed_by_owner(feed)
        elif is_resumed:
            resume_feed(feed)
            queue_next_run(feed)
        feed.refresh_from_db()
    return feed


def _skip_to_latest(feed: Feed) -> None:
    """Leave out what was due in a pause, except the latest run."""
    first = feed.runs.filter(submitted_at=None).order_by("id").first()
    if feed.trigger == Trigger.LOGS:
        feed.due = max(feed.due, ChainRecord.objects.get(chain=feed.source).number + 1)
    elif first:
        feed.due = min(feed.due, first.due)
    delete_waiting_runs(Feed.objects.filter(pk=feed.pk))


def run_now(owner: Account, feed_id: str, routes: Routes) -> tuple[FeedRun, bool]:
    """Submit a run for the source's newest block, beside those that are due. Repeated for the same
    block, it returns the same run. Returns also whether the run is new. Raises `RefusalError`.
    """
    with durable_transaction():
        feed = _locked_feed(owner, feed_id)
        if feed.state == FeedState.ENDED:
            sentence = f"This feed has ended: {feed.reason}"
            raise RefusalError(FeedCode.FEED_ENDED, sentence, path="feed")
        if feed.trigger == Trigger.LOGS:
            sentence = "This feed runs for logs, and a run without one has nothing to fill in."
            raise RefusalError(FeedCode.FEED_NOT_RUNNABLE, sentence, path="feed")
        record = ChainRecord.objects.get(chain=feed.source)
        is_time = feed.trigger == Trigger.SECONDS
        due = record.timestamp - 1 if is_time else record.number
        if earlier := feed.runs.filter(due=due, submitted_at__isnull=False).first():
            return earlier, False
        if reason := budget_shortage(feed):
            raise RefusalError(FeedCode.FEED_NOT_RUNNABLE, reason, path="feed")
        run = scheduled_run(due, is_time=is_time)
        feed.runs.filter(due=due, submitted_at=None).delete()  # it is submitted now
        row = submitted_run(feed, run, routes)
        if feed.trigger == Trigger.VALUE:
            feed.open_run = row
            feed.save()
    return row, True


def end_feed(owner: Account, feed_id: str) -> Feed:
    """End the feed. Its batches stay."""
    with transaction.atomic():
        feed = _locked_feed(owner, feed_id)
        if feed.state != FeedState.ENDED:
            rows = Feed.objects.filter(pk=feed.pk)
            end_feeds(rows, "Its owner ended it.")
            delete_waiting_runs(rows)
            feed.refresh_from_db()
    return feed


def _locked_feed(owner: Account, feed_id: str) -> Feed:
    feeds = Feed.objects.filter(owner=owner, pk=feed_id if is_ulid(feed_id) else None)
    feed = feeds.select_for_update(no_key=True).first()
    if feed is None:
        raise feed_not_found(feed_id)
    return feed


def feed_not_found(feed_id: str) -> RefusalError:
    sentence = f"You have no feed {quote_text(feed_id)}."
    return RefusalError(FeedCode.FEED_UNKNOWN, sentence, path="feed")
