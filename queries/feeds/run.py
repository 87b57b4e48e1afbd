"""Submit the batches of feeds that are due.

A run is stored in the transaction that moves the feed to its next due, so that two provers never
store it twice and one that is killed never skips it.
"""

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet, Subquery
from ulid import ULID

from accounts.database_state import OUTAGE_ERRORS
from accounts.http.errors import RefusalError
from queries.config.routes import Routes
from queries.database.clock import shared_now
from queries.database.durable import durable_transaction
from queries.error_codes import RequestCode, SubmissionCode
from queries.feeds.bodies import DueRun, check_run, scheduled_run
from queries.feeds.budget import budget_shortage
from queries.feeds.outcomes import MAX_FAILED_RUNS, newest_failures
from queries.feeds.schedule import last_due
from queries.feeds.triggers import batch_of
from queries.intake.submit import batch_limits, store_batch
from queries.models import Batch, ChainRecord, Feed, FeedRun
from queries.statuses import CatchUp, FeedState, Trigger
from queries.transitions import end_feeds, pause_feed

log = logging.getLogger("tacitus.prover")

Columns = dict[str, Any]  # of a feed, to update
TIME_IS_OVER = "Its time is over."
FEEDS_PER_POLL, LOGS_PER_FEED = 25, 10  # at most, so that heads are polled in time
MAX_MISSED_RUNS = 100  # that a feed makes up for
# The chain stands still, or the account's limit of a day is used up.
WAITING_CODES = {RequestCode.BLOCK_BEYOND_HEAD.code, SubmissionCode.TOO_MANY_FACTS.code}


def submit_due_runs(
    routes: Routes, sources: Iterable[int], is_stopped: Callable[[], bool] = lambda: False
) -> None:
    """Submit a run of each feed that runs `every` so often and is due. `sources`: chains that are
    polled.

    A time is due when the source has a later block, so that the last one before it is known. Feeds
    that were not tried for the longest time come first.
    """
    is_due = can_run(shared_now()) & _schedule_condition(sources)
    feeds = Feed.objects.filter(is_due).order_by(F("next_attempt_at").asc(nulls_first=True))
    for feed_id in feeds.values_list("pk", flat=True)[:FEEDS_PER_POLL]:
        if is_stopped():
            break
        _submit_scheduled(feed_id, is_due, routes)


def is_block_expected(record: ChainRecord) -> bool:
    """Whether the chain should have a block by now that makes a feed due."""
    if record.recorded_at is None or not record.block_seconds:
        return False
    seconds = (shared_now() - record.recorded_at).total_seconds()
    number = record.number + int(seconds / record.block_seconds)
    timestamp = record.timestamp + int(seconds)
    is_due = Q(trigger=Trigger.BLOCKS, due__gt=record.number, due__lte=number)
    is_due |= Q(trigger=Trigger.SECONDS, due__gte=record.timestamp, due__lt=timestamp)
    return Feed.objects.filter(is_due, state=FeedState.ACTIVE, source=record.chain).exists()


def can_run(now: datetime) -> Q:
    """Match feeds that are active and may run at this time."""
    return Q(state=FeedState.ACTIVE) & (Q(next_attempt_at=None) | Q(next_attempt_at__lte=now))


def _schedule_condition(sources: Iterable[int]) -> Q:
    condition = Q(pk__in=[])
    for source in sources:
        heads = ChainRecord.objects.filter(chain=source, recorded_at__isnull=False)
        number, timestamp = (Subquery(heads.values(name)) for name in ("number", "timestamp"))
        condition |= Q(source=source, trigger=Trigger.BLOCKS, due__lte=number)
        condition |= Q(source=source, trigger=Trigger.SECONDS, due__lt=timestamp)
    return condition


def _submit_scheduled(feed_id: str, is_due: Q, routes: Routes) -> None:
    """Submit the feed's next run, if it is due. However fast blocks come, a feed runs once in
    `FEED_SECONDS`, and twice while it makes up for runs. That is so on average: otherwise it would
    skip a due time because a poll came late.
    """

    def submit(feed: Feed) -> Columns:
        due = _due_to_run(feed)
        if due is None:
            return _ended()
        is_time = feed.trigger == Trigger.SECONDS
        following = due + feed.interval
        changes = _submit_once(feed, scheduled_run(due, is_time=is_time), following, routes)
        if "due" not in changes:
            return changes
        if is_time and feed.until and following > feed.until.timestamp():
            return changes | _ended()
        now, pause = shared_now(), timedelta(seconds=settings.FEED_SECONDS)
        if feed.catch_up == CatchUp.ALL:
            pause /= 2  # it skips none, so it is behind or waits for the next due anyway
        start = max(feed.next_attempt_at or now, now - pause)
        return changes | {"next_attempt_at": start + pause}

    change_locked(Feed.objects.filter(is_due, pk=feed_id), submit)


def _due_to_run(feed: Feed) -> int | None:
    """The block or time to run: the oldest that was not run, or the newest. None after the end."""
    record = ChainRecord.objects.get(chain=feed.source)
    until = feed.until.timestamp() if feed.until else math.inf
    head, seconds_after = record.number, record.timestamp - until
    if feed.trigger == Trigger.SECONDS:
        head = int(min(record.timestamp - 1, until))
        is_over = feed.due > until
    elif seconds_after > 0:
        head -= math.ceil(seconds_after / (record.block_seconds or math.inf))  # about
        is_over = feed.due > head
    else:
        is_over = False
    if is_over:
        return None
    # The head may have gone back since the feed was found to be due.
    newest = max(feed.due, last_due(head, feed.interval))
    missed = MAX_MISSED_RUNS if feed.catch_up == CatchUp.ALL else 1
    return max(feed.due, newest - (missed - 1) * feed.interval)


