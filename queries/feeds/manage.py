"""Make, change and end feeds."""

import json
import math
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from ulid import ULID

from accounts.http.errors import RefusalError
from accounts.models import Account
from accounts.wording import format_count, format_timestamp, quote_text
from queries.config.routes import Routes
from queries.database.clock import shared_now
from queries.error_codes import FeedCode
from queries.feeds.bodies import check_run
from queries.feeds.schedule import due_columns, next_due
from queries.ids import is_ulid
from queries.models import ChainRecord, Feed
from queries.schema.batch_checks import BatchLimits, read_chain
from queries.schema.bodies import read_body
from queries.schema.checked_batch import CheckedBatch, Selector
from queries.schema.feed_bodies import DUE_BLOCK, DUE_TIME, EveryBody, FeedChange, FeedRequest
from queries.schema.paths import WHOLE_BODY, JsonPath
from queries.statuses import FeedState

ENDED_BY_OWNER, PAUSED_BY_OWNER = "Its owner ended it.", "Its owner paused it."


def create_feed(
    owner: Account, content: Any, routes: Routes, limits: BatchLimits
) -> tuple[Feed, CheckedBatch]:
    """Check and store a feed. Returns it with its first batch, which is not stored yet."""
    body = read_body(FeedRequest, content)
    source = _read_source(body, routes)
    is_time = "seconds" in body.every.model_fields_set
    interval = body.every.seconds if is_time else body.every.blocks
    record = ChainRecord.objects.filter(chain=source, recorded_at__isnull=False).first()
    _check_interval(body.every, source, record.block_seconds if record else None)
    now = shared_now()
    head = record.number if record else 0
    due = next_due(int(now.timestamp()) if is_time else head, interval)
    batch: dict[str, Any] = content["batch"]
    request = check_run(batch, Selector(due, is_time=is_time), routes, limits)
    if not is_time and record is None:
        raise RefusalError(
            FeedCode.HEAD_UNKNOWN,
            f"No prover has read the newest block of chain {source} yet. Try again in a minute.",
            path="every.blocks",
        )
    until = body.until
    if until is not None and until < (first := due if is_time else int(now.timestamp())):
        raise WHOLE_BODY.child("until").refusal(
            FeedCode.FEED_MALFORMED,
            f"is {format_timestamp(until)}, before the first run; it must be {first} or later.",
        )
    _check_budget(body.budget, request.fee)
    feed = Feed(
        id=str(ULID.from_datetime(now)),
        owner=owner,
        body=json.dumps(batch),
        source=source,
        interval=interval,
        **due_columns(due, is_time=is_time),
        catch_up=body.catchUp,
        until=None if until is None else datetime.fromtimestamp(until, UTC),
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
    return feed, request


def _read_source(body: FeedRequest, routes: Routes) -> int:
    """The source chain. Refuse other chains, other blocks, and a key that is not the due one."""
    path = WHOLE_BODY.child("batch").child("data")
    if len(body.batch.data) != 1:
        count = format_count(len(body.batch.data), "source chain")
        raise _malformed(path, f"has {count}, but a feed has one.")
    ((chain, blocks),) = body.batch.data.items()
    key = DUE_TIME if "seconds" in body.every.model_fields_set else DUE_BLOCK
    if list(blocks) != [key]:
        names = ", ".join(map(quote_text, list(blocks)[:3])) or "no block"
        raise _malformed(
            path.child(chain), f'has {names}, but this feed\'s one block must have the key "{key}".'
        )
    return read_chain(chain, path.child(chain), routes)


def _check_interval(every: EveryBody, source: int, block_seconds: float | None) -> None:
    """Refuse an interval shorter than a block of the source, or than the operator's minimum."""
    path, shortest = WHOLE_BODY.child("every"), settings.FEED_SECONDS
    blocks_take = f", and a block of chain {source} takes {block_seconds or 0:.3g} seconds"
    reason = f"a feed may run once in {format_count(shortest, 'second')} here"
    if "seconds" in every.model_fields_set:
        minimum = max(shortest, math.ceil(block_seconds or 0))
        if every.seconds < minimum:
            raise _malformed(
                path.child("seconds"),
                f"is {every.seconds}, but must be at least {minimum}: {reason}"
                f"{blocks_take if block_seconds else ''}.",
            )
        return
    minimum = math.ceil(shortest / block_seconds) if block_seconds else 1
    if every.blocks < minimum:
        raise _malformed(
            path.child("blocks"),
            f"is {every.blocks}, but must be at least {minimum}: {reason}{blocks_take}.",
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
            _check_budget(change.budget, int(json.loads(feed.body)["fee"]))
            feed.budget, feed.retry_at = f"{change.budget:064x}", None
        if change.state == FeedState.PAUSED and feed.state == FeedState.ACTIVE:
            feed.state, feed.reason = FeedState.PAUSED, PAUSED_BY_OWNER
            feed.waits_for, feed.retry_at = "", None
        elif change.state == FeedState.ACTIVE and feed.state == FeedState.PAUSED:
            feed.state, feed.reason, feed.resumed_at = FeedState.ACTIVE, "", shared_now()
        feed.save()
    return feed


def end_feed(owner: Account, feed_id: str) -> Feed:
    """End the feed. Its batches stay."""
    with transaction.atomic():
        feed = _locked_feed(owner, feed_id)
        if feed.state != FeedState.ENDED:
            feed.state, feed.reason, feed.waits_for = FeedState.ENDED, ENDED_BY_OWNER, ""
            feed.save()
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
