"""Figures for pages: results by day, and the heads of chains."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import Min, OuterRef, Q, Subquery, Sum

from queries.config.registries import Registry
from queries.database.daily_counts import (
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
from queries.models import BlockJob, ChainRecord, DailyCount, NodeRecord

DAYS = 30
MIN_DAYS = 7  # before a chart says more than a sentence


@dataclass(frozen=True, slots=True)
class PeriodResults:
    done: int  # batches
    rejected: int
    facts: int
    gas: int

    @property
    def gas_per_fact(self) -> int | None:
        return round(self.gas / self.facts) if self.facts else None


# Batches DONE by the upper bound of their seconds, as in a histogram; None: beyond all bounds.
DurationCounts = Mapping[int | None, int]


@dataclass(frozen=True, slots=True)
class Figures:
    """The results of all time, and of the last days."""

    total: PeriodResults
    first_day: date
    days: Mapping[date, PeriodResults]  # UTC days, oldest first
    durations: DurationCounts  # in these days

    @property
    def is_empty(self) -> bool:
        return not (self.total.done or self.total.facts)

    @property
    def has_week(self) -> bool:
        return len(self.days) >= MIN_DAYS


def figures(today: date) -> Figures:
    sums = DailyCount.objects.values("name").annotate(total=Sum("amount"), first=Min("day"))
    rows = list(sums)
    first_day = min((row["first"] for row in rows), default=today)
    days = _last_days(first_day, today)
    counts = _daily_counts(days[0], today)
    return Figures(
        _results({row["name"]: int(row["total"]) for row in rows}),
        first_day,
        days={day: _results(counts[day]) for day in days},
        durations={
            bound: sum(
                day_counts.get(duration_key(bound) if bound else DONE_OVERFLOW, 0)
                for day_counts in counts.values()
            )
            for bound in (*DURATION_BOUNDS, None)
        },
    )


def usual_seconds(today: date) -> int | None:
    """The bound within which half of the last days' batches were DONE; None if there is none."""
    names = {duration_key(bound): bound for bound in DURATION_BOUNDS} | {DONE_OVERFLOW: None}
    rows = DailyCount.objects.filter(day__gt=today - timedelta(days=DAYS), name__in=names)
    counts = dict(rows.values_list("name").annotate(Sum("amount")))
    return duration_bound({bound: counts.get(name, 0) for name, bound in names.items()}, 0.5)


def duration_bound(durations: DurationCounts, share: float) -> int | None:
    """The bound within which that share of the batches was DONE; None: beyond all bounds."""
    threshold, count = share * sum(durations.values()), 0
    for bound, batches in durations.items():
        count += batches
        if count >= threshold:
            return bound
    return None


def _last_days(first_day: date, today: date) -> list[date]:
    """At most `DAYS`, oldest first."""
    count = min(max((today - first_day).days + 1, 1), DAYS)
    return [today - timedelta(days=number) for number in reversed(range(count))]


@dataclass(frozen=True, slots=True)
class RouteFigures:
    """What a route's facts have cost, in all and by day."""

    total: PeriodResults
    days: Mapping[date, PeriodResults]  # UTC days, oldest first

    @property
    def has_week(self) -> bool:
        return len(self.days) >= MIN_DAYS


Route = tuple[int, int]  # source and destination


def route_figures(routes: Collection[Route], today: date) -> Mapping[Route, RouteFigures]:
    """Facts and gas by route, read in two statements."""
    of_routes = Q(name__startswith=FACTS_OF_ROUTE) | Q(name__startswith=GAS_OF_ROUTE)
    rows = DailyCount.objects.filter(of_routes).values("name")
    sums = {row["name"]: row for row in rows.annotate(total=Sum("amount"), first=Min("day"))}
    counts = _daily_counts(today - timedelta(days=DAYS - 1), today)
    figures = {}
    for route in routes:
        facts, gas = route_facts_key(*route), route_gas_key(*route)
        days = [sums[name]["first"] for name in (facts, gas) if name in sums]
        totals = {name: int(sums[name]["total"]) for name in (facts, gas) if name in sums}
        figures[route] = RouteFigures(
            _route_results(totals, facts, gas),
            {
                day: _route_results(counts[day], facts, gas)
                for day in _last_days(min(days, default=today), today)
            },
        )
    return figures


def _route_results(counts: Mapping[str, int], facts: str, gas: str) -> PeriodResults:
    return PeriodResults(0, 0, counts.get(facts, 0), counts.get(gas, 0))


def _results(counts: Mapping[str, int]) -> PeriodResults:
    return PeriodResults(*(counts.get(what, 0) for what in (DONE, REJECTED, FACTS, GAS)))


def _daily_counts(first: date, last: date) -> Mapping[date, Mapping[str, int]]:
    counts: defaultdict[date, dict[str, int]] = defaultdict(dict)
    rows = DailyCount.objects.filter(day__range=(first, last))
    for day, what, amount in rows.values_list("day", "name", "amount"):
        counts[day][what] = amount
    return counts


@dataclass(frozen=True, slots=True)
class HeadView:
    """The newest block of a chain, and the newest final one."""

    number: int
    final: int
    timestamp: int
    seen: datetime
    # How many blocks back the best node proves accounts: at most the 8,191 that are measured, and
    # 8,191 as well if it proves all blocks of a younger chain; -1: none; None: not measured yet.
    window: int | None
    state_horizons: Mapping[str, int]
    block_seconds: float | None  # on average; None: not known yet


def chain_heads(chains: Collection[int]) -> Mapping[int, HeadView]:
    """By chain, read in one statement; without chains whose head no prover has seen yet."""
    nodes = NodeRecord.objects.filter(chain=OuterRef("chain"), proof_window__isnull=False)
    best = nodes.order_by("-proof_window").values("proof_window")[:1]
    rows = ChainRecord.objects.filter(chain__in=chains).annotate(window=Subquery(best))
    return {
        row.chain: HeadView(
            row.number,
            row.final_number,
            row.timestamp,
            row.recorded_at,
            row.window,
            row.state_horizons,
            row.block_seconds,
        )
        for row in rows
        if row.recorded_at
    }


MAX_NEWEST_JOBS = 50  # that are read to find a proven one


def newest_proven_blocks(sources: Collection[int]) -> Mapping[int, int]:
    """By source, the newest block with proven facts; one statement for each."""
    blocks = {}
    for source in sources:
        jobs = BlockJob.objects.filter(source=source).order_by("-block")
        rows = jobs.values_list("block", "block_hash", "due_at")[:MAX_NEWEST_JOBS]
        proven = (block for block, block_hash, due_at in rows if block_hash and due_at is None)
        if (newest := next(proven, None)) is not None:
            blocks[source] = newest
    return blocks


def state_horizon(registry: Registry, heads: Mapping[int, HeadView]) -> int:
    """The time from which on the registry takes no accounts, as a prover saw it last."""
    head = heads.get(registry.destination)
    lowered_horizon = head.state_horizons.get(registry.address) if head else None
    return registry.horizon if lowered_horizon is None else min(lowered_horizon, registry.horizon)
