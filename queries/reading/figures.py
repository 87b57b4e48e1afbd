"""Figures for pages: totals, costs and durations by route, newest proven blocks, account usage."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from statistics import median_high
from typing import Any

from django.db.models import Min, Q, Subquery, Sum

from accounts.models import Account
from queries.database.statistics import (
    DONE,
    DONE_OVERFLOW,
    DURATION_BOUNDS,
    FACTS,
    FACTS_OF_ROUTE,
    GAS,
    GAS_OF_ROUTE,
    REJECTED,
    duration_key,
    route_facts_key,
    route_gas_key,
)
from queries.models import Batch, BlockJob, DailyCount
from queries.statuses import BatchStatus

RECENT_DAYS = 30
MIN_CHART_DAYS = 7  # before a chart says more than a sentence
MAX_READ_BATCHES = 100  # the newest ones of a route


@dataclass(frozen=True, slots=True)
class PeriodTotals:
    """Proven facts, their gas, and ended batches of a period."""

    facts: int = 0
    gas: int = 0
    done_batches: int = 0
    rejected_batches: int = 0

    @property
    def gas_per_fact(self) -> int | None:
        return round(self.gas / self.facts) if self.facts else None


def all_time_totals(today: date) -> tuple[PeriodTotals, date]:
    """The totals of all time, and the first day that has any."""
    rows = list(DailyCount.objects.values("name").annotate(total=Sum("amount"), first=Min("day")))
    sums = {row["name"]: int(row["total"]) for row in rows}
    counts = [sums.get(name, 0) for name in (FACTS, GAS, DONE, REJECTED)]
    return PeriodTotals(*counts), min((row["first"] for row in rows), default=today)


def recent_batches(today: date) -> Mapping[date, PeriodTotals]:
    """Return the ended batches of up to `RECENT_DAYS`, by UTC day from the first one with any data.

    Oldest first; empty if no batch has ended. Takes one statement, which reads two rows a day.
    """
    since = today - timedelta(days=RECENT_DAYS - 1)
    first_day = Subquery(DailyCount.objects.order_by("day").values("day")[:1])
    rows = DailyCount.objects.filter(day__range=(since, today), name__in=(DONE, REJECTED))
    counts = defaultdict[date, dict[str, int]](dict)
    first = today
    for day, name, amount, start in rows.values_list("day", "name", "amount", first_day):
        counts[day][name] = amount
        first = max(start, since)
    if not counts:
        return {}
    return {
        day: PeriodTotals(
            done_batches=counts[day].get(DONE, 0), rejected_batches=counts[day].get(REJECTED, 0)
        )
        for day in (first + timedelta(days=n) for n in range((today - first).days + 1))
    }


def duration_quantile(today: date, fraction: float = 0.5) -> int | None:
    """Return the first of `DURATION_BOUNDS`, in seconds, within which this fraction of the batches
    of the last `RECENT_DAYS` was DONE. None if there was no batch, or if all bounds are too small.
    """
    bounds = {duration_key(bound): bound for bound in DURATION_BOUNDS} | {DONE_OVERFLOW: None}
    rows = DailyCount.objects.filter(day__gt=today - timedelta(days=RECENT_DAYS), name__in=bounds)
    counts = dict(rows.values_list("name").annotate(Sum("amount")))
    threshold, count = fraction * sum(counts.values()), 0
    for name, bound in bounds.items():
        count += counts.get(name, 0)
        if count and count >= threshold:
            return bound
    return None


Route = tuple[int, int]  # source and destination


@dataclass(frozen=True, slots=True)
class RouteFigures:
    """The costs of a route's facts, in all and by day, and the duration of its newest batches."""

    total: PeriodTotals
    days: Mapping[date, PeriodTotals]  # by UTC day, oldest first; empty in the first week
    batch_count: int  # newest DONE batches, the basis of the next fields
    median_duration: timedelta | None
    # Wei and facts of the batches that paid: the others asked for facts that were proven.
    payments: Sequence[tuple[int, int]]

    @property
    def wei_per_fact(self) -> int | None:
        facts = sum(count for _, count in self.payments)
        return sum(wei for wei, _ in self.payments) // facts if facts else None

    def expected_costs(self, facts: int) -> tuple[int, int] | None:
        """The least and most wei that batches of half to twice this size took: the facts of a block
        share its cost, and so do batches.
        """
        prices = [
            wei * facts // count
            for wei, count in self.payments
            if facts <= 2 * count and count <= 2 * facts
        ]
        return (min(prices), max(prices)) if prices else None


