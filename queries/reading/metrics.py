"""The state of the service, as `/metrics` exposes it.

The number of statements does not depend on the number of rows. Ended rows are not read, except a
day's transactions of chains with a daily budget. Labels are chain ids, and positions of nodes in
the routes file, because a node's URL may contain a key. No metric names an account.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import Case, Count, Exists, Min, OuterRef, Q, Sum, Value, When
from ulid import ULID

from queries.chain.errors import NodesRefuseError, NodesUnreachableError, RateLimitedError
from queries.database.clock import shared_now
from queries.database.daily_counts import (
    DONE,
    DONE_OVERFLOW,
    DONE_SECONDS,
    DURATION_BOUNDS,
    FACTS,
    REJECTED,
    duration_key,
)
from queries.models import (
    Batch,
    BlockJob,
    ChainCost,
    ChainRecord,
    DailyCount,
    JobTransaction,
    NodeRecord,
    SentTransaction,
    WebhookDelivery,
)
from queries.reading.chain_objects import facts_by_route
from queries.statuses import ENDED_STATUSES, BatchStatus
from queries.transactions.budget import spent_in_24_hours

# Before all due times. Databases use the index for "later than", and would not for "not null".
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
WAITS_FOR_NODES = Q(
    wait_code__in=[
        error.code for error in (NodesUnreachableError, RateLimitedError, NodesRefuseError)
    ]
)
COUNTER_SCOPE = "Counted over all servers and provers since the database began."
QUEUES = {
    "batches": Batch.objects,
    "block_jobs": BlockJob.objects,
    "webhook_deliveries": WebhookDelivery.objects,
}


@dataclass(frozen=True, slots=True)
class Sample:
    """A value with its labels; None is not exposed."""

    value: float | None
    labels: Mapping[str, object]
    suffix: str = ""  # of the metric's name, in a histogram


@dataclass(frozen=True, slots=True)
class Metric:
    """`kind` is gauge, counter or histogram."""

    name: str
    kind: str
    description: str
    samples: tuple[Sample, ...]


def _gauge(name: str, description: str, samples: Iterable[Sample]) -> Metric:
    return Metric(name, "gauge", description, tuple(samples))


def _counter(name: str, description: str, samples: Iterable[Sample]) -> Metric:
    return Metric(name, "counter", f"{description} {COUNTER_SCOPE}", tuple(samples))


def _samples(label: str, values: Mapping[Any, float | None]) -> Iterator[Sample]:
    return (Sample(value, {label: key}) for key, value in values.items())


def metrics(chains: Collection[int], daily_budgets: Mapping[int, int]) -> list[Metric]:
    """All metrics of the configured chains. `daily_budgets`: in wei, of chains that have one."""
    now = shared_now()
    return [
        *_batch_metrics(now),
        *_job_metrics(),
        *_queue_metrics(now),
        *_result_metrics(),
        *_transaction_metrics(now),
        *_chain_metrics(chains, daily_budgets, now),
        *_node_metrics(chains, now),
    ]


def _batch_metrics(now: datetime) -> Iterator[Metric]:
    """The age comes from the ids, which begin with the time of submission."""
    statuses = [status for status in BatchStatus if status not in ENDED_STATUSES]
    rows = Batch.objects.filter(status__in=statuses).values_list("status")
    counted = list(rows.annotate(Count("pk"), first=Min("pk")).order_by())
    firsts = [first for _, _, first in counted if first]
    oldest = ULID.from_str(min(firsts)).datetime if firsts else now
    counts = dict.fromkeys(statuses, 0) | {status: count for status, count, _ in counted}
    yield _gauge("batches", "Batches that have not ended.", _samples("status", counts))
    yield _gauge(
        "oldest_batch_age_seconds",
        "Seconds since the oldest open batch was submitted; 0 if there is none.",
        [Sample(_seconds_since(oldest, now), {})],
    )


def _job_metrics() -> Iterator[Metric]:
    rows = BlockJob.objects.filter(due_at__gt=EARLIEST)
    sent = JobTransaction.objects.filter(job=OuterRef("pk"), transaction__confirmed=False)
    stage = Case(
        When(Exists(sent), then=Value("transaction")),
        When(header=b"", then=Value("block")),
        default=Value("proof"),
    )
    by_stage = rows.annotate(stage=stage).values_list("stage")
    counts = dict(by_stage.annotate(Count("pk")).order_by())
    yield _gauge(
        "block_jobs",
        "Block jobs by stage: block (not final or not read yet), proof, transaction (sent, but may "
        "still change).",
        _samples(
            "stage", {stage: counts.get(stage, 0) for stage in ("block", "proof", "transaction")}
        ),
    )
    waiting = rows.exclude(wait_code="").values_list("wait_code")
    yield _gauge(
        "waiting_jobs",
        "Block jobs by the code of what they wait for.",
        _samples("code", dict(waiting.annotate(Count("pk")).order_by())),
    )


def _queue_metrics(now: datetime) -> Iterator[Metric]:
    free, later = Q(lease_token=""), Q(due_at__gt=now)
    states = {
        "worked_on": ~free & Q(lease_until__gt=now),
        # Its prover stopped, and no other prover has claimed the row yet.
        "lease_ran_out": ~free & Q(lease_until__lte=now),
        "due": free & ~later & ~WAITS_FOR_NODES,
        "waiting": free & later & Q(failures=0),
        # It waits for a retry, or for a free thread while nodes hang.
        "failing": free & ((later & Q(failures__gt=0)) | (~later & WAITS_FOR_NODES)),
    }
    counts = {state: Count("pk", filter=condition) for state, condition in states.items()}
    first_due = Min("due_at", filter=states["due"])
    rows_of_queues = {
        name: rows.filter(due_at__gt=EARLIEST).aggregate(**counts, first_due=first_due)
        for name, rows in QUEUES.items()
    }
    yield _gauge(
        "queue_rows",
        "Open rows of each queue by state; failing: waits for another attempt.",
        (
            Sample(row[state], {"queue": name, "state": state})
            for name, row in rows_of_queues.items()
            for state in states
        ),
    )
    yield _gauge(
        "queue_wait_seconds",
        "Seconds that the oldest due row of each queue has waited for a prover.",
        _samples(
            "queue",
            {
                name: _seconds_since(row["first_due"] or now, now)
                for name, row in rows_of_queues.items()
            },
        ),
    )


def _result_metrics() -> Iterator[Metric]:
    rows = DailyCount.objects.values_list("name").annotate(Sum("amount")).order_by()
    sums = {what: int(amount) for what, amount in rows}
    ended_counts = {"DONE": sums.get(DONE, 0), "REJECTED": sums.get(REJECTED, 0)}
    yield _counter("batches_ended_total", "Ended batches.", _samples("status", ended_counts))
    samples, done = list[Sample](), 0
    for bound in DURATION_BOUNDS:
        done += sums.get(duration_key(bound), 0)
        samples.append(Sample(done, {"le": bound}, "_bucket"))
    timed = done + sums.get(DONE_OVERFLOW, 0)
    samples.append(Sample(timed, {"le": "+Inf"}, "_bucket"))
    samples.append(Sample(sums.get(DONE_SECONDS, 0), {}, "_sum"))
    samples.append(Sample(timed, {}, "_count"))
    description = f"Seconds from a batch's submission to DONE, each rounded. {COUNTER_SCOPE}"
    yield Metric("batch_duration_seconds", "histogram", description, tuple(samples))
    yield _counter("facts_total", "Facts read back.", [Sample(sums.get(FACTS, 0), {})])
    yield _counter(
        "route_facts_total",
        "Facts of a route that were read back.",
        (
            Sample(facts, {"source": source, "destination": destination})
            for (source, destination), facts in facts_by_route().items()
        ),
    )


def _transaction_metrics(now: datetime) -> Iterator[Metric]:
    """Transactions that may still change, and the costs of those that cannot."""
    unmined = Q(mined_block=None)
    rows = SentTransaction.objects.filter(confirmed=False).values_list("chain")
    counted = rows.annotate(
        unmined=Count("pk", filter=unmined),
        mined=Count("pk", filter=~unmined),
        first=Min("signed_at", filter=unmined),
    )
    by_chain = list(counted.order_by())
    yield _gauge(
        "transactions",
        "Transactions that may still change: unmined, or mined and not deep enough yet.",
        (
            Sample(count, {"chain": chain, "state": state})
            for chain, *counts, _ in by_chain
            for state, count in zip(("unmined", "mined"), counts, strict=True)
        ),
    )
    yield _gauge(
        "oldest_unmined_transaction_age_seconds",
        "Seconds since the oldest unmined transaction was signed; 0 if there is none.",
        _samples(
            "chain", {chain: _seconds_since(first or now, now) for chain, *_, first in by_chain}
        ),
    )
    costs = list(ChainCost.objects.all())
    for name, description, values in (
        (
            "transactions_finalized",
            "Transactions that can no longer change.",
            {row.chain: row.transactions for row in costs},
        ),
        ("gas", "Gas of confirmed transactions.", {row.chain: row.gas for row in costs}),
        (
            "spent_wei",
            "What confirmed transactions cost, L1 data fees included.",
            {row.chain: int(row.spent, 16) for row in costs},
        ),
    ):
        yield _counter(f"{name}_total", description, _samples("chain", values))


def _chain_metrics(
    chains: Collection[int], daily_budgets: Mapping[int, int], now: datetime
) -> Iterator[Metric]:
    """The state of the chains as provers saw it last."""
    rows = ChainRecord.objects.in_bulk(chains)
    polled = [rows[chain] for chain in chains if chain in rows]
    seen = [row for row in polled if row.recorded_at]
    for name, description, values in (
        (
            "chain_head_number",
            "A source chain's newest block.",
            {row.chain: row.number for row in seen},
        ),
        (
            "chain_final_number",
            "A source chain's newest final block.",
            {row.chain: row.final_number for row in seen},
        ),
        (
            "chain_head_age_seconds",
            "Seconds since the timestamp of a source chain's newest block.",
            {row.chain: max(now.timestamp() - row.timestamp, 0.0) for row in seen},
        ),
        (
            "chain_poll_age_seconds",
            "Seconds since a prover last polled the chain.",
            {row.chain: _seconds_since(row.polled_at, now) for row in polled if row.polled_at},
        ),
        (
            "chain_proof_window_needed_blocks",
            "How many blocks back nodes must prove accounts, because only final blocks are proven.",
            {row.chain: row.needed_window for row in polled},
        ),
        (
            "daily_budget_spent_ratio",
            "How much of `daily_budget` is spent or reserved; from 1 on nothing new is signed.",
            {
                row.chain: spent_today(row) / daily_budgets[row.chain]
                for row in polled
                if row.signer and daily_budgets.get(row.chain)
            },
        ),
    ):
        yield _gauge(name, description, _samples("chain", values))
    yield _gauge(
        "signer_balance_wei",
        "Balance of the address that pays for transactions on a destination.",
        (
            Sample(int(row.balance, 16), {"chain": row.chain, "signer": row.signer})
            for row in polled
            if row.balance
        ),
    )


def spent_today(record: ChainRecord) -> int:
    """What the current signer has spent or reserved of the daily budget, in wei."""
    return spent_in_24_hours(
        SentTransaction.objects.filter(chain=record.chain, sender=record.signer)
    )


def _node_metrics(chains: Collection[int], now: datetime) -> Iterator[Metric]:
    rows = list(NodeRecord.objects.filter(chain__in=chains).order_by("chain", "position"))
    for name, description, values in (
        ("up", "1 if the node answered the last poll.", [int(not row.fault) for row in rows]),
        (
            "ens_up",
            "1 if the node answered the ENS check in time; only for chains with an ens_registry.",
            [row.can_resolve_names for row in rows],
        ),
        (
            "poll_age_seconds",
            "Seconds since the node was last polled.",
            [_seconds_since(row.recorded_at, now) for row in rows],
        ),
        ("head_number", "The node's newest block.", [row.number for row in rows]),
        ("lag_blocks", "Blocks behind the furthest node of its chain.", [row.lag for row in rows]),
        (
            "proof_window_blocks",
            (
                "How many blocks back the node proves accounts, at most 8,191; also 8,191 if it "
                "proves all blocks of a younger chain; -1: not its newest."
            ),
            [row.proof_window for row in rows],
        ),
    ):
        samples = (
            Sample(value, {"chain": row.chain, "node": row.position})
            for row, value in zip(rows, values, strict=True)
        )
        yield _gauge(f"node_{name}", description, samples)


def _seconds_since(then: datetime, now: datetime) -> float:
    """At least 0, because clocks differ a little."""
    return max((now - then).total_seconds(), 0.0)
