"""Feeds and their runs: an account's own for the API, and anybody's for pages."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone

from accounts.http.errors import RefusalError
from accounts.models import Account
from queries.feeds.bodies import DueRun, batch_of, one_block, run_body
from queries.feeds.budget import OVER_BUDGET, next_run_fits_at
from queries.feeds.outcomes import RefusedDeliveries, newest_failures, refused_deliveries
from queries.feeds.trigger import Trigger
from queries.feeds.triggers import stored_trigger
from queries.feeds.watched_values import WatchedValue
from queries.ids import is_ulid
from queries.intake.batch_rows import build_queries, set_counts
from queries.intake.submit import batch_limits
from queries.models import Batch, Delivery, Feed, FeedRun
from queries.reading.batch_details import (
    BatchSummary,
    TransactionShare,
    batch_summary,
    transaction_shares,
)
from queries.reading.batches import QueryView
from queries.reading.deliveries import DeliveryView, read_deliveries
from queries.reading.facts import FactView
from queries.reading.feed_values import first_values
from queries.reading.pagination import Cursor, Page, read_page
from queries.schema.batch_checks import read_batch
from queries.schema.templates import fill_in
from queries.selectors import Selector
from queries.sources import Routes
from queries.statuses import BatchStatus, CatchUp, DeliveryState, FeedState
from queries.wait_reasons import Reason

_PLACEHOLDER = re.compile(r"\$topic[0-9]|\$data\[[0-9]+\]")


@dataclass(frozen=True, slots=True)
class FeedView:
    """A feed, and when it is due."""

    id: str
    name: str  # or empty
    state: FeedState
    reason: str  # why it is paused or has ended
    waits_for: str  # why a run that is due waits
    is_over_budget: bool  # which is why it waits
    budget_frees_at: datetime | None  # when the run fits; None also if that is not known
    refused: RefusedDeliveries | None  # the deliveries that wait because its contract refuses them
    failure: str  # that its newest runs have failed or are refused, and why
    source: int
    trigger: Trigger
    next: Selector | None  # None once it has ended, and for logs
    last_value: int | None  # that was proven last, if it runs for changes of a value
    compared_value: int | None  # with which the next reading is compared: proven, or about to be
    read_value: int | None  # that was read last, likewise; it is not proven
    heartbeat: datetime | None  # when the next run comes in any case
    catch_up: CatchUp
    until: datetime | None
    budget: int | None  # wei
    created_at: datetime
    batch: dict[str, Any]  # its body; the webhook's headers, which may be secret, are left out


@dataclass(frozen=True, slots=True)
class FeedRunView:
    """A run of a feed: its batch, or why there is none."""

    selector: Selector
    log_index: int | None
    submitted_at: datetime
    batch: str | None
    status: BatchStatus | None
    deliveries: Sequence[DeliveryState]  # of the batch, in their order
    error: Reason | None


def feed_page(owner: Account, *, cursor: Cursor | None, limit: int) -> Page[FeedView]:
    """A page of the account's feeds, newest first."""
    feeds = Feed.objects.filter(owner=owner).select_related("open_run")
    page = read_page(feeds, ("id",), cursor, limit)
    return page.with_rows(map(feed_view, page.rows))


def find_feed(owner: Account, feed_id: str) -> Feed | None:
    return Feed.objects.filter(owner=owner, pk=feed_id if is_ulid(feed_id) else None).first()


def run_page(feed: Feed, *, cursor: Cursor | None, limit: int) -> Page[FeedRunView]:
    """A page of the feed's runs that were submitted or refused, newest first."""
    runs = FeedRun.objects.filter(feed=feed, submitted_at__isnull=False).select_related("batch")
    page = read_page(runs, ("id",), cursor, limit)
    states = defaultdict[str, list[DeliveryState]](list)
    rows = Delivery.objects.filter(batch__in=[run.batch_id for run in page.rows if run.batch_id])
    for batch, state in rows.order_by("batch", "position").values_list("batch", "state"):
        states[batch].append(DeliveryState(state))
    return page.with_rows(_run_view(feed, run, states[run.batch_id or ""]) for run in page.rows)


def run_view(run: FeedRun) -> FeedRunView:
    """A run that was just submitted."""
    count = run.batch.delivery_count if run.batch else 0
    return _run_view(run.feed, run, [DeliveryState.WAITING] * count)


def _run_view(feed: Feed, run: FeedRun, deliveries: Sequence[DeliveryState]) -> FeedRunView:
    trigger = stored_trigger(feed)
    return FeedRunView(
        selector=trigger.selector(run.due),
        log_index=None if trigger.can_run_now else run.log_index,
        submitted_at=run.submitted_at or timezone.now(),
        batch=run.batch_id,
        status=BatchStatus(run.batch.status) if run.batch else None,
        deliveries=deliveries,
        error=Reason(run.error_code, run.error_sentence) if run.error_code else None,
    )


def feed_view(row: Feed) -> FeedView:
    batch = batch_of(row.request)
    if "webhook" in batch:
        batch["webhook"] = {"url": batch["webhook"]["url"]}
    waiting = row.runs.filter(submitted_at=None).order_by("id").first()
    is_over_budget = waiting is not None and waiting.wait_code == OVER_BUDGET
    trigger = stored_trigger(row)
    has_next = trigger.can_run_now and row.state != FeedState.ENDED
    return FeedView(
        id=row.pk,
        name=row.name,
        state=FeedState(row.state),
        reason=row.reason,
        is_over_budget=is_over_budget,
        budget_frees_at=next_run_fits_at(row) if is_over_budget else None,
        refused=refused_deliveries(row),
        waits_for=(waiting.waits_for if waiting else "") or row.waits_for,
        failure=newest_failures(row).sentence if row.state == FeedState.ACTIVE else "",
        source=row.source,
        trigger=trigger,
        next=trigger.selector(waiting.due if waiting else row.due) if has_next else None,
        last_value=int(row.last_value, 16) if row.last_value else None,
        compared_value=_compared_value(row),
        read_value=int(row.read_value, 16) if row.read_value else None,
        heartbeat=_next_heartbeat(row, trigger),
        catch_up=CatchUp(row.catch_up),
        until=row.until,
        budget=int(row.budget, 16) if row.budget else None,
        created_at=row.created_at,
        batch=batch,
    )


