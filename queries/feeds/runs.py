"""Insert the runs of feeds as they become due, and queue them: of each feed, one at a time.

A run is inserted in the transaction that moves its feed on, and its batch has its place as
idempotency key: whatever is killed, none is skipped or submitted twice.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from ulid import ULID

from accounts.http.errors import RefusalError
from queries.database.clock import shared_now
from queries.database.leases import lease_free_condition
from queries.engines import PROVE
from queries.engines.wake import wake
from queries.feeds.bodies import DueRun
from queries.intake.submit import TURN_PER_BATCH
from queries.models import Feed, FeedRun
from queries.statuses import CatchUp, FeedState
from queries.transitions import end_feeds

WAITS = Q(submitted_at=None)


class NewRun(NamedTuple):
    """A run to insert."""

    feed: Feed
    run: DueRun


def insert_runs(new_runs: Iterable[NewRun], *, are_scheduled: bool = False) -> None:
    """Insert runs, oldest first, unless they exist. Of each feed the oldest that waits is due.

    Call this under the feeds' locks, and store their `next_attempt_at`.
    """
    runs = _without_stored(list(new_runs))
    if not runs:
        return
    now = shared_now()
    waiting = FeedRun.objects.filter(WAITS, feed__in={new.feed.pk for new in runs})
    have_waiting = set(waiting.values_list("feed", flat=True))
    counts = _counts_of_due_runs({new.feed.owner_id for new in runs})
    first_id, rows = int(ULID.from_datetime(now)), []
    for number, (feed, run) in enumerate(runs):
        row = new_row(feed, run, str(ULID.from_int(first_id + number)))
        if run.error:
            for name, value in refusal_columns(run.error).items():
                setattr(row, name, value)
        elif feed.pk not in have_waiting:
            have_waiting.add(feed.pk)
            row.due_at = _next_start(feed, now) if are_scheduled else now
            row.turn = _turn(counts, feed, now)
        rows.append(row)
    FeedRun.objects.bulk_create(rows)
    transaction.on_commit(partial(wake, PROVE))


def _without_stored(runs: Sequence[NewRun]) -> Sequence[NewRun]:
    """Leave out runs that exist, such as those made by hand."""
    feeds, dues = {new.feed.pk for new in runs}, {new.run.due for new in runs}
    stored = FeedRun.objects.filter(feed__in=feeds, due__in=dues)
    places = set(stored.values_list("feed", "due", "log_index"))
    return [new for new in runs if (new.feed.pk, new.run.due, new.run.log_index or 0) not in places]


def queue_next_run(feed: Feed, *, is_scheduled: bool) -> None:
    """Make the feed's oldest run that waits due, unless one is. Call this under the feed's lock."""
    waiting = FeedRun.objects.filter(WAITS, feed=feed)
    first = waiting.order_by("id").values_list("pk", flat=True).first()
    if first is None or waiting.filter(due_at__isnull=False).exists():
        return
    now = shared_now()
    turn = _turn(_counts_of_due_runs({feed.owner_id}), feed, now)
    waiting.filter(pk=first).update(
        due_at=_next_start(feed, now) if is_scheduled else now, turn=turn
    )
    Feed.objects.filter(pk=feed.pk).update(next_attempt_at=feed.next_attempt_at)
    transaction.on_commit(partial(wake, PROVE))


def _counts_of_due_runs(owners: Collection[int]) -> Counter[int]:
    rows = FeedRun.objects.filter(WAITS, due_at__isnull=False, feed__owner__in=owners)
    return Counter(dict(rows.values_list("feed__owner").annotate(count=Count("pk")).order_by()))


def _turn(counts: Counter[int], feed: Feed, now: datetime) -> datetime:
    """The run's place in the queue: after those of the feed's owner that are due."""
    counts[feed.owner_id] += 1
    return now + (counts[feed.owner_id] - 1) * TURN_PER_BATCH


def _next_start(feed: Feed, now: datetime) -> datetime:
    """When the next run of a feed with a schedule may be submitted. Sets `next_attempt_at` for the
    run after it.

    However fast blocks come, a feed runs once in `FEED_SECONDS`, and twice if it skips none. That
    is so on average: otherwise a late poll would delay all later runs.
    """
    pause = timedelta(seconds=settings.FEED_SECONDS)
    if feed.catch_up == CatchUp.ALL:
        pause /= 2  # it is behind, or waits for the next due anyway
    start = max(feed.next_attempt_at or now, now - pause)
    feed.next_attempt_at = start + pause
    return max(start, now)


def unclaimed_runs(feed: Feed) -> QuerySet[FeedRun]:
    """The feed's runs that are not submitted yet, and that no worker is submitting."""
    return FeedRun.objects.filter(WAITS, lease_free_condition(shared_now()), feed=feed)


def replace_waiting_run(feed: Feed, run: DueRun) -> bool:
    """Have the run that waits be about this block or time instead, and delete others. Returns
    whether that was done, so that none has to be inserted. Call this under the feed's lock.
    """
    rows = list(unclaimed_runs(feed).order_by("id"))
    if not rows:
        return False
    first, *others = rows
    FeedRun.objects.filter(pk__in=[row.pk for row in others]).delete()
    if feed.runs.filter(due=run.due).exclude(pk=first.pk).exists():  # made by hand
        first.delete()
        return True
    unchanged = FeedRun.objects.filter(WAITS, pk=first.pk, lease_token=first.lease_token)
    return bool(unchanged.update(due=run.due, value=_hex(run.value), read_time=run.read_time))


def delete_excess_runs(feed: Feed, count: int) -> None:
    """Delete the oldest runs that wait, so that so many are left of a feed with a schedule."""
    oldest = list(unclaimed_runs(feed).order_by("-id").values_list("pk", flat=True)[count:])
    if oldest:
        FeedRun.objects.filter(pk__in=oldest).delete()
        queue_next_run(feed, is_scheduled=True)


def delete_waiting_runs(feeds: QuerySet[Feed]) -> None:
    FeedRun.objects.filter(WAITS, feed__in=feeds).delete()


def end_past_feeds(feeds: QuerySet[Feed]) -> None:
    """End these feeds, whose time is over, unless a run still waits."""
    waiting = FeedRun.objects.filter(WAITS, feed=OuterRef("pk"))
    end_feeds(feeds.filter(~Exists(waiting), state=FeedState.ACTIVE), "Its time is over.")


def postpone(feeds: Iterable[Feed], reason: str, pause: timedelta = timedelta(0)) -> None:
    """Have these feeds not be read for this pause, and say why they wait."""
    columns: dict[str, Any] = {"waits_for": reason[:1_000]}
    if pause:
        columns["next_attempt_at"] = shared_now() + pause
    ids = [feed.pk for feed in feeds]
    Feed.objects.filter(pk__in=ids, state=FeedState.ACTIVE).update(**columns)


def new_row(feed: Feed, run: DueRun, run_id: str, **columns: Any) -> FeedRun:
    if run.log_index is not None:
        columns = {"block": run.selector.number, "placeholders": dict(run.values), **columns}
    return FeedRun(
        id=run_id,
        feed=feed,
        due=run.due,
        log_index=run.log_index or 0,
        value=_hex(run.value),
        read_time=run.read_time,
        **columns,
    )


def _hex(value: int | None) -> str:
    return "" if value is None else f"{value:064x}"


def refusal_columns(error: RefusalError) -> dict[str, Any]:
    return {
        "submitted_at": shared_now(),
        "placeholders": {},
        "error_code": error.code,
        "error_sentence": error.sentence[:1_000],
    }
