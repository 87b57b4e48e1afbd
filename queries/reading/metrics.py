"""The state of the service, as `/metrics` exposes it. The number of rows does not change the number
of statements. None reads ended rows, except a day's transactions of chains with a daily budget.

The labels of chains are their ids, and those of nodes their positions in the routes file: a node's
address may hold a key. No metric says who asked for what.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import Case, Count, Exists, Min, OuterRef, Q, Sum, Value, When
from ulid import ULID

from queries.chain.errors import NodesLimited, NodesRefuse, NodesUnreachable
from queries.database.clock import shared_now
from queries.database.daily_counts import DONE, FACTS, LONGER, REJECTED, TOOK, WITHIN, done_within
from queries.models import (
    Batch,
    BlockJob,
    ChainCost,
    ChainRecord,
    DailyCount,
    NodeRecord,
    SentTransaction,
    TransactionOfJob,
    WebhookDelivery,
)
from queries.reading.chain_objects import facts_by_route
from queries.statuses import ENDED, BatchStatus
from queries.transactions.budget import gone_in_a_day

# All due times are later; ended rows have none. Databases use the index for "later than this", and
# would not use it for "not null".
BEFORE_ALL = datetime(2000, 1, 1, tzinfo=UTC)
FOR_NODES = Q(wait_code__in=[each.code for each in (NodesUnreachable, NodesLimited, NodesRefuse)])
COUNTED = "Counted over all servers and provers since the database began."
QUEUES = {
    "batches": Batch.objects,
    "block_jobs": BlockJob.objects,
    "webhook_deliveries": WebhookDelivery.objects,
}


@dataclass(frozen=True, slots=True)
class Sample:
    """A value with the labels that distinguish it; None is not exposed."""

    value: float | None
    labels: Mapping[str, object]
    suffix: str = ""  # of the metric's name, in a histogram


@dataclass(frozen=True, slots=True)
class Metric:
    """`says` is its description, and `kind` gauge, counter or histogram."""

    name: str
    kind: str
    says: str
    samples: tuple[Sample, ...]


def _gauge(name: str, says: str, samples: Iterable[Sample]) -> Metric:
    return Metric(name, "gauge", says, tuple(samples))


def _counter(name: str, says: str, samples: Iterable[Sample]) -> Metric:
    return Metric(name, "counter", f"{says} {COUNTED}", tuple(samples))


def _by(label: str, values: Mapping[Any, float | None]) -> Iterator[Sample]:
    return (Sample(value, {label: key}) for key, value in values.items())


def _alone(value: float) -> list[Sample]:
    return [Sample(value, {})]


def metrics(chains: Collection[int], most_a_day: Mapping[int, int]) -> list[Metric]:
    """`chains`: the configured ones; stored rows of other chains are out of date.

    `most_a_day`: wei that a day's transactions may cost, of those where that is bounded.
    """
    now = shared_now()
    return [
        *_open_batches(now),
        *_jobs(),
        *_queues(now),
        *_ended(),
        *_transactions(now),
        *_chains(chains, most_a_day, now),
        *_nodes(chains, now),
    ]


def _open_batches(now: datetime) -> Iterator[Metric]:
    """An id begins with the time at which it was made."""
    open_ones = [status for status in BatchStatus if status not in ENDED]
    rows = Batch.objects.filter(status__in=open_ones).values_list("status")
    counted = rows.annotate(Count("pk"), first=Min("pk")).order_by()
    found = {status: (count, first) for status, count, first in counted}
    firsts = [first for _, first in found.values() if first]
    oldest = ULID.from_str(min(firsts)).datetime if firsts else now
    counts = {status: found.get(status, (0, ""))[0] for status in open_ones}
    yield _gauge("batches", "Batches that have not ended.", _by("status", counts))
    yield _gauge(
        "oldest_batch_age_seconds",
        "Seconds since the oldest open batch was submitted; 0 if there is none.",
        _alone(_seconds(oldest, now)),
    )


def _jobs() -> Iterator[Metric]:
    rows = BlockJob.objects.filter(look_again__gt=BEFORE_ALL)
    sent = TransactionOfJob.objects.filter(job=OuterRef("pk"), transaction__settled=False)
    stage = Case(
        When(Exists(sent), then=Value("transaction")),
        When(header=b"", then=Value("block")),
        default=Value("proof"),
    )
    staged = rows.annotate(stage=stage).values_list("stage")
    found = dict(staged.annotate(Count("pk")).order_by())
    yield _gauge(
        "block_jobs",
        "Block jobs by stage: block (not final or not read yet), proof, transaction (sent, but may "
        "still change).",
        _by("stage", {stage: found.get(stage, 0) for stage in ("block", "proof", "transaction")}),
    )
    waiting = rows.exclude(wait_code="").values_list("wait_code")
    yield _gauge(
        "waiting_jobs",
        "Block jobs by the code of what they wait for.",
        _by("code", dict(waiting.annotate(Count("pk")).order_by())),
    )


def _queues(now: datetime) -> Iterator[Metric]:
    free, later = Q(lease_token=""), Q(look_again__gt=now)
    states = {
        "worked_on": ~free & Q(lease_until__gt=now),
        # Its prover is silent, and no other one has taken it over yet.
        "lease_ran_out": ~free & Q(lease_until__lte=now),
        "due": free & ~later & ~FOR_NODES,
        "waiting": free & later & Q(failures=0),
        # It waits for another try, or for its turn where nodes hang.
        "failing": free & ((later & Q(failures__gt=0)) | (~later & FOR_NODES)),
    }
    counts = {state: Count("pk", filter=condition) for state, condition in states.items()}
    first_due = Min("look_again", filter=states["due"])
    found = {
        name: rows.filter(look_again__gt=BEFORE_ALL).aggregate(**counts, first_due=first_due)
        for name, rows in QUEUES.items()
    }
    yield _gauge(
        "queue_rows",
        "Open rows of each queue by state; failing: waits for another attempt.",
        (
            Sample(row[state], {"queue": name, "state": state})
            for name, row in found.items()
            for state in states
        ),
    )
    yield _gauge(
        "queue_wait_seconds",
        "Seconds that the oldest due row of each queue has waited for a prover.",
        _by("queue", {name: _seconds(row["first_due"] or now, now) for name, row in found.items()}),
    )


def _ended() -> Iterator[Metric]:
    rows = DailyCount.objects.values_list("what").annotate(Sum("amount")).order_by()
    sums = {what: int(amount) for what, amount in rows}
    ended = {"DONE": sums.get(DONE, 0), "REJECTED": sums.get(REJECTED, 0)}
    yield _counter("batches_ended_total", "Ended batches.", _by("status", ended))
    samples, so_far = list[Sample](), 0
    for bound in WITHIN:
        so_far += sums.get(done_within(bound), 0)
        samples.append(Sample(so_far, {"le": bound}, "_bucket"))
    timed = so_far + sums.get(LONGER, 0)
    samples.append(Sample(timed, {"le": "+Inf"}, "_bucket"))
    samples.append(Sample(sums.get(TOOK, 0), {}, "_sum"))
    samples.append(Sample(timed, {}, "_count"))
    says = f"Seconds from a batch's submission to DONE, each rounded. {COUNTED}"
    yield Metric("batch_duration_seconds", "histogram", says, tuple(samples))
    yield _counter("facts_total", "Facts read back.", _alone(sums.get(FACTS, 0)))
    yield _counter(
        "route_facts_total",
        "Facts of a route that were read back.",
        (
            Sample(facts, {"source": source, "destination": destination})
            for (source, destination), facts in facts_by_route().items()
        ),
    )


def _transactions(now: datetime) -> Iterator[Metric]:
    """Those that may still change, and the costs of those that may not."""
    unmined = Q(mined_block=None)
    rows = SentTransaction.objects.filter(settled=False).values_list("chain")
    found = rows.annotate(
        unmined=Count("pk", filter=unmined),
        mined=Count("pk", filter=~unmined),
        first=Min("signed", filter=unmined),
    )
    open_ones = list(found.order_by())
    yield _gauge(
        "transactions",
        "Transactions that may still change: unmined, or mined and not deep enough yet.",
        (
            Sample(count, {"chain": chain, "state": state})
            for chain, *counts, _ in open_ones
            for state, count in zip(("unmined", "mined"), counts, strict=True)
        ),
    )
    yield _gauge(
        "oldest_unmined_transaction_age_seconds",
        "Seconds since the oldest unmined transaction was signed; 0 if there is none.",
        _by("chain", {chain: _seconds(first or now, now) for chain, *_, first in open_ones}),
    )
    costs = list(ChainCost.objects.all())
    for name, says, values in (
        (
            "transactions_settled",
            "Transactions that can no longer change.",
            {each.chain: each.transactions for each in costs},
        ),
        ("gas", "Gas of settled transactions.", {each.chain: each.gas for each in costs}),
        (
            "spent_wei",
            "What settled transactions cost, L1 data fees included.",
            {each.chain: int(each.spent, 16) for each in costs},
        ),
    ):
        yield _counter(f"{name}_total", says, _by("chain", values))


def _chains(
    chains: Collection[int], most_a_day: Mapping[int, int], now: datetime
) -> Iterator[Metric]:
    """As provers saw them last."""
    rows = ChainRecord.objects.in_bulk(chains)
    polled = [rows[chain] for chain in chains if chain in rows]
    seen = [each for each in polled if each.recorded]
    for name, says, values in (
        (
            "chain_head_number",
            "A source chain's newest block.",
            {each.chain: each.number for each in seen},
        ),
        (
            "chain_final_number",
            "A source chain's newest final block.",
            {each.chain: each.final_number for each in seen},
        ),
        (
            "chain_head_age_seconds",
            "Seconds since the timestamp of a source chain's newest block.",
            {each.chain: max(now.timestamp() - each.timestamp, 0.0) for each in seen},
        ),
        (
            "chain_look_age_seconds",
            "Seconds since a prover last polled the chain.",
            {each.chain: _seconds(each.looked_at, now) for each in polled if each.looked_at},
        ),
        (
            "chain_proof_window_needed_blocks",
            "How many blocks back nodes must prove accounts, because only final blocks are proven.",
            {each.chain: each.needed_window for each in polled},
        ),
        (
            "day_spent_ratio",
            "How much of `most_a_day` is spent or reserved; from 1 on nothing new is signed.",
            {
                each.chain: _day_spent(each, most_a_day[each.chain])
                for each in polled
                if each.signer and most_a_day.get(each.chain)
            },
        ),
    ):
        yield _gauge(name, says, _by("chain", values))
    yield _gauge(
        "signer_balance_wei",
        "What the address that pays for transactions has on a destination.",
        (
            Sample(int(each.balance, 16), {"chain": each.chain, "signer": each.signer})
            for each in polled
            if each.balance
        ),
    )


def _day_spent(record: ChainRecord, most: int) -> float:
    """Of the signer that provers have now."""
    ours = SentTransaction.objects.filter(chain=record.chain, sender=record.signer)
    return gone_in_a_day(ours) / most


def _nodes(chains: Collection[int], now: datetime) -> Iterator[Metric]:
    rows = list(NodeRecord.objects.filter(chain__in=chains).order_by("chain", "place"))
    for name, says, values in (
        ("up", "1 if the node answered the last poll.", [int(not each.fault) for each in rows]),
        (
            "names_up",
            "1 if the node answered the ENS check in time; only for chains with an ens_registry.",
            [each.answers_for_names for each in rows],
        ),
        (
            "look_age_seconds",
            "Seconds since the node was last polled.",
            [_seconds(each.recorded, now) for each in rows],
        ),
        ("head_number", "The node's newest block.", [each.number for each in rows]),
        (
            "lag_blocks",
            "Blocks behind the furthest node of its chain.",
            [each.lag for each in rows],
        ),
        (
            "proof_window_blocks",
            (
                "How many blocks back the node proves accounts, by doubling to 8,192; -1: not its "
                "newest."
            ),
            [each.proof_window for each in rows],
        ),
    ):
        samples = (
            Sample(value, {"chain": each.chain, "node": each.place})
            for each, value in zip(rows, values, strict=True)
        )
        yield _gauge(f"node_{name}", says, samples)


def _seconds(then: datetime, now: datetime) -> float:
    """None are negative: clocks differ a little."""
    return max((now - then).total_seconds(), 0.0)
