"""What each day (UTC) has brought, counted in the transaction that brings it.

Pages read these few rows, so that they cost the same however many queries there have been.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from django.db.models import F

from queries.models import DailyCount

DONE, REJECTED = "batches_done", "batches_rejected"
FACTS = "facts"  # read back from a registry
FACTS_OF_ROUTE = "facts "  # and source and destination
GAS = "gas"  # of transactions that can no longer change
# A batch that is DONE is also counted by how long that took: so many seconds at most, or longer.
WITHIN = (5, 15, 30, 60, 120, 300, 900, 1_800, 3_600, 14_400)
LONGER = "done_later"
TOOK = "done_seconds"  # all of them together


def of_route(source: int, destination: int) -> str:
    return f"{FACTS_OF_ROUTE}{source} {destination}"


def done_within(seconds: int) -> str:
    return f"done_within_{seconds}"


def of_done_batches(durations: Iterable[timedelta]) -> Mapping[str, int]:
    """What to count of batches that are DONE now, by how long each took."""
    counts: Counter[str] = Counter()
    for duration in durations:
        bounds = (each for each in WITHIN if duration <= timedelta(seconds=each))
        bound = next(bounds, None)
        counts[DONE] += 1
        counts[LONGER if bound is None else done_within(bound)] += 1
        counts[TOOK] += max(round(duration.total_seconds()), 0)
    return counts


def count(moment: datetime, amounts: Mapping[str, int]) -> None:
    """Once in a transaction, at its end: until then others wait who count the same.

    In one order everywhere, so that two of them never wait for each other.
    """
    day = moment.astimezone(UTC).date()
    counted = sorted((what, amount) for what, amount in amounts.items() if amount)
    DailyCount.objects.bulk_create(
        (DailyCount(day=day, what=what, amount=0) for what, _ in counted), ignore_conflicts=True
    )
    for what, amount in counted:
        DailyCount.objects.filter(day=day, what=what).update(amount=F("amount") + amount)
