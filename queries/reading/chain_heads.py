"""Heads of chains, as a prover saw them last, and what can be proven from there."""

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import floor
from operator import itemgetter

from django.db.models import OuterRef, Subquery

from queries.config.chains import Chain
from queries.database.chain_records import measured_gas_rules
from queries.models import ChainRecord, NodeRecord
from queries.proving import HISTORY_RING, GasRules
from queries.sources import Registry


@dataclass(frozen=True, slots=True)
class HeadView:
    """The newest block of a chain, and the newest final one."""

    number: int
    final: int
    timestamp: int
    recorded_at: datetime  # when a prover read the head
    new_block_at: datetime | None  # when a prover first saw the newest block; None: not known
    # How many blocks back the best node proves accounts: at most the 8,191 that are measured, and
    # 8,191 as well if it proves all blocks of a younger chain; -1: none; None: not measured yet.
    proof_window: int | None
    state_horizons: Mapping[str, int]
    genesis_has_accounts: bool | None  # None: not known
    block_seconds: float | None  # on average; None: not known yet
    gas_rules: GasRules  # as measured

    @property
    def oldest_provable_block(self) -> int | None:
        """The first block whose accounts the nodes prove; None: not known, or beyond one proof."""
        if self.proof_window is None or self.proof_window < 0 or self.proof_window >= HISTORY_RING:
            return 0 if self.proves_all_blocks else None
        return max(self.number - self.proof_window, 0)

    @property
    def proves_all_blocks(self) -> bool:
        return self.proof_window is not None and self.proof_window >= HISTORY_RING >= self.number


def read_chain_heads(chains: Collection[int]) -> Mapping[int, HeadView]:
    """Read the heads of chains in one statement; a chain that no prover has polled has none."""
    nodes = NodeRecord.objects.filter(chain=OuterRef("chain"), proof_window__isnull=False)
    best = nodes.order_by("-proof_window").values("proof_window")[:1]
    rows = ChainRecord.objects.filter(chain__in=chains).annotate(best_window=Subquery(best))
    rows = rows.defer("block_times")  # the longest column, for few pages
    return {
        row.chain: HeadView(
            row.number,
            row.final_number,
            row.timestamp,
            row.recorded_at,
            row.new_block_at,
            row.best_window,
            row.state_horizons,
            row.genesis_has_accounts,
            row.block_seconds,
            measured_gas_rules(row),
        )
        for row in rows
        if row.recorded_at
    }


def known_block_times(source: int, head: HeadView) -> list[tuple[int, int]]:
    """Pairs of number and Unix time, oldest first, the head last; the times of other blocks lie
    about on the lines through them. Empty if too little is known.
    """
    rows = ChainRecord.objects.filter(chain=source).values_list("block_times", flat=True)
    times = [
        (number, time)
        for number, time in rows.first() or ()
        if number < head.number and time < head.timestamp
    ]
    return [*times, (head.number, head.timestamp)] if times else []


def interpolate(points: Sequence[tuple[float, float]], x: float) -> int:
    """The y at x, rounded down, on the lines through two points or more, in ascending order."""
    index = bisect_right(points, x, key=itemgetter(0))
    (x0, y0), (x1, y1) = points[max(index - 1, 0) :][:2] if index < len(points) else points[-2:]
    return floor(y0 + (x - x0) * (y1 - y0) / ((x1 - x0) or 1))


def last_final_block(head: HeadView, source: Chain, destination: int) -> int:
    """The newest block that is final enough to be proven on the route."""
    finality = source.finality_for(destination)
    return head.final if finality is None else max(head.number - finality, 0)


def state_horizon(registry: Registry, heads: Mapping[int, HeadView]) -> int:
    """The time from which on the registry takes no accounts, as a prover saw it last."""
    head = heads.get(registry.destination)
    lowered_horizon = head.state_horizons.get(registry.address) if head else None
    return registry.horizon if lowered_horizon is None else min(lowered_horizon, registry.horizon)
