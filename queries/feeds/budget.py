"""What the runs of a feed may spend in 24 hours."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import Case, Q, Value, When

from accounts.wording import DAY
from queries.amounts import short_amount
from queries.database.clock import shared_now
from queries.feeds.bodies import batch_of, payment_currency
from queries.feeds.outcomes import IS_OPEN
from queries.models import Feed, FeedRun
from queries.sources import Routes
from queries.statuses import BatchStatus

OVER_BUDGET = "over_budget"  # why a run waits
MAX_OPEN = timedelta(days=7)  # of a run that a budget counts


class _Run(NamedTuple):
    submitted_at: datetime
    is_open: bool
    is_of_day: bool  # submitted in the last 24 hours
    status: str  # of its batch
    fee: int  # wei
    spent: int  # wei, so far


def budget_shortage(feed: Feed, routes: Routes) -> str:
    """Why the next run does not fit the budget of 24 hours; empty if it does."""
    if not feed.budget:
        return ""
    runs, budget = _newest_runs(feed.pk), int(feed.budget, 16)
    reserve = _reserve_of_next(feed, runs)
    if reserve is None:
        return "The first run shows what a run costs. It has to end, or to spend, before the next."
    reserved = _reserved(runs)
    if reserved + reserve <= budget:
        return ""
    currency = payment_currency(batch_of(feed.request), routes)
    amounts = [short_amount(amount, currency) for amount in (reserved, reserve, budget)]
    return (
        f"Runs of this feed in the last 24 hours have spent or reserve {amounts[0]}, and the next "
        f"one reserves {amounts[1]}: more than the budget of {amounts[2]}."
    )


def _reserve_of_next(feed: Feed, runs: Sequence[_Run]) -> int | None:
    """None until the first run has shown what a run costs."""
    return int(batch_of(feed.request)["fee"]) or _max_cost(runs)


def next_run_fits_at(feed: Feed) -> datetime | None:
    """When enough of what was spent is more than 24 hours old for the next run to fit the budget.

    None if that is not known, because open runs reserve too much.
    """
    runs = _newest_runs(feed.pk)
    excess = _reserved(runs) + (_reserve_of_next(feed, runs) or 0) - int(feed.budget or "0", 16)
    for run in sorted(run for run in runs if run.is_of_day and not run.is_open):
        excess -= run.spent
        if excess <= 0:
            return run.submitted_at + timedelta(seconds=DAY)
    return None


def reserved_in_a_day(feed_id: str) -> int:
    """What runs of the last 24 hours have spent, and open ones reserve, in wei."""
    return _reserved(_newest_runs(feed_id))


def _newest_runs(feed_id: str) -> Sequence[_Run]:
    now = shared_now()
    is_of_day = Q(batch__submitted_at__gt=now - timedelta(seconds=DAY))
    recent = FeedRun.objects.filter(feed=feed_id, submitted_at__gt=now - MAX_OPEN)
    runs = recent.filter(batch__isnull=False).annotate(
        is_open=Case(When(IS_OPEN, then=Value(True)), default=Value(False)),
        is_of_day=Case(When(is_of_day, then=Value(True)), default=Value(False)),
    )
    columns = (
        *("batch__submitted_at", "is_open", "is_of_day"),
        *("batch__status", "batch__fee", "batch__spent"),
    )
    return [
        _Run(submitted_at, is_open, is_of_day, status, int(fee, 16), int(spent, 16))
        for submitted_at, is_open, is_of_day, status, fee, spent in runs.values_list(*columns)
    ]


def _reserved(runs: Sequence[_Run]) -> int:
    """An open run reserves its fee. Where that is 0, because the server proves for free, it
    reserves as much as the dearest run has spent.
    """
    max_cost = _max_cost(runs) or 0
    return sum(
        max(run.spent, run.fee or max_cost) if run.is_open else run.spent
        for run in runs
        if run.is_open or run.is_of_day
    )


def _max_cost(runs: Sequence[_Run]) -> int | None:
    """What the dearest run has spent, in wei: 0 without runs, None if all are still to spend."""
    costs = [run.spent for run in runs if run.spent or run.status == BatchStatus.DONE]
    return max(costs) if costs else None if any(run.is_open for run in runs) else 0