def route_figures(routes: Collection[Route], today: date) -> Mapping[Route, RouteFigures]:
    """Return the figures of each route. Takes two statements, and one for each route."""
    is_route_count = Q(name__startswith=FACTS_OF_ROUTE) | Q(name__startswith=GAS_OF_ROUTE)
    rows = DailyCount.objects.filter(is_route_count).values("name")
    sums = {row["name"]: row for row in rows.annotate(total=Sum("amount"), first=Min("day"))}
    counts = defaultdict[date, dict[str, int]](dict)
    since = today - timedelta(days=RECENT_DAYS)
    recent_rows = DailyCount.objects.filter(is_route_count, day__gt=since)
    for day, name, amount in recent_rows.values_list("day", "name", "amount"):
        counts[day][name] = amount
    figures = {}
    for source, destination in routes:
        names = route_facts_key(source, destination), route_gas_key(source, destination)
        first = min((sums[name]["first"] for name in names if name in sums), default=today)
        days = min((today - first).days + 1, RECENT_DAYS)
        batches = _newest_batches(source, destination)
        payments = [(int(batch["spent"], 16), batch["fact_count"]) for batch in batches]
        durations = [batch["ended_at"] - batch["submitted_at"] for batch in batches]
        figures[source, destination] = RouteFigures(
            PeriodTotals(*(int(sums[name]["total"]) if name in sums else 0 for name in names)),
            {
                day: PeriodTotals(*(counts[day].get(name, 0) for name in names))
                for day in (today - timedelta(days=n) for n in reversed(range(days)))
                if days >= MIN_CHART_DAYS
            },
            len(batches),
            median_high(durations) if durations else None,
            [(wei, facts) for wei, facts in payments if wei],
        )
    return figures


def _newest_batches(source: int, destination: int) -> Collection[Mapping[str, Any]]:
    """Read the route's newest DONE batches by an index; those with several sources have none."""
    rows = Batch.objects.filter(destination=destination, source=source, status=BatchStatus.DONE)
    columns = "submitted_at", "ended_at", "spent", "fact_count"
    return list(rows.order_by("-pk").values(*columns)[:MAX_READ_BATCHES])


MAX_NEWEST_JOBS = 50  # that are read to find a proven one


def newest_proven_blocks(sources: Collection[int]) -> Mapping[int, int]:
    """Read the newest block with proven facts of each source, with a statement for each."""
    blocks = {}
    for source in sources:
        jobs = BlockJob.objects.filter(source=source).order_by("-block")
        rows = jobs.values_list("block", "block_hash", "due_at")[:MAX_NEWEST_JOBS]
        numbers = (block for block, block_hash, due_at in rows if block_hash and due_at is None)
        if (number := next(numbers, None)) is not None:
            blocks[source] = number
    return blocks


# Databases cannot add amounts of 256 bits, so this many are read and added here.
MAX_SUMMED_BATCHES = 1_000


@dataclass(frozen=True, slots=True)
class ChainSpending:
    """The spending of the batches for a destination."""

    destination: int
    batch_count: int
    spent: int  # wei


@dataclass(frozen=True, slots=True)
class AccountUsage:
    spending: tuple[ChainSpending, ...]  # by destination, because chains have different currencies
    facts: Mapping[date, int]  # requested, by UTC day, oldest first
    is_complete: bool  # otherwise only of the newest `MAX_SUMMED_BATCHES`


def account_usage(owner: Account, today: date) -> AccountUsage:
    """Return the account's spending by destination, and its requested facts by day.

    Takes one statement, by an index from the newest batch on.
    """
    rows = Batch.objects.filter(owner=owner).order_by("-pk")
    columns = rows.values_list("destination", "spent", "submitted_at", "fact_count")
    newest = list(columns[: MAX_SUMMED_BATCHES + 1])
    amounts = defaultdict[int, list[int]](list)
    facts = {today - timedelta(days=number): 0 for number in reversed(range(RECENT_DAYS))}
    for destination, amount, submitted_at, fact_count in newest[:MAX_SUMMED_BATCHES]:
        amounts[destination].append(int(amount, 16))
        day = submitted_at.astimezone(UTC).date()
        if day in facts:
            facts[day] += fact_count
    is_complete = len(newest) <= MAX_SUMMED_BATCHES
    if not is_complete:  # the oldest day that was read may have more batches
        oldest = newest[-1][2].astimezone(UTC).date()
        facts = {day: count for day, count in facts.items() if day > oldest or day == today}
    chains = (ChainSpending(chain, len(wei), sum(wei)) for chain, wei in amounts.items())
    return AccountUsage(tuple(chains), facts, is_complete)
