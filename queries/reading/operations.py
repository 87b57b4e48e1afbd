"""The state of the service, for monitoring. The number of rows does not change the number of
statements. None reads ended rows, except a day's transactions of chains with a daily budget.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from django.db.models import Case, Count, Exists, Min, OuterRef, Q, Sum, Value, When
from ulid import ULID

from queries.chain.errors import NodesLimited, NodesRefuse, NodesUnreachable
from queries.counters import DONE, FACTS, LONGER, REJECTED, TOOK, WITHIN, done_within
from queries.models import (
    Batch,
    BlockJob,
    ChainCost,
    ChainRecord,
    DailyCount,
    Leased,
    NodeRecord,
    SentTransaction,
    TransactionOfJob,
    WebhookDelivery,
)
from queries.pipeline.fees import gone_in_a_day
from queries.pipeline.queue import shared_now
from queries.reading.chain_objects import facts_by_route
from queries.statuses import ENDED, BatchStatus

# All due times are later; ended rows have none. Databases use the index for "later than this", and
# would not use it for "not null".
BEFORE_ALL = datetime(2000, 1, 1, tzinfo=UTC)
FOR_NODES = Q(wait_code__in=[each.code for each in (NodesUnreachable, NodesLimited, NodesRefuse)])


class State(StrEnum):
    """How a row of a queue stands with the provers."""

    WORKED_ON = "worked_on"
    LEASE_RAN_OUT = "lease_ran_out"  # its prover is silent, and no other one has taken it over yet
    DUE = "due"
    WAITING = "waiting"
    FAILING = "failing"  # it waits for another try, or for its turn where nodes hang


class Stage(StrEnum):
    """How far a block job is."""

    BLOCK = "block"  # waits for its block to be final and read
    PROOF = "proof"  # its header is known
    TRANSACTION = "transaction"  # which is on its way


@dataclass(frozen=True, slots=True)
class Queue:
    """What is to be worked on, and for how many seconds the first of it has waited for a prover."""

    states: Mapping[State, int]
    waited: float


@dataclass(frozen=True, slots=True)
class OpenBatches:
    """Those that have not ended."""

    by_status: Mapping[BatchStatus, int]
    # Seconds since the first one was submitted; 0: there is none.
    oldest: float


@dataclass(frozen=True, slots=True)
class OnTheirWay:
    """Transactions to one chain that may still change."""

    unmined: int
    mined: int  # and not deep enough yet
    oldest_unmined: float  # seconds since it was signed; 0: there is none


@dataclass(frozen=True, slots=True)
class Ended:
    """What there has been since the beginning."""

    done: int  # batches
    rejected: int
    within: Mapping[int, int]  # seconds → batches that were DONE within them
    timed: int  # batches, those that took longer than any of these bounds among them
    seconds: int  # that all of them have taken together
    facts: int


@dataclass(frozen=True, slots=True)
class ChainState:
    """A chain as provers saw it last; None is what they have not seen."""

    number: int | None = None
    final: int | None = None
    block_age: float | None = None  # seconds since the newest block's own time
    looked_at: float | None = None  # seconds since a prover tried
    needed_window: int | None = None
    signer: str = ""
    balance: int | None = None  # wei
    day_spent: float | None = None  # fraction of the daily budget; None: no budget or no signer


@dataclass(frozen=True, slots=True)
class NodeState:
    """One node of a chain, by its place in the routes file."""

    chain: int
    place: int
    answers: bool
    answers_for_names: bool | None  # None: its chain has no names, or it answers nothing
    number: int | None
    lag: int | None
    proof_window: int | None
    looked_at: float  # seconds since


@dataclass(frozen=True, slots=True)
class ChainCosts:
    transactions: int
    gas: int
    spent: int  # wei


@dataclass(frozen=True, slots=True)
class Operations:
    """All of it, as it is at one moment."""

    batches: OpenBatches
    queues: Mapping[str, Queue]
    jobs: Mapping[Stage, int]
    waiting: Mapping[str, int]  # jobs, by what they wait for
    on_their_way: Mapping[int, OnTheirWay]  # by chain, as the next ones
    ended: Ended
    facts_of_routes: Mapping[tuple[int, int], int]
    costs: Mapping[int, ChainCosts]
    chains: Mapping[int, ChainState]
    nodes: tuple[NodeState, ...]


def operations(chains: Collection[int], most_a_day: Mapping[int, int]) -> Operations:
    """`chains`: the configured ones; stored rows of other chains are out of date.

    `most_a_day`: wei that a day's transactions may cost, of those where that is bounded.
    """
    now = shared_now()
    return Operations(
        batches=_open_batches(now),
        queues={
            name: _queue(model, now)
            for name, model in (
                ("batches", Batch),
                ("block_jobs", BlockJob),
                ("webhook_deliveries", WebhookDelivery),
            )
        },
        jobs=_jobs(),
        waiting=_waiting(),
        on_their_way=_on_their_way(now),
        ended=_ended(),
        facts_of_routes=facts_by_route(),
        costs={
            row.chain: ChainCosts(row.transactions, row.gas, int(row.spent, 16))
            for row in ChainCost.objects.all()
        },
        chains=_chains(chains, most_a_day, now),
        nodes=_nodes(chains, now),
    )


def _open_batches(now: datetime) -> OpenBatches:
    """An id begins with the time at which it was made."""
    open_ones = [status for status in BatchStatus if status not in ENDED]
    rows = Batch.objects.filter(status__in=open_ones).values_list("status")
    counted = rows.annotate(Count("pk"), first=Min("pk")).order_by()
    found = {BatchStatus(status): (count, first) for status, count, first in counted}
    firsts = [first for _, first in found.values() if first]
    oldest = ULID.from_str(min(firsts)).datetime if firsts else now
    return OpenBatches(
        {status: found.get(status, (0, ""))[0] for status in open_ones}, _seconds(oldest, now)
    )


def _queue(model: type[Leased], now: datetime) -> Queue:
    free, later = Q(lease_token=""), Q(look_again__gt=now)
    conditions = {
        State.WORKED_ON: ~free & Q(lease_until__gt=now),
        State.LEASE_RAN_OUT: ~free & Q(lease_until__lte=now),
        State.DUE: free & ~later & ~FOR_NODES,
        State.WAITING: free & later & Q(failures=0),
        State.FAILING: free & ((later & Q(failures__gt=0)) | (~later & FOR_NODES)),
    }
    counts = {state.value: Count("pk", filter=condition) for state, condition in conditions.items()}
    rows = model._default_manager.filter(look_again__gt=BEFORE_ALL)  # noqa: SLF001
    found = rows.aggregate(**counts, first_due=Min("look_again", filter=conditions[State.DUE]))
    return Queue(
        {state: found[state.value] for state in State}, _seconds(found["first_due"] or now, now)
    )


def _jobs() -> Mapping[Stage, int]:
    sent = TransactionOfJob.objects.filter(job=OuterRef("pk"), transaction__settled=False)
    stage = Case(
        When(Exists(sent), then=Value(Stage.TRANSACTION.value)),
        When(header=b"", then=Value(Stage.BLOCK.value)),
        default=Value(Stage.PROOF.value),
    )
    rows = BlockJob.objects.filter(look_again__gt=BEFORE_ALL).annotate(stage=stage)
    found = dict(rows.values_list("stage").annotate(Count("pk")).order_by())
    return {stage: found.get(stage.value, 0) for stage in Stage}


def _waiting() -> Mapping[str, int]:
    rows = BlockJob.objects.filter(look_again__gt=BEFORE_ALL).exclude(wait_code="")
    return dict(rows.values_list("wait_code").annotate(Count("pk")).order_by())


def _on_their_way(now: datetime) -> Mapping[int, OnTheirWay]:
    unmined = Q(mined_block=None)
    rows = SentTransaction.objects.filter(settled=False).values_list("chain")
    found = rows.annotate(
        waiting=Count("pk", filter=unmined),
        mined=Count("pk", filter=~unmined),
        first=Min("signed", filter=unmined),
    )
    return {
        chain: OnTheirWay(waiting, mined, _seconds(first or now, now))
        for chain, waiting, mined, first in found.order_by()
    }


def _ended() -> Ended:
    rows = DailyCount.objects.values_list("what").annotate(Sum("amount")).order_by()
    sums = {what: int(amount) for what, amount in rows}
    within, so_far = {}, 0
    for bound in WITHIN:
        within[bound] = so_far = so_far + sums.get(done_within(bound), 0)
    return Ended(
        sums.get(DONE, 0),
        sums.get(REJECTED, 0),
        within,
        so_far + sums.get(LONGER, 0),
        sums.get(TOOK, 0),
        sums.get(FACTS, 0),
    )


def _chains(
    chains: Collection[int], most_a_day: Mapping[int, int], now: datetime
) -> Mapping[int, ChainState]:
    records = ChainRecord.objects.in_bulk(chains)
    return {
        chain: _chain(records.get(chain, ChainRecord(chain=chain)), most_a_day.get(chain), now)
        for chain in chains
    }


def _chain(record: ChainRecord, most_a_day: int | None, now: datetime) -> ChainState:
    is_seen = record.recorded is not None
    return ChainState(
        number=record.number if is_seen else None,
        final=record.final_number if is_seen else None,
        block_age=max(now.timestamp() - record.timestamp, 0.0) if is_seen else None,
        looked_at=_seconds(record.looked_at, now) if record.looked_at else None,
        needed_window=record.needed_window,
        signer=record.signer,
        balance=int(record.balance, 16) if record.balance else None,
        day_spent=_day_spent(record, most_a_day) if most_a_day else None,
    )


def _day_spent(record: ChainRecord, most_a_day: int) -> float | None:
    """Of the signer that provers have now."""
    ours = SentTransaction.objects.filter(chain=record.chain, sender=record.signer)
    return gone_in_a_day(ours) / most_a_day if record.signer else None


def _nodes(chains: Collection[int], now: datetime) -> tuple[NodeState, ...]:
    rows = NodeRecord.objects.filter(chain__in=chains).order_by("chain", "place")
    return tuple(
        NodeState(
            chain=row.chain,
            place=row.place,
            answers=not row.fault,
            answers_for_names=row.answers_for_names,
            number=row.number,
            lag=row.lag,
            proof_window=row.proof_window,
            looked_at=_seconds(row.recorded, now),
        )
        for row in rows
    )


def _seconds(then: datetime, now: datetime) -> float:
    """None are negative: clocks differ a little."""
    return max((now - then).total_seconds(), 0.0)
