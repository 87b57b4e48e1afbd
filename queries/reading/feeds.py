"""An account's feeds, and the runs of one."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from accounts.models import Account
from queries.feeds.schedule import due_selector
from queries.ids import is_ulid
from queries.models import Delivery, Feed, FeedRun
from queries.reading.pagination import Cursor, Page, read_page
from queries.schema.checked_batch import Selector
from queries.statuses import BatchStatus, CatchUp, DeliveryState, FeedState, Trigger
from queries.wait_reasons import Reason


@dataclass(frozen=True, slots=True)
class FeedView:
    """A feed, and when it is due."""

    id: str
    state: FeedState
    reason: str  # why it is paused or has ended
    waits_for: str  # why a run that is due waits
    source: int
    trigger: dict[str, Any]  # the request's `every`, `on` or `when`, by its name
    next: Selector | None  # None once it has ended, and for logs
    last_value: int | None  # for which it ran, if it runs for changes of a value
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
    page = read_page(Feed.objects.filter(owner=owner), ("id",), cursor, limit)
    return page.with_rows(map(feed_view, page.rows))


def find_feed(owner: Account, feed_id: str) -> Feed | None:
    return Feed.objects.filter(owner=owner, pk=feed_id if is_ulid(feed_id) else None).first()


def run_page(feed: Feed, *, cursor: Cursor | None, limit: int) -> Page[FeedRunView]:
    """A page of the feed's runs, newest first."""
    runs = FeedRun.objects.filter(feed=feed).select_related("batch")
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
    return FeedRunView(
        selector=due_selector(feed, run.due),
        log_index=run.log_index if feed.trigger == Trigger.LOGS else None,
        submitted_at=run.submitted_at,
        batch=run.batch_id,
        status=BatchStatus(run.batch.status) if run.batch else None,
        deliveries=deliveries,
        error=Reason(run.error_code, run.error_sentence) if run.error_code else None,
    )


def feed_view(row: Feed) -> FeedView:
    request = json.loads(row.request)
    batch = request["batch"]
    if "webhook" in batch:
        batch["webhook"] = {"url": batch["webhook"]["url"]}
    has_next = row.trigger != Trigger.LOGS and row.state != FeedState.ENDED
    return FeedView(
        id=row.pk,
        state=FeedState(row.state),
        reason=row.reason,
        waits_for=row.waits_for,
        source=row.source,
        trigger={name: request[name] for name in ("every", "on", "when") if name in request},
        next=due_selector(row, row.due) if has_next else None,
        last_value=int(row.last_value, 16) if row.last_value else None,
        catch_up=CatchUp(row.catch_up),
        until=row.until,
        budget=int(row.budget, 16) if row.budget else None,
        created_at=row.created_at,
        batch=batch,
    )
