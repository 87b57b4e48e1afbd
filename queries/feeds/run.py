"""Submit the batches of feeds that are due.

A run is stored in the transaction that moves the feed to its next due, so that two provers never
store it twice and one that is killed never skips it.
"""

import json
import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Subquery, Value, When
from ulid import ULID

from accounts.database_state import OUTAGE_ERRORS
from accounts.http.errors import RefusalError
from accounts.wording import DAY
from queries.config.routes import Routes
from queries.database.clock import shared_now
from queries.database.durable import durable_transaction
from queries.error_codes import RequestCode
from queries.feeds.bodies import check_run
from queries.feeds.schedule import due_columns, due_of, due_selector, last_due
from queries.intake.submit import batch_limits, store_batch
from queries.models import Batch, ChainRecord, Delivery, Feed, FeedRun
from queries.statuses import (
    ENDED_STATUSES,
    OPEN_DELIVERIES,
    BatchStatus,
    CatchUp,
    DeliveryState,
    FeedState,
)

log = logging.getLogger("tacitus.prover")

Columns = dict[str, Any]  # of a feed, to update
MAX_FAILED_RUNS = 5  # in a row, until the feed is paused
FEEDS_PER_POLL, RUNS_PER_FEED = 100, 10  # at most, so that heads are polled in time
RETRY_PAUSE = timedelta(seconds=60)  # of a run that waits for its budget or its block

_deliveries = Delivery.objects.filter(batch=OuterRef("batch"))
IS_OPEN = Q(batch__isnull=False) & (
    ~Q(batch__status__in=ENDED_STATUSES) | Exists(_deliveries.filter(state__in=OPEN_DELIVERIES))
)
HAS_FAILED = (
    Q(batch=None)
    | Q(batch__status=BatchStatus.REJECTED)
    | Exists(_deliveries.filter(state=DeliveryState.FAILED))
)


def submit_due_runs(
    routes: Routes, sources: Iterable[int], is_stopped: Callable[[], bool] = lambda: False
) -> None:
    """Submit what is due of all feeds. `sources`: the chains whose heads are recorded."""
    is_due = _due_condition(shared_now(), sources)
    for feed_id in Feed.objects.filter(is_due).values_list("pk", flat=True)[:FEEDS_PER_POLL]:
        rows = Feed.objects.filter(is_due, pk=feed_id)
        try:
            for _ in range(RUNS_PER_FEED):
                if is_stopped() or not _submit_next_run(rows, routes):
                    break
        except OUTAGE_ERRORS:
            raise
        except Exception:
            log.exception("Unexpected error while submitting a run of feed %s.", feed_id)
            waiting = _waiting("An error on our side; it is tried again.")
            Feed.objects.filter(pk=feed_id).update(**waiting)


def _due_condition(now: datetime, sources: Iterable[int]) -> Q:
    """Match feeds that are due, by the indexes on their times and blocks."""
    is_due = Q(due_at__lte=now)
    for source in sources:
        head = ChainRecord.objects.filter(chain=source, recorded_at__isnull=False).values("number")
        is_due |= Q(source=source, due_block__lte=Subquery(head))
    return Q(state=FeedState.ACTIVE) & is_due & (Q(retry_at=None) | Q(retry_at__lte=now))


def _submit_next_run(rows: QuerySet[Feed], routes: Routes) -> bool:
    """Submit the feed's next run, if it is due. Returns whether another one may be."""
    with durable_transaction():
        locked_rows = rows.select_for_update(of=("self",), no_key=True, skip_locked=True)
        feed = locked_rows.select_related("owner").first()
        if feed is None:
            return False
        due = _due_to_run(feed)
        changes = _obstacle(feed) if due is not None else _ended()
        if due is not None and not changes:
            changes = _run(feed, due, routes)
        Feed.objects.filter(pk=feed.pk).update(**changes)
    if changes.get("state"):
        log.info("Feed %s is %s: %s", feed.pk, changes["state"], changes["reason"])
    return "due_at" in changes and "state" not in changes


