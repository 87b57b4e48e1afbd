"""Counters by day (UTC), updated in the transaction of the event that they count.

Pages read these few rows, so their cost does not depend on the number of queries.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from django.db.models import F

from queries.models import DailyCount

DONE, REJECTED = "batches_done", "batches_rejected"
FACTS = "facts"  # read back from a registry
FACTS_OF_ROUTE = "facts "  # followed by source and destination
GAS = "gas"  # of transactions that can no longer change
GAS_OF_ROUTE = "gas "  # followed by source and destination
# DONE batches are also counted by duration: up to this many seconds, or longer.
DURATION_BOUNDS = (5, 15, 30, 60, 120, 300, 900, 1_800, 3_600, 14_400)
DONE_OVERFLOW = "done_overflow"
DONE_SECONDS = "done_seconds"  # in all


def route_facts_key(source: int, destination: int) -> str:
    return f"{FACTS_OF_ROUTE}{source} {destination}"


def route_gas_key(source: int, destination: int) -> str:
    return f"{GAS_OF_ROUTE}{source} {destination}"


def duration_key(seconds: int) -> str:
    return f"done_within_{seconds}"


def done_batch_counts(durations: Iterable[timedelta]) -> Mapping[str, int]:
    """The counts to add for batches that are DONE now, from their durations."""
    counts: Counter[str] = Counter()
    for duration in durations:
        bound = next((n for n in DURATION_BOUNDS if duration <= timedelta(seconds=n)), None)
        counts[DONE] += 1
        counts[DONE_OVERFLOW if bound is None else duration_key(bound)] += 1
        counts[DONE_SECONDS] += max(round(duration.total_seconds()), 0)
    return counts


def add_counts(moment: datetime, amounts: Mapping[str, int]) -> None:
    """Add to counters. Call once, last in a transaction: it locks the counters until the commit.

    Counters are locked in sorted order, so that two transactions cannot deadlock.
    """
    day = moment.astimezone(UTC).date()
    increments = sorted((name, amount) for name, amount in amounts.items() if amount)
    DailyCount.objects.bulk_create(
        (DailyCount(day=day, name=name, amount=0) for name, _ in increments), ignore_conflicts=True
    )
    for name, amount in increments:
        DailyCount.objects.filter(day=day, name=name).update(amount=F("amount") + amount)
