"""The state of the service for people: its provers, chains and nodes, and the open batches."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone
from ulid import ULID

from queries.config.routes import Chain
from queries.models import Batch, ChainRecord, NodeRecord
from queries.reading.figures import HeadView, chain_heads, duration_bound, figures
from queries.reading.metrics import spent_today
from queries.reading.waits import PROVER_TIMEOUT
from queries.statuses import ENDED_STATUSES, BatchStatus

MAX_COUNTED = 1_000  # batches, so that a long queue does not slow the page
LATE_FACTOR, USUAL_SHARE = 3, 0.95  # usual: within which this share of the batches was DONE


@dataclass(frozen=True, slots=True)
class NodeStatus:
    position: int  # in the routes file, from 1
    fault: str  # error code; empty if it answered the last poll
    lag: int | None  # blocks behind the furthest node of its chain
    polled_at: datetime


@dataclass(frozen=True, slots=True)
class ChainStatus:
    chain: Chain
    head: HeadView | None
    polled_at: datetime | None
    nodes: tuple[NodeStatus, ...]
    budget_left: int | None  # wei; None if there is no budget, or it was not asked for

    @property
    def is_answered(self) -> bool:
        """Whether a node answered the last poll, and one gave the chain's head lately."""
        if self.head is None or self.polled_at is None or (self.nodes and not self.usable_nodes):
            return False
        return self.polled_at - self.head.seen < PROVER_TIMEOUT

    @property
    def usable_nodes(self) -> int:
        return sum(not node.fault for node in self.nodes)


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    chains: tuple[ChainStatus, ...]
    waiting: int  # batches, at most MAX_COUNTED + 1
    late: int  # those of more than LATE_FACTOR times the usual age


def service_status(chains: Collection[Chain], *, with_budgets: bool) -> ServiceStatus:
    ids, now = [chain.id for chain in chains], timezone.now()
    heads, records = chain_heads(ids), ChainRecord.objects.in_bulk(ids)
    nodes = list(NodeRecord.objects.filter(chain__in=ids).order_by("chain", "position"))
    usual = duration_bound(figures(now.date()).durations, USUAL_SHARE)
    statuses = []
    for chain in chains:
        record = records.get(chain.id) or ChainRecord()
        own = (row for row in nodes if row.chain == chain.id)
        views = tuple(NodeStatus(row.position, row.fault, row.lag, row.recorded_at) for row in own)
        budget = chain.daily_budget if with_budgets and record.signer else None
        left = None if budget is None else max(budget - spent_today(record), 0)
        statuses.append(ChainStatus(chain, heads.get(chain.id), record.polled_at, views, left))
    late = _open_batches(now - timedelta(seconds=LATE_FACTOR * usual)) if usual else 0
    return ServiceStatus(tuple(statuses), _open_batches(now), late)


def _open_batches(submitted_before: datetime) -> int:
    """Count by the ids, which begin with the time of submission."""
    statuses = [status for status in BatchStatus if status not in ENDED_STATUSES]
    later = str(ULID.from_datetime(submitted_before + timedelta(milliseconds=1)))
    rows = Batch.objects.filter(status__in=statuses, pk__lt=later).order_by()
    return rows[: MAX_COUNTED + 1].count()