def is_past(until: datetime | None, timestamp: int) -> bool:
    """Whether a chain's time is after the end of a feed."""
    return until is not None and timestamp > until.timestamp()


def submit_found(feed: Feed, runs: Sequence[DueRun], following: int, routes: Routes) -> None:
    """Submit runs of a feed that was just read, oldest first. It then waits for `following`.

    A run that has to wait is found again.
    """
    due = feed.due
    for run, next_place in zip(runs, [*(run.due for run in runs[1:]), following], strict=False):
        rows = Feed.objects.filter(can_run(shared_now()), pk=feed.pk, due=due)
        submit = partial(_submit_once, run=run, following=next_place, routes=routes)
        changes = change_locked(rows, submit)
        if "due" not in changes or "state" in changes:
            return
        due = next_place
    if not runs:
        Feed.objects.filter(pk=feed.pk, due=due).update(due=following)


def _submit_once(feed: Feed, run: DueRun, following: int, routes: Routes) -> Columns:
    if feed.runs.filter(due=run.due, log_index=run.log_index).exists():
        return {"due": following}
    return _submit(feed, run, following, routes)


def change_locked(rows: QuerySet[Feed], change: Callable[[Feed], Columns]) -> Columns:
    """Change the one feed of `rows` as this function says; nothing if another prover has it."""
    try:
        with durable_transaction():
            locked_rows = rows.select_for_update(of=("self",), no_key=True, skip_locked=True)
            feed = locked_rows.select_related("owner").first()
            if feed is None:
                return {}
            changes = change(feed)
            columns = {name: changes[name] for name in changes.keys() - {"state", "reason"}}
            if columns:
                Feed.objects.filter(pk=feed.pk).update(**columns)
            if changes.get("state") == FeedState.PAUSED:
                pause_feed(feed, changes["reason"])
            elif changes.get("state") == FeedState.ENDED:
                end_feeds(Feed.objects.filter(pk=feed.pk), changes["reason"])
    except OUTAGE_ERRORS:
        raise
    except Exception:
        log.exception("Unexpected error while submitting a run of a feed.")
        rows.update(**_waiting("An error on our side; it is tried again."))
        return {}
    return changes


def _submit(feed: Feed, run: DueRun, following: int, routes: Routes) -> Columns:
    """Store the run, unless the feed cannot run now. Returns the feed's changes."""
    if not feed.owner.is_active:
        return _paused("The operator has disabled the account.")
    if (failures := newest_failures(feed)).count == MAX_FAILED_RUNS:
        return _paused(failures.sentence)
    if reason := budget_shortage(feed):
        return _waiting(reason)
    try:
        with transaction.atomic():
            row = new_run(feed, run, batch=store_run(feed, run, routes))
    except RefusalError as error:
        if error.code in WAITING_CODES:
            return _waiting(error.sentence)
        log.warning("A run of feed %s was refused: %s", feed.pk, error.sentence)
        row = new_run(feed, run, error_code=error.code, error_sentence=error.sentence[:1_000])
    row.save(force_insert=True)
    changes = {"due": following, "waits_for": "", "next_attempt_at": None}
    if run.value is not None:
        changes |= {"open_run": row, "last_run_time": run.head_time}
    if row.batch is None and (failures := newest_failures(feed)).count == MAX_FAILED_RUNS:
        changes |= _paused(failures.sentence)
    return changes


def _paused(reason: str) -> Columns:
    return {"state": FeedState.PAUSED, "reason": reason}


def _ended() -> Columns:
    return {"state": FeedState.ENDED, "reason": TIME_IS_OVER}


def wait_for(feeds: Iterable[Feed], reason: str, pause: timedelta) -> None:
    """Have these feeds wait, and say why."""
    ids = [feed.pk for feed in feeds]
    Feed.objects.filter(pk__in=ids, state=FeedState.ACTIVE).update(**_waiting(reason, pause))


def _waiting(reason: str, pause: timedelta | None = None) -> Columns:
    """`pause`: until it is tried again; by default, as long as between two runs."""
    if pause is None:
        pause = timedelta(seconds=settings.FEED_SECONDS)
    return {"waits_for": reason[:1_000], "next_attempt_at": shared_now() + pause}


def new_run(feed: Feed, run: DueRun, **columns: object) -> FeedRun:
    now = shared_now()
    return FeedRun(
        id=str(ULID.from_datetime(now)),
        feed=feed,
        due=run.due,
        log_index=run.log_index,
        value="" if run.value is None else f"{run.value:064x}",
        submitted_at=now,
        **columns,
    )


def store_run(feed: Feed, run: DueRun, routes: Routes) -> Batch:
    if run.error:
        raise run.error
    request = check_run(batch_of(feed.request), run, routes, batch_limits())
    # No key of a user has a space.
    key = f"feed {feed.pk} {run.due} {run.log_index}"
    return store_batch(feed.owner, request, key, routes)
