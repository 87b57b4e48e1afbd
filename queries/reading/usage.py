"""What an account has asked for and spent, from its newest batches."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, timedelta

from accounts.models import Account
from queries.models import Batch

# Databases cannot add amounts of 256 bits, so this many are read and added here.
MAX_SUMMED_BATCHES = 1_000
DAYS = 14


@dataclass(frozen=True, slots=True)
class ChainSpending:
    """What the batches for a destination have spent."""

    destination: int
    batches: int
    spent: int  # wei


@dataclass(frozen=True, slots=True)
class AccountUsage:
    spending: tuple[ChainSpending, ...]  # by destination, because chains have different currencies
    facts: Mapping[date, int]  # requested, by UTC day, oldest first
    is_complete: bool  # otherwise only of the newest `MAX_SUMMED_BATCHES`


def account_usage(owner: Account, today: date) -> AccountUsage:
    """Read in one statement, by an index from the newest batch on."""
    rows = Batch.objects.filter(owner=owner).order_by("-pk")
    columns = rows.values_list("destination", "spent", "submitted_at", "fact_count")
    newest = list(columns[: MAX_SUMMED_BATCHES + 1])
    amounts = defaultdict[int, list[int]](list)
    facts = {today - timedelta(days=number): 0 for number in reversed(range(DAYS))}
    for destination, spent, submitted_at, fact_count in newest[:MAX_SUMMED_BATCHES]:
        amounts[destination].append(int(spent, 16))
        day = submitted_at.astimezone(UTC).date()
        if day in facts:
            facts[day] += fact_count
    is_complete = len(newest) <= MAX_SUMMED_BATCHES
    if not is_complete:  # the oldest day that was read may have more batches
        oldest = newest[-1][2].astimezone(UTC).date()
        facts = {day: count for day, count in facts.items() if day > oldest or day == today}
    chains = (ChainSpending(chain, len(wei), sum(wei)) for chain, wei in amounts.items())
    return AccountUsage(tuple(chains), facts, is_complete)
