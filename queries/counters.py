"""What each day (UTC) and each route has brought, counted in the transaction that brings it.

Pages read these few rows, so that they cost the same however many queries there have been.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from django.db.models import F

from queries.models import BlockJob, DailyCount, Query, RouteRecord
from queries.reading.slices import in_portions

DONE, REJECTED = "batches_done", "batches_rejected"
FACTS = "facts"  # read back from a registry
GAS = "gas"  # of transactions that can no longer change
# A batch that is DONE is also counted by how long that took: so many seconds at most, or longer.
WITHIN = (5, 15, 30, 60, 120, 300, 900, 1_800, 3_600, 14_400)
LONGER = "done_later"
TOOK = "done_seconds"  # all of them together


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


AT_ONCE = 500  # accounts that a statement names

Fact = tuple[str, str]  # account, name of the field or slot


def count_new_facts(queries: Sequence[Query], values: Mapping[int, Mapping[str, str]]) -> None:
    """For each route; a fact that is proven again is not new.

    To be called in the transaction that stores the queries' values, and before it does.
    """
    found: dict[int, set[Fact]] = defaultdict(set)  # by job
    for query in queries:
        found[query.job_id or 0].update((query.account, name) for name in values[query.pk])
    for job, facts in found.items():
        _leave_out_what_was_proven(job, facts)
    routes = BlockJob.objects.filter(pk__in=[job for job in found if found[job]])
    for job, source, destination in routes.values_list("pk", "source", "destination"):
        record, _ = RouteRecord.objects.get_or_create(source=source, destination=destination)
        RouteRecord.objects.filter(pk=record.pk).update(facts=F("facts") + len(found[job]))


def _leave_out_what_was_proven(job: int, found: set[Fact]) -> None:
    """The newest first: where the same is asked for again and again, they have all of it."""
    accounts = sorted({account for account, _ in found})
    for start in range(0, len(accounts), AT_ONCE):
        some = accounts[start : start + AT_ONCE]
        left = {fact for fact in found if some[0] <= fact[0] <= some[-1]}
        proven = Query.objects.filter(job=job, account__in=some, values__isnull=False)
        newest = proven.order_by("-pk").values_list("pk", "slot_count")
        for keys in in_portions(newest.iterator(chunk_size=AT_ONCE)):
            for query in proven.filter(pk__in=keys).only("account", "values", "slot_values"):
                before = {(query.account, name) for name in query.words}
                found -= before
                left -= before
            if not left:
                break
