"""Make, change and end feeds."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from ulid import ULID

from accounts.http.errors import RefusalError
from accounts.models import Account
from accounts.wording import format_count, format_timestamp, quote_text
from queries.amounts import short_amount
from queries.database.clock import shared_now
from queries.database.durable import durable_transaction
from queries.error_codes import FeedCode
from queries.feeds.bodies import batch_of, check_alone, check_run, payment_currency, scheduled_run
from queries.feeds.budget import budget_shortage
from queries.feeds.runs import delete_waiting_runs, queue_next_run, unclaimed_runs
from queries.feeds.submit import submitted_run
from queries.feeds.trigger import Trigger
from queries.feeds.triggers import TRIGGERS, requested_trigger, stored_trigger
from queries.ids import is_ulid
from queries.models import ChainRecord, Feed, FeedRun
from queries.schema.batch_checks import BatchLimits, read_chain
from queries.schema.bodies import read_body
from queries.schema.checked_batch import CheckedBatch
from queries.schema.feed_bodies import FeedChange, FeedRequest
from queries.schema.paths import WHOLE_BODY, JsonPath
from queries.selectors import NAMED_BLOCK
from queries.sources import Routes
from queries.statuses import CatchUp, FeedState
from queries.transitions import end_feeds, pause_feed_by_owner, resume_feed


@dataclass(frozen=True, slots=True)
class CheckedFeed:
    """A request for a feed that is valid."""

    body: FeedRequest
    trigger: Trigger
    source: int
    due: int
    batch: CheckedBatch  # of its first run


def check_feed(content: Any, routes: Routes, limits: BatchLimits) -> CheckedFeed:
    """Check a parsed body as `create_feed` does, and store nothing. Raises `RefusalError`."""
    body = read_body(FeedRequest, content)
    trigger = requested_trigger(content)
    source = _read_source(body, trigger, routes, limits)
    stored_record = ChainRecord.objects.filter(chain=source, recorded_at__isnull=False).first()
    record = stored_record or ChainRecord(chain=source)
    trigger.check_interval(source, record.block_seconds)
    due = trigger.first_due(record)
    request = check_run(body.content, trigger.sample_run(due), routes, limits)
    if stored_record is None:
        raise RefusalError(
            FeedCode.HEAD_UNKNOWN,
            f"No prover has read the newest block of chain {source} yet. Try again in a minute.",
            path=f"batch.data.{source}",
        )
    trigger.check_batch(request)
    first_time = due if trigger.is_time else record.timestamp
    if body.until is not None and body.until < first_time:
        raise WHOLE_BODY.child("until").refusal(
            FeedCode.FEED_MALFORMED,
            f"is {format_timestamp(body.until)}, before the first run; it must be {first_time} or "
            "later.",
        )
    _check_budget(body.budget, request.fee, routes.chains[request.destination].currency)
    return CheckedFeed(body, trigger, source, due, request)


def create_feed(
    owner: Account, content: Any, routes: Routes, limits: BatchLimits
) -> tuple[Feed, CheckedBatch]:
    """Check and store a feed. Returns it with its first batch, which is not stored yet."""
    checked = check_feed(content, routes, limits)
    body, trigger = checked.body, checked.trigger
    now = shared_now()
    feed = Feed(
        id=str(ULID.from_datetime(now)),
        owner=owner,
        name=body.name or "",
        request=json.dumps(content),
        source=checked.source,
        trigger=trigger.code,
        interval=trigger.interval,
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
        check_feed_count(owner)
        feed.save(force_insert=True)
    return feed, checked.batch


def check_feed_count(owner: Account) -> None:
    """Refuse another feed if the account has as many as it may. Raises `RefusalError`."""
    own_feeds = Feed.objects.filter(owner=owner).exclude(state=FeedState.ENDED)
    if own_feeds.count() >= settings.FEEDS_PER_ACCOUNT:
        raise RefusalError(
            FeedCode.TOO_MANY_FEEDS,
            f"An account may have {format_count(settings.FEEDS_PER_ACCOUNT, 'feed')} here. End "
            "one that is not needed.",
        )


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
    keys = {NAMED_BLOCK} if "block" in body.content else trigger.selectors
    if len(blocks) != 1 or not blocks.keys() <= keys:
        names = ", ".join(map(quote_text, list(blocks)[:3])) or "no block"
        choices = " or ".join(f'"{key}"' for key in sorted(keys))
        raise _malformed(
            path.child(chain),
            f"has {names}, but this feed's one block must have the key {choices}.",
        )
    return read_chain(chain, path.child(chain), routes)


def _check_budget(budget: int | None, fee: int, currency: str) -> None:
    if budget is not None and budget < fee:
        raise _malformed(
            WHOLE_BODY.child("budget"),
            f"is {short_amount(budget, currency)}, but one run may spend its fee, "
            f"{short_amount(fee, currency)}.",
        )


def _malformed(path: JsonPath, problem: str) -> RefusalError:
    return path.refusal(FeedCode.FEED_MALFORMED, problem)


def change_feed(owner: Account, feed_id: str, content: object, routes: Routes) -> Feed:
    """Pause or resume the feed, or change its budget or name."""
    change = read_body(FeedChange, content)
    with transaction.atomic():
        feed = _locked_feed(owner, feed_id)
        if feed.state == FeedState.ENDED:
            sentence = f"This feed has ended: {feed.reason}"
            raise RefusalError(FeedCode.FEED_ENDED, sentence, path="feed")
        if change.budget is not None:
            batch = batch_of(feed.request)
            _check_budget(change.budget, int(batch["fee"]), payment_currency(batch, routes))
            feed.budget = f"{change.budget:064x}"
            # Not those that wait because a feed runs once in `FEED_SECONDS`.
            rows = unclaimed_runs(feed).exclude(due_at=None).exclude(waits_for="")
            rows.update(due_at=shared_now())
        if "name" in change.model_fields_set:
            feed.name = change.name or ""
        is_paused = change.state == FeedState.PAUSED and feed.state == FeedState.ACTIVE
        is_resumed = change.state == FeedState.ACTIVE and feed.state == FeedState.PAUSED
        if is_resumed and feed.catch_up == CatchUp.LATEST:
            _skip_to_latest(feed)
        feed.save()
        if is_paused:
            pause_feed_by_owner(feed)
        elif is_resumed:
            resume_feed(feed)
            queue_next_run(feed, is_scheduled=TRIGGERS[feed.trigger].is_scheduled)
        feed.refresh_from_db()
    return feed


def _skip_to_latest(feed: Feed) -> None:
    """Leave out what was due in a pause, except the latest run."""
    record = ChainRecord.objects.get(chain=feed.source)
    feed.due = stored_trigger(feed).due_after_pause(feed, record)
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
        trigger = stored_trigger(feed)
        if not trigger.can_run_now:
            sentence = "This feed runs for logs, and a run without one has nothing to fill in."
            raise RefusalError(FeedCode.FEED_NOT_RUNNABLE, sentence, path="feed")
        due = trigger.newest_due(ChainRecord.objects.get(chain=feed.source))
        if earlier := feed.runs.filter(due=due, submitted_at__isnull=False).first():
            return earlier, False
        if reason := budget_shortage(feed, routes):
            raise RefusalError(FeedCode.FEED_NOT_RUNNABLE, reason, path="feed")
        run = scheduled_run(due, is_time=trigger.is_time)
        feed.runs.filter(due=due, submitted_at=None).delete()  # it is submitted now
        row = submitted_run(feed, run, routes)
        if trigger.compares_values:
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
