"""The state of the service for people: its provers, chains and nodes, and the batches that wait."""

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
USUAL_SHARE = 0.95  # of the batches are DONE within the usual time
LATE_FACTOR = 3  # times the usual


@dataclass(frozen=True, slots=True)
class NodeStatus:
    place: int  # in the routes file, from 1
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
    def usable_nodes(self) -> int:
        return sum(not node.fault for node in self.nodes)

    @property
    def is_answered(self) -> bool:
        """Whether a node gave the chain's head in the last polls."""
        if self.head is None or self.polled_at is None:
            return False
        return self.polled_at - self.head.seen < PROVER_TIMEOUT


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    chains: tuple[ChainStatus, ...]
    last_poll: datetime | None  # by any prover
    waiting: int  # batches, at most MAX_COUNTED
    usual_seconds: int | None  # None: no batch was DONE in the last days
    late: int  # waiting batches of more than LATE_FACTOR times the usual age

    @property
    def has_prover(self) -> bool:
        return self.last_poll is not None and timezone.now() - self.last_poll < PROVER_TIMEOUT


def service_status(chains: Collection[Chain], *, with_budgets: bool) -> ServiceStatus:
    ids = [chain.id for chain in chains]
    heads, records = chain_heads(ids), ChainRecord.objects.in_bulk(ids)
    nodes = list(NodeRecord.objects.filter(chain__in=ids).order_by("chain", "place"))
    now = timezone.now()
    durations = figures(now.date()).durations
    usual = duration_bound(durations, USUAL_SHARE) or max(filter(None, durations))
    has_durations = any(durations.values())
    return ServiceStatus(
        chains=tuple(
            ChainStatus(
                chain,
                heads.get(chain.id),
                record.polled_at if (record := records.get(chain.id)) else None,
                tuple(
                    NodeStatus(node.place, node.fault, node.lag, node.recorded)
                    for node in nodes
                    if node.chain == chain.id and node.place <= len(chain.nodes)
                ),
                _budget_left(chain, record) if with_budgets and record else None,
            )
            for chain in chains
        ),
        last_poll=max((row.polled_at for row in records.values() if row.polled_at), default=None),
        waiting=_open_batches(now),
        usual_seconds=usual if has_durations else None,
        late=_open_batches(now - timedelta(seconds=LATE_FACTOR * usual)) if has_durations else 0,
    )


def _open_batches(submitted_before: datetime) -> int:
    """Count by the ids, which begin with the time of submission."""
    statuses = [status for status in BatchStatus if status not in ENDED_STATUSES]
    first_later = str(ULID.from_datetime(submitted_before + timedelta(milliseconds=1)))
    rows = Batch.objects.filter(status__in=statuses, pk__lt=first_later).order_by()
    return rows[: MAX_COUNTED + 1].count()


def _budget_left(chain: Chain, record: ChainRecord) -> int | None:
    if chain.daily_budget is None or not record.signer:
        return None
    return max(chain.daily_budget - spent_today(record), 0)
