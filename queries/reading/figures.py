"""Figures for people: what each day has brought, what an account has spent, how far chains are."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import Min, OuterRef, Subquery, Sum

from accounts.models import Account
from queries.config.registries import Registry
from queries.database.daily_counts import DONE, FACTS, GAS, LONGER, REJECTED, WITHIN, done_within
from queries.models import Batch, ChainRecord, DailyCount, NodeRecord

DAYS = 30
FEWEST_DAYS = 7  # of a young service, so that a day among others can be seen


@dataclass(frozen=True, slots=True)
class Brought:
    """What some time has brought."""

    done: int  # batches
    rejected: int
    facts: int
    gas: int

    @property
    def gas_of_a_fact(self) -> int | None:
        return round(self.gas / self.facts) if self.facts else None


# How many batches were DONE within so many seconds, and not within the bound before. None: longer
# than any bound.
Took = Mapping[int | None, int]


@dataclass(frozen=True, slots=True)
class Figures:
    """Of all time, and of each of the last days."""

    whole: Brought
    days: Mapping[date, Brought]  # UTC days, oldest first
    took: Took  # in these days

    @property
    def empty(self) -> bool:
        return not (self.whole.done or self.whole.facts)


def figures(today: date) -> Figures:
    sums = DailyCount.objects.values("what").annotate(of_all_days=Sum("amount"), first=Min("day"))
    rows = list(sums)
    began = min((row["first"] for row in rows), default=today)
    length = min(max((today - began).days + 1, FEWEST_DAYS), DAYS)
    first = today - timedelta(days=length - 1)
    counts = _counts(first, today)
    return Figures(
        _brought({row["what"]: int(row["of_all_days"]) for row in rows}),
        days={
            day: _brought(counts[day])
            for day in (first + timedelta(days=number) for number in range(length))
        },
        took={
            bound: sum(of_day.get(name, 0) for of_day in counts.values())
            for bound, name in [*((each, done_within(each)) for each in WITHIN), (None, LONGER)]
        },
    )


def within_which(took: Took, share: float) -> int | None:
    """The bound within which that share of the batches was DONE; None: they took longer."""
    needed, passed = share * sum(took.values()), 0
    for bound, batches in took.items():
        passed += batches
        if passed >= needed:
            return bound
    return None


def _brought(counts: Mapping[str, int]) -> Brought:
    return Brought(*(counts.get(what, 0) for what in (DONE, REJECTED, FACTS, GAS)))


def _counts(first: date, last: date) -> Mapping[date, Mapping[str, int]]:
    counts: defaultdict[date, dict[str, int]] = defaultdict(dict)
    rows = DailyCount.objects.filter(day__range=(first, last))
    for day, what, amount in rows.values_list("day", "what", "amount"):
        counts[day][what] = amount
    return counts


# Databases cannot add amounts of 256 bits, so they are added here, at most so many.
MOST_ADDED = 1_000


@dataclass(frozen=True, slots=True)
class ChainSpending:
    """Of the batches for one destination."""

    destination: int
    batches: int
    spent: int  # wei


@dataclass(frozen=True, slots=True)
class Spending:
    """By chain, because the chains have different currencies."""

    chains: tuple[ChainSpending, ...]
    whole: bool  # or of the newest `MOST_ADDED` batches alone


def spending_of(owner: Account) -> Spending:
    """In one statement, which an index answers from the newest batch on."""
    rows = Batch.objects.filter(owner=owner).order_by("-pk")
    found = list(rows.values_list("destination", "spent")[: MOST_ADDED + 1])
    amounts = defaultdict[int, list[int]](list)
    for destination, spent in found[:MOST_ADDED]:
        amounts[destination].append(int(spent, 16))
    chains = (ChainSpending(chain, len(each), sum(each)) for chain, each in amounts.items())
    return Spending(tuple(chains), whole=len(found) <= MOST_ADDED)


@dataclass(frozen=True, slots=True)
class HeadView:
    """The newest block of a chain, and the newest final one."""

    number: int
    final: int
    timestamp: int
    seen: datetime
    # How many blocks back the best of its nodes proves accounts: -1 where none proves any, and at
    # most the 8,191 that are measured; None: it is not measured yet.
    window: int | None
    state_horizons: Mapping[str, int]


def heads_of(chains: Collection[int]) -> Mapping[int, HeadView]:
    """By chain, in one statement; without those of which no prover has seen a head yet."""
    nodes = NodeRecord.objects.filter(chain=OuterRef("chain"), proof_window__isnull=False)
    best = nodes.order_by("-proof_window").values("proof_window")[:1]
    rows = ChainRecord.objects.filter(chain__in=chains).annotate(window=Subquery(best))
    return {
        row.chain: HeadView(
            row.number,
            row.final_number,
            row.timestamp,
            row.recorded,
            row.window,
            row.state_horizons,
        )
        for row in rows
        if row.recorded
    }


def state_horizon(registry: Registry, heads: Mapping[int, HeadView]) -> int:
    """From which time on it takes no accounts, as a prover saw it last."""
    head = heads.get(registry.destination)
    lowered = head.state_horizons.get(registry.address) if head else None
    return registry.horizon if lowered is None else min(lowered, registry.horizon)
