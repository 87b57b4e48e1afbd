"""What an account's batches have cost."""

from collections import defaultdict
from dataclasses import dataclass

from accounts.models import Account
from queries.models import Batch

# Amounts of 256 bits are no numbers to a database, so they are added here, and not without end.
MOST_ADDED = 1_000


@dataclass(slots=True)
class ChainSpending:
    """Of the batches for one destination."""

    destination: int
    batches: int = 0
    spent: int = 0  # wei


@dataclass(frozen=True, slots=True)
class Spending:
    """Chain for chain, because an ether of one is none of another."""

    chains: tuple[ChainSpending, ...]
    whole: bool  # or of the newest `MOST_ADDED` batches alone


def spending_of(owner: Account) -> Spending:
    """In one statement, which an index answers from the newest batch on."""
    rows = Batch.objects.filter(owner=owner).order_by("-pk")
    found = list(rows.values_list("destination", "spent")[: MOST_ADDED + 1])
    chains: dict[int, ChainSpending] = defaultdict(lambda: ChainSpending(0))
    for destination, spent in found[:MOST_ADDED]:
        chain = chains[destination]
        chain.destination = destination
        chain.batches += 1
        chain.spent += int(spent, 16)
    return Spending(tuple(chains.values()), whole=len(found) <= MOST_ADDED)
