"""What is full first when there are more facts a day, and what changes then."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from explorer.growth.figures import Figures
from explorer.growth.needs import Needs, needs_of

MOST = 1e15  # facts a day; what is not full then is never full
STEPS = 200


@dataclass(frozen=True, slots=True)
class Limit:
    """Something that there is only so much of."""

    name: str
    used: Callable[[Needs, Figures], float]  # 1: all of it
    then: str
    mended_by_more: bool  # of the same, without another design
    where: Callable[[Figures], str] = lambda _: ""  # what it holds for, beside so many facts a day


@dataclass(frozen=True, slots=True)
class Reached:
    """From how many facts a day on a limit holds."""

    limit: Limit
    facts: float


LIMITS = (
    Limit(
        "one prover",
        lambda needs, figures: needs.provers / figures.busy,
        "Start more provers, on as many machines as reach the database.",
        mended_by_more=True,
    ),
    Limit(
        "SQLite",
        lambda needs, figures: needs.writer / figures.busy,
        "It has one writer at a time. Name a PostgreSQL in DATABASE_URL.",
        mended_by_more=True,
    ),
    Limit(
        "one server process",
        lambda needs, figures: needs.servers / figures.busy,
        "Give the server more workers, or have more servers on the same database behind one proxy.",
        mended_by_more=True,
    ),
    Limit(
        "one PostgreSQL",
        lambda needs, figures: needs.database / figures.database_processors / figures.busy,
        "Give its machine more processors. Beyond one machine batches would have to be divided "
        "among databases, by account, which is not built.",
        mended_by_more=True,
        where=lambda figures: (
            f", where its machine has {figures.database_processors:,.0f} processors"
        ),
    ),
    Limit(
        "one node of the source",
        lambda needs, figures: needs.proofs_a_second / figures.node_proofs / figures.busy,
        "The first node that answers is asked for all proofs. Put several behind one address.",
        mended_by_more=True,
    ),
    Limit(
        "the database's disk",
        lambda needs, figures: needs.database_bytes_kept / figures.disk,
        "Nothing is deleted, and most of it is calldata, which the destination keeps as well. A "
        "larger disk helps as much as it is larger. Facts stay on chain, so what belongs to "
        "batches that ended long ago could go: with tables parted by month, which is not built.",
        mended_by_more=False,
        where=lambda figures: (
            f", within {figures.days_kept:,.0f} days where it has {figures.disk / 1e12:,.3g} TB"
        ),
    ),
    Limit(
        "the destination's blocks",
        lambda needs, figures: needs.block_share / figures.block_share,
        "Calldata is what is paid for, and it cannot be much shorter. A destination with more room "
        "helps ten times; beyond that a proof of the proofs (a SNARK) has to stand for them, and "
        "the registry keeps one root instead of each fact.",
        mended_by_more=False,
        where=lambda figures: f", where {figures.block_share:.0%} of them may be had",
    ),
    Limit(
        "one signer's transactions",
        lambda needs, figures: needs.transactions_of_a_block / figures.pending,
        "A node's pool takes so many of one sender. Several signers a destination would be needed, "
        "each with a lane of its own, and jobs divided among them by block, which is not built.",
        mended_by_more=False,
    ),
)


def reached(figures: Figures) -> Sequence[Reached]:
    """All limits, the first one first."""
    found = [Reached(limit, _facts_at(limit, figures)) for limit in LIMITS]
    return sorted(found, key=lambda each: each.facts)


def _facts_at(limit: Limit, figures: Figures) -> float:
    low, high = 1.0, MOST
    for _ in range(STEPS):
        middle = (low * high) ** 0.5
        if limit.used(needs_of(middle, figures), figures) < 1:
            low = middle
        else:
            high = middle
    return low