def _obstacle(feed: Feed) -> Columns:
    """The changes of a feed that cannot run now; none if it can."""
    if not feed.owner.is_active:
        return _paused("The operator has disabled the account.")
    if reason := _failures(feed):
        return _paused(reason)
    if reason := _budget_shortage(feed):
        return _waiting(reason)
    return {}


def _run(feed: Feed, due: int, routes: Routes) -> Columns:
    """Store the run, and return the feed's changes."""
    try:
        with transaction.atomic():
            run = _new_run(feed, due, batch=_store_batch(feed, due, routes))
    except RefusalError as error:
        if error.code == RequestCode.BLOCK_BEYOND_HEAD.code:  # the chain stands still
            return _waiting(error.sentence)
        log.warning("A run of feed %s was refused: %s", feed.pk, error.sentence)
        run = _new_run(feed, due, error_code=error.code, error_sentence=error.sentence[:1_000])
    run.save(force_insert=True)
    is_time, following = feed.due_at is not None, due + feed.interval
    changes = {**due_columns(following, is_time=is_time), "waits_for": "", "retry_at": None}
    if is_time and feed.until and following > feed.until.timestamp():
        return changes | _ended()
    if run.batch is None and (reason := _failures(feed)):
        return changes | _paused(reason)
    return changes


def _paused(reason: str) -> Columns:
    columns = {"state": FeedState.PAUSED, "reason": reason[:1_000]}
    return {**columns, "waits_for": "", "retry_at": None}


def _ended() -> Columns:
    return {"state": FeedState.ENDED, "reason": "Its time is over.", "waits_for": ""}


def _waiting(reason: str) -> Columns:
    return {"waits_for": reason[:1_000], "retry_at": shared_now() + RETRY_PAUSE}


def _new_run(feed: Feed, due: int, **columns: object) -> FeedRun:
    now = shared_now()
    return FeedRun(id=str(ULID.from_datetime(now)), feed=feed, due=due, submitted_at=now, **columns)


def _store_batch(feed: Feed, due: int, routes: Routes) -> Batch:
    request = check_run(json.loads(feed.body), due_selector(feed, due), routes, batch_limits())
    # No key of a user has a space.
    return store_batch(feed.owner, request, f"feed {feed.pk} {due}", routes)


def _due_to_run(feed: Feed) -> int | None:
    """The block or time to run: the oldest that was not run, or the newest. None after the end."""
    now, until = shared_now(), feed.until
    due = due_of(feed)
    if feed.due_at is None:
        if until and now > until:
            return None
        head = ChainRecord.objects.get(chain=feed.source).number
    else:
        head = int(min(now, until or now).timestamp())
        if due > head:
            return None
    return due if feed.catch_up == CatchUp.ALL else max(due, last_due(head, feed.interval))


def _budget_shortage(feed: Feed) -> str:
    """Why the next run does not fit the budget of 24 hours; empty if it does."""
    if not feed.budget:
        return ""
    budget, fee = int(feed.budget, 16), int(json.loads(feed.body)["fee"])
    since = shared_now() - timedelta(seconds=DAY)
    runs = feed.runs.filter(batch__submitted_at__gt=since)
    cost = Case(When(IS_OPEN, then=F("batch__fee")), default=F("batch__spent"))
    reserved = sum(int(wei, 16) for wei in runs.annotate(cost=cost).values_list("cost", flat=True))
    if reserved + fee <= budget:
        return ""
    return (
        f"Its runs of the last 24 hours have spent or reserve {reserved} wei, and the next one "
        f"reserves {fee}: more than the budget of {budget}."
    )


def _failures(feed: Feed) -> str:
    """A sentence if all of its last runs have failed since it was resumed."""
    runs = feed.runs.filter(~IS_OPEN, submitted_at__gte=feed.resumed_at)
    has_failed = Case(When(HAS_FAILED, then=Value(True)), default=Value(False))
    newest = runs.annotate(has_failed=has_failed).order_by("-due")
    outcomes = list(newest.values_list("has_failed", "error_sentence")[:MAX_FAILED_RUNS])
    if len(outcomes) < MAX_FAILED_RUNS or not all(has_failed for has_failed, _ in outcomes):
        return ""
    return f"Its last {MAX_FAILED_RUNS} runs have failed. {outcomes[0][1]}".strip()