def _compared_value(row: Feed) -> int | None:
    value = (row.open_run.value if row.open_run else "") or row.last_value
    return int(value, 16) if value else None


def _next_heartbeat(row: Feed, trigger: Trigger) -> datetime | None:
    if not isinstance(trigger, WatchedValue) or not trigger.body.heartbeat:
        return None
    runs = row.runs.filter(submitted_at__isnull=False, read_time__isnull=False).order_by("-id")
    read_time = runs.values_list("read_time", flat=True).first()
    if read_time is None:
        return None
    return datetime.fromtimestamp(read_time + trigger.body.heartbeat.count, UTC)


# Pages


@dataclass(frozen=True, slots=True)
class RepeatedBatch:
    """What each run of a feed asks for."""

    destination: int
    fee: int  # wei
    summary: BatchSummary


@dataclass(frozen=True, slots=True)
class RunDetails:
    """A run with its value, its deliveries and its costs."""

    run: FeedRunView
    value: FactView | None  # the first fact that it asks for, once that is proven
    deliveries: Sequence[DeliveryView]
    shares: Sequence[TransactionShare]  # of transactions
    destination: int | None  # of its batch
    spent: int  # wei
    reason: Reason | None  # why its batch or a delivery has failed, or why a delivery waits


def public_feed(feed_id: str) -> FeedView | None:
    """The feed, whoever owns it."""
    feed = Feed.objects.filter(pk=feed_id).first() if is_ulid(feed_id) else None
    return feed_view(feed) if feed else None


def owns_feed(account: Account, feed_id: str) -> bool:
    return Feed.objects.filter(pk=feed_id, owner=account).exists()


def feed_of_batch(batch_id: str) -> str:
    """The feed of which this batch is a run; empty if it is not one."""
    runs = FeedRun.objects.filter(batch=batch_id)
    return runs.values_list("feed_id", flat=True).first() or ""


def repeated_batch(feed: FeedView, routes: Routes) -> RepeatedBatch | None:
    """The feed's batch; None if this server no longer accepts it."""
    run = feed.trigger.sample_run(1)
    try:
        request = read_batch(run_body(feed.batch, run), routes, batch_limits())
    except RefusalError:
        return None
    batch = Batch(destination=request.destination, block_count=1)
    queries = list(build_queries(batch, request.blocks))
    set_counts(batch, queries)
    for query in queries:  # as in summaries of stored batches
        query.slots = query.slots if query.slot_count == 1 else []
    summary = batch_summary(batch, queries, {})
    summary = replace(summary, queries=tuple(_with_placeholders(summary.queries, feed, run)))
    return RepeatedBatch(request.destination, request.fee, summary)


def _with_placeholders(
    queries: Iterable[QueryView], feed: FeedView, run: DueRun
) -> Iterator[QueryView]:
    """The queries with the feed's placeholders, not the run's values, as accounts and slots."""
    chain, key = one_block(feed.batch)
    accounts = feed.batch["data"][chain][key].get("accounts", {})
    texts = {str(fill_in(text, run.values)).lower(): text for text in accounts}
    names = feed.trigger.placeholder_names
    for query in queries:
        text = texts.get(query.account.lower(), "")
        slots = accounts.get(text, {}).get("slots", ())
        yield replace(
            query,
            name=_with_name(text, names) if "$" in text else query.name,
            slots=tuple(_with_name(slot, names) for slot in slots)
            if query.slots and "$" in "".join(slots)
            else query.slots,
        )


def _with_name(text: str, names: Mapping[str, str]) -> str:
    """The text with an event's own names for its values, such as `$from` for `$topic1`."""
    return _PLACEHOLDER.sub(lambda match: names.get(match[0], match[0]), text)


def newest_runs(feed_id: str, limit: int) -> Sequence[FeedRunView]:
    """The feed's newest runs, newest first."""
    return run_page(Feed.objects.get(pk=feed_id), cursor=None, limit=limit).rows


def run_details_page(feed_id: str, *, cursor: Cursor | None, limit: int) -> Page[RunDetails]:
    """A page of the feed's runs, newest first."""
    page = run_page(Feed.objects.get(pk=feed_id), cursor=cursor, limit=limit)
    ids = [run.batch for run in page.rows if run.batch]
    batches = Batch.objects.in_bulk(ids)
    values, deliveries, shares = first_values(ids), read_deliveries(ids), transaction_shares(ids)
    return page.with_rows(
        RunDetails(
            run=run,
            value=values.get(run.batch or ""),
            deliveries=deliveries.get(run.batch or "", ()),
            shares=shares.get(run.batch or "", ()),
            destination=batches[run.batch].destination if run.batch else None,
            spent=int(batches[run.batch].spent, 16) if run.batch else 0,
            reason=_reason(batches.get(run.batch or ""), deliveries.get(run.batch or "", ())),
        )
        for run in page.rows
    )


def _reason(batch: Batch | None, deliveries: Iterable[DeliveryView]) -> Reason | None:
    if batch and batch.error_code:
        return Reason(batch.error_code, batch.error_sentence)
    return next(filter(None, (call.error or call.waits_for for call in deliveries)), None)
