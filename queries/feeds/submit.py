"""Submit the batches of runs; feeds whose runs fail are paused."""

import logging
from datetime import timedelta
from typing import Any, ClassVar

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from ulid import ULID

from accounts.http.errors import RefusalError
from queries.database.clock import shared_now
from queries.database.handler import Handler, Wait, WorkContext
from queries.database.leases import Lease
from queries.error_codes import RequestCode, SubmissionCode
from queries.feeds.bodies import DueRun, batch_of, check_run, scheduled_run
from queries.feeds.budget import OVER_BUDGET, budget_shortage
from queries.feeds.outcomes import MAX_FAILED_RUNS, newest_failures
from queries.feeds.runs import WAITS, end_past_feeds, new_row, queue_next_run, refusal_columns
from queries.feeds.triggers import TRIGGERS
from queries.intake.submit import batch_limits, store_batch
from queries.models import Batch, Feed, FeedRun
from queries.selectors import Selector
from queries.sources import Routes
from queries.statuses import FeedState
from queries.transitions import pause_feed
from queries.wait_reasons import Reason

log = logging.getLogger("tacitus.prover")

# The chain stands still, or the account's limit of a day is used up.
_WAITING_CODES = {RequestCode.BLOCK_BEYOND_HEAD.code, SubmissionCode.TOO_MANY_FACTS.code}


def submitted_run(feed: Feed, run: DueRun, routes: Routes) -> FeedRun:
    """Submit a run at once, and store it. Raises `RefusalError`."""
    now = shared_now()
    columns = {"batch": _store_batch(feed, run, routes), "submitted_at": now}
    row = new_row(feed, run, str(ULID.from_datetime(now)), **columns)
    row.save(force_insert=True)
    return row


def _due_run(row: FeedRun) -> DueRun:
    if row.block is None:
        return scheduled_run(row.due, is_time=TRIGGERS[row.feed.trigger].is_time)
    return DueRun(row.due, Selector(row.block), row.placeholders, log_index=row.log_index)


def _store_batch(feed: Feed, run: DueRun, routes: Routes) -> Batch:
    request = check_run(batch_of(feed.request), run, routes, batch_limits())
    # No key of a user has a space.
    key = f"feed {feed.pk} {run.due} {run.log_index or 0}"
    return store_batch(feed.owner, request, key, routes)


class FeedRunHandler(Handler[FeedRun, WorkContext]):
    """Submits the batches of runs, and pauses feeds that fail."""

    model = FeedRun
    # Its feed was paused, and resumed meanwhile.
    stays_due: ClassVar[Q] = WAITS & ~Q(feed__state=FeedState.PAUSED)

    def work(self, lease: Lease[FeedRun], context: WorkContext) -> Wait | None:
        with transaction.atomic():
            # Other runs of the feed wait for the lock, because they have the same budget.
            feeds = Feed.objects.select_for_update(of=("self",), no_key=True)
            feed = feeds.select_related("owner").filter(pk=lease.row.feed_id).first()
            lease.extend()
            if feed is None or lease.row.submitted_at or feed.state == FeedState.PAUSED:
                return None
            return self._submit(lease, feed, context.routes)

    def _submit(self, lease: Lease[FeedRun], feed: Feed, routes: Routes) -> Wait | None:
        row, pause = lease.row, timedelta(seconds=settings.FEED_SECONDS)
        row.feed = feed
        if not feed.owner.is_active:
            pause_feed(feed, "The operator has disabled the account.")
            return None
        if failures := _too_many_failures(feed):
            pause_feed(feed, failures)
            return None
        if shortage := budget_shortage(feed, routes):
            return Wait(Reason(OVER_BUDGET, shortage), pause)
        try:
            with transaction.atomic():
                row.batch = _store_batch(feed, _due_run(row), routes)
        except RefusalError as error:
            if error.code in _WAITING_CODES:
                return Wait(Reason(error.code, error.sentence), pause)
            log.warning("A run of feed %s was refused: %s", feed.pk, error.sentence)
            _store(lease, **refusal_columns(error))
            if failures := _too_many_failures(feed):
                pause_feed(feed, failures)
                return None
        else:
            _store(lease, batch=row.batch, submitted_at=shared_now(), placeholders={})
        kind = TRIGGERS[feed.trigger]
        queue_next_run(feed, is_scheduled=kind.is_scheduled)
        if kind.is_time and feed.until and feed.due > feed.until.timestamp():
            end_past_feeds(Feed.objects.filter(pk=feed.pk))
        return None


def _store(lease: Lease[FeedRun], **columns: Any) -> None:
    """Store what the run has come to. Later values are compared with the one it was made for."""
    lease.owned_rows().update(**columns)
    if lease.row.read_time is not None:
        Feed.objects.filter(pk=lease.row.feed_id).update(open_run=lease.row)


def _too_many_failures(feed: Feed) -> str:
    """A sentence if the newest runs have failed so often that the feed is paused; or empty."""
    failures = newest_failures(feed)
    return failures.sentence if failures.count == MAX_FAILED_RUNS else ""
