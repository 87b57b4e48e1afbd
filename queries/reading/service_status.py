"""The state of the service for people: its provers, chains and nodes, and the open batches."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import or_

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from ulid import ULID

from queries.config.chains import Chain
from queries.models import Batch, ChainRecord, LightClient, NodeRecord, Query
from queries.reading.chain_heads import HeadView, read_chain_heads
from queries.reading.figures import duration_quantile
from queries.reading.metrics import budget_spent
from queries.reading.waits import PROVER_TIMEOUT, WAIT_ANNOTATIONS, WAIT_COLUMNS, wait_reason
from queries.statuses import ENDED_STATUSES, BatchStatus, StepName
from queries.transactions.lane import stopped_lanes
from queries.wait_reasons import EXPECTED_WAITS, Reason

MAX_COUNTED_BATCHES = 1_000  # batches, so that a long queue does not slow the page
LATE_FACTOR, USUAL_FRACTION = 3, 0.95  # usual: within which this fraction of the batches was DONE
MISSED_BLOCKS = 20  # after so many times its block time, a chain stands still


@dataclass(frozen=True, slots=True)
class ChainStatus:
    chain: Chain
    head: HeadView | None
    polled_at: datetime | None
    nodes: tuple[NodeRecord, ...]  # by their position in the routes file, from 1
    budget_left: int | None  # wei; None if there is no budget, or it was not asked for
    light_client: LightClient | None  # of a chain with beacon nodes
    is_stopped: bool  # nothing is sent until the operator has checked who else uses the key

    @property
    def is_polled(self) -> bool:
        """Whether a prover has asked the nodes recently."""
        return bool(self.polled_at and timezone.now() - self.polled_at < PROVER_TIMEOUT)

    @property
    def is_answered(self) -> bool:
        """Whether a node answered the last poll, and the chain's head is known from recently."""
        is_usable = self.is_polled and (self.usable_nodes or not self.nodes)
        return bool(
            is_usable and self.head and timezone.now() - self.head.recorded_at < PROVER_TIMEOUT
        )

    @property
    def stalled_since(self) -> datetime | None:
        """The time of the newest block, if the next one is long overdue."""
        head = self.head
        if not (head and head.new_block_at and head.block_seconds):
            return None
        max_silence = max(timedelta(seconds=MISSED_BLOCKS * head.block_seconds), PROVER_TIMEOUT)
        return head.new_block_at if head.recorded_at - head.new_block_at > max_silence else None

    @property
    def finality_fault(self) -> str:
        """A sentence, if the light client has not been followed for some time."""
        row = self.light_client
        if row is None or (row.checked_at and timezone.now() - row.checked_at < PROVER_TIMEOUT):
            return ""
        return row.fault

    @property
    def usable_nodes(self) -> int:
        return sum(not node.fault for node in self.nodes)


def chain_statuses(
    chains: Collection[Chain], *, with_budgets: bool = False
) -> tuple[ChainStatus, ...]:
    ids = [chain.id for chain in chains]
    heads, records = read_chain_heads(ids), ChainRecord.objects.in_bulk(ids)
    nodes = list(NodeRecord.objects.filter(chain__in=ids).order_by("chain", "position"))
    light_clients = LightClient.objects.defer("committee").in_bulk(
        [chain.id for chain in chains if chain.beacon]
    )
    statuses, stopped = [], stopped_lanes()
    for chain in chains:
        record = records.get(chain.id) or ChainRecord()
        chain_nodes = tuple(node for node in nodes if node.chain == chain.id)
        budget = chain.daily_budget if with_budgets and record.signer else None
        budget_left = None if budget is None else max(budget - budget_spent(record), 0)
        head, polled_at = heads.get(chain.id), record.polled_at
        is_stopped = (chain.id, record.signer) in stopped
        light_client = light_clients.get(chain.id)
        status = ChainStatus(
            chain, head, polled_at, chain_nodes, budget_left, light_client, is_stopped
        )
        statuses.append(status)
    return tuple(statuses)


def late_batches() -> QuerySet[Batch]:
    """Select open batches that have made no step for LATE_FACTOR times the usual time.

    Of a long queue, only among `MAX_COUNTED_BATCHES`. Batches that wait as expected, such as for a
    block that is not final yet, are not late, nor is one whose block has just become final.
    """
    now = timezone.now()
    usual = duration_quantile(now.date(), USUAL_FRACTION)
    if not usual:
        return Batch.objects.none()
    last_step = now - timedelta(seconds=LATE_FACTOR * usual)
    rows = _open_batches(last_step)[: MAX_COUNTED_BATCHES + 1]
    moved = reduce(or_, (Q(**{f"{step.completed_column}__gt": last_step}) for step in StepName))
    is_fine = Q(job__wait_code__in=EXPECTED_WAITS) | moved
    queries = Query.objects.filter(is_fine, batch=OuterRef("pk"))
    batches = Batch.objects.filter(pk__in=rows.values("pk")).exclude(wait_code__in=EXPECTED_WAITS)
    return batches.exclude(Exists(queries))


@dataclass(frozen=True, slots=True)
class LateBatches:
    """How many batches are late, and the commonest reason with its route."""

    count: int  # up to MAX_COUNTED_BATCHES + 1
    reason: Reason | None = None
    reason_count: int = 0
    source: int | None = None  # None if there are several
    destination: int = 0
    oldest: str = ""  # the id of the oldest batch with this reason and route


def read_late_batches() -> LateBatches:
    """Read the late batches in one statement, or in two if the usual time is known."""
    columns = ("status", "source", "destination", *WAIT_COLUMNS)
    rows = late_batches().order_by("pk").only(*columns).annotate(**WAIT_ANNOTATIONS)
    groups = defaultdict[tuple[str, int | None, int], list[tuple[str, Reason]]](list)
    batches = list(rows)
    for row in batches:
        if reason := wait_reason(row):
            groups[reason.code, row.source, row.destination].append((row.pk, reason))
    if not groups:
        return LateBatches(len(batches))
    (_, source, destination), found = max(groups.items(), key=lambda item: len(item[1]))
    oldest, reason = found[0]
    return LateBatches(len(batches), reason, len(found), source, destination, oldest)


def open_batch_count() -> int:
    """Count open batches, up to MAX_COUNTED_BATCHES + 1."""
    return _open_batches(timezone.now())[: MAX_COUNTED_BATCHES + 1].count()


def _open_batches(submitted_before: datetime) -> QuerySet[Batch]:
    """Select open batches by their ids, which begin with the time of submission."""
    statuses = [status for status in BatchStatus if status not in ENDED_STATUSES]
    end_id = str(ULID.from_datetime(submitted_before + timedelta(milliseconds=1)))
    return Batch.objects.filter(status__in=statuses, pk__lt=end_id).order_by()
