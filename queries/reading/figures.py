"""Figures for pages: results by day, an account's spending, and the heads of chains."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import Min, OuterRef, Subquery, Sum

from accounts.models import Account
from queries.config.registries import Registry
from queries.database.daily_counts import (
    DONE,
    DONE_OVERFLOW,
    DURATION_BOUNDS,
    FACTS,
    GAS,
    REJECTED,
    duration_key,
)
from queries.models import Batch, ChainRecord, DailyCount, NodeRecord

DAYS = 30
MIN_DAYS = 7  # of a young service, so that a chart has several days


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
    days: Mapping[date, PeriodResults]  # UTC days, oldest first
    durations: DurationCounts  # in these days

    @property
    def is_empty(self) -> bool:
        return not (self.total.done or self.total.facts)


def figures(today: date) -> Figures:
    sums = DailyCount.objects.values("name").annotate(total=Sum("amount"), first=Min("day"))
    rows = list(sums)
    first_day = min((row["first"] for row in rows), default=today)
    day_count = min(max((today - first_day).days + 1, MIN_DAYS), DAYS)
    first = today - timedelta(days=day_count - 1)
    counts = _daily_counts(first, today)
    return Figures(
        _results({row["name"]: int(row["total"]) for row in rows}),
        days={
            day: _results(counts[day])
            for day in (first + timedelta(days=number) for number in range(day_count))
        },
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


def _results(counts: Mapping[str, int]) -> PeriodResults:
    return PeriodResults(*(counts.get(what, 0) for what in (DONE, REJECTED, FACTS, GAS)))


def _daily_counts(first: date, last: date) -> Mapping[date, Mapping[str, int]]:
    counts: defaultdict[date, dict[str, int]] = defaultdict(dict)
    rows = DailyCount.objects.filter(day__range=(first, last))
    for day, what, amount in rows.values_list("day", "name", "amount"):
        counts[day][what] = amount
    return counts


# Databases cannot add amounts of 256 bits, so this many are read and added here.
MAX_SUMMED_BATCHES = 1_000


@dataclass(frozen=True, slots=True)
class ChainSpending:
    """What the batches for a destination have spent."""

    destination: int
    batches: int
    spent: int  # wei


@dataclass(frozen=True, slots=True)
class Spending:
    """An account's spending by destination, because chains have different currencies."""

    chains: tuple[ChainSpending, ...]
    is_complete: bool  # otherwise only of the newest `MAX_SUMMED_BATCHES`


def account_spending(owner: Account) -> Spending:
    """Read in one statement, by an index from the newest batch on."""
    rows = Batch.objects.filter(owner=owner).order_by("-pk")
    newest = list(rows.values_list("destination", "spent")[: MAX_SUMMED_BATCHES + 1])
    amounts = defaultdict[int, list[int]](list)
    for destination, spent in newest[:MAX_SUMMED_BATCHES]:
        amounts[destination].append(int(spent, 16))
    chains = (ChainSpending(chain, len(wei), sum(wei)) for chain, wei in amounts.items())
    return Spending(tuple(chains), is_complete=len(newest) <= MAX_SUMMED_BATCHES)


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
        )
        for row in rows
        if row.recorded_at
    }


def state_horizon(registry: Registry, heads: Mapping[int, HeadView]) -> int:
    """The time from which on the registry takes no accounts, as a prover saw it last."""
    head = heads.get(registry.destination)
    lowered_horizon = head.state_horizons.get(registry.address) if head else None
    return registry.horizon if lowered_horizon is None else min(lowered_horizon, registry.horizon)
