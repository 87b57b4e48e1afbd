"""Metrics of the service, for `/metrics`.

A scrape takes a fixed number of statements and reads open rows only; for a daily budget, also the
transactions of the last 24 hours. Labels name chains by id, and nodes by their position in the
routes file, because a node's URL may contain a key. No metric names an account.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain

from django.db.models import Case, Count, Exists, Min, OuterRef, Q, Sum, Value, When
from ulid import ULID

from queries.chain import NodesRefuseError, NodesUnreachableError, RateLimitedError
from queries.database.clock import shared_now
from queries.database.statistics import (
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
    Delivery,
    Feed,
    JobTransaction,
    LightClient,
    NodeRecord,
    SentTransaction,
    WebhookPost,
)
from queries.reading.chain_objects import facts_by_route
from queries.reading.registry_states import read_registry_states
from queries.sources import Registry
from queries.statuses import ENDED_STATUSES, BatchStatus, FeedState
from queries.transactions.budget import spent_in_24_hours
from queries.transactions.lane import stopped_lanes

# Before all due times. Databases use the index for "later than", and would not for "not null".
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
WAITS_FOR_NODES = Q(
    wait_code__in=[
        error.code for error in (NodesUnreachableError, RateLimitedError, NodesRefuseError)
    ]
)
QUEUES = {
    "batches": Batch.objects,
    "block_jobs": BlockJob.objects,
    "deliveries": Delivery.objects,
    "webhook_deliveries": WebhookPost.objects,
}
GAUGES = {
    "batches": "Batches that have not ended.",
    "oldest_batch_age_seconds": "Seconds since the oldest open batch was submitted; 0 if there is "
    "none.",
    "feeds": "Feeds by state, without those that have ended.",
    "block_jobs": "Block jobs by stage: block (not final or not read yet), proof, transaction "
    "(sent, not confirmed yet).",
    "waiting_jobs": "Block jobs by the code of what they wait for.",
    "queue_rows": "Open rows of each queue by state: due, waiting, failing (waits for a retry), "
    "leased (a prover works on it), lease_expired (its prover has stopped).",
    "queue_wait_seconds": "Seconds that the oldest due row of each queue has waited for a prover.",
    "transactions": "Transactions that may still change: unmined, or mined and not deep enough "
    "yet.",
    "oldest_unmined_transaction_age_seconds": "Seconds since the oldest unmined transaction was "
    "signed; 0 if there is none.",
    "chain_head_number": "A source chain's newest block.",
    "chain_final_number": "A source chain's newest final block.",
    "chain_head_age_seconds": "Seconds since the timestamp of a source chain's newest block.",
    "chain_poll_age_seconds": "Seconds since a prover last polled the chain.",
    "chain_proof_window_needed_blocks": "How many blocks back nodes must prove accounts, because "
    "only final blocks are proven.",
    "light_client_finalized_slot": "The newest finalized slot of a chain with beacon nodes, as its "
    "light client checked it.",
    "light_client_signers": "How many of 512 validators signed the light client's last update.",
    "light_client_check_age_seconds": "Seconds since beacon nodes last answered the light client.",
    "registry_awake_seconds": "For how many seconds a beacon registry surely stays awake, if it "
    "learns no more committees; 0 if that is not known.",
    "registry_awake_needed_seconds": "If a beacon registry stays awake for less, an update is "
    "overdue, or a fork is near that the registry does not know.",
    "daily_budget_spent_ratio": "How much of `daily_budget` is spent or reserved; from 1 on "
    "nothing new is signed.",
    "sending_stopped": "1 if nothing is sent to a destination, because a transaction that is not "
    "in the database has used a nonce of the signer; else 0.",
    "signer_balance_wei": "Balance of the address that pays for transactions on a destination.",
    "node_up": "1 if the node answered the last poll.",
    "node_ens_up": "1 if the node answered the ENS check in time; only for chains with an "
    "ens_registry.",
    "node_poll_age_seconds": "Seconds since the node was last polled.",
    "node_head_number": "The node's newest block.",
    "node_lag_blocks": "Blocks behind the furthest node of its chain.",
    "node_proof_window_blocks": "How many blocks back the node proves accounts, at most 8,191; "
    "also 8,191 if it proves all blocks of a younger chain; -1: not its newest.",
}
COUNTERS = {
    "batches_ended_total": "Ended batches.",
    "facts_total": "Facts read back.",
    "route_facts_total": "Facts of a route that were read back.",
    "transactions_finalized_total": "Transactions that can no longer change.",
    "gas_total": "Gas of final transactions.",
    "spent_wei_total": "What final transactions cost, L1 data fees included.",
}
HISTOGRAMS = {"batch_duration_seconds": "Seconds from a batch's submission to DONE, each rounded."}
COUNTER_SCOPE = "Counted over all servers and provers since the database began."


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


NamedSample = tuple[str, Sample]  # with the metric's name


def read_metrics(
    chains: Collection[int], registries: Collection[Registry], daily_budgets: Mapping[int, int]
) -> list[Metric]:
    """All metrics of the configured chains. `daily_budgets`: in wei, of chains that have one."""
    now, samples = shared_now(), defaultdict[str, list[Sample]](list)
    for name, sample in chain(
        _batch_samples(now),
        _feed_samples(),
        _job_samples(),
        _queue_samples(now),
        _result_samples(),
        _transaction_samples(now),
        _chain_samples(chains, daily_budgets, now),
        _light_client_samples(chains, now),
        _registry_samples(registries, now),
        _node_samples(chains, now),
    ):
        samples[name].append(sample)
    kinds = {"gauge": GAUGES, "counter": COUNTERS, "histogram": HISTOGRAMS}
    return [
        Metric(name, kind, meaning if kind == "gauge" else f"{meaning} {COUNTER_SCOPE}", values)
        for kind, meanings in kinds.items()
        for name, meaning in meanings.items()
        for values in [tuple(samples[name])]
    ]


def _sample(name: str, value: float | None, **labels: object) -> NamedSample:
    return name, Sample(value, labels)


def _batch_samples(now: datetime) -> Iterator[NamedSample]:
    """The age comes from the ids, which begin with the time of submission."""
    statuses = [status for status in BatchStatus if status not in ENDED_STATUSES]
    rows = Batch.objects.filter(status__in=statuses).values_list("status")
    groups = list(rows.annotate(Count("pk"), first=Min("pk")).order_by())
    counts = {status: count for status, count, _ in groups}
    for status in statuses:
        yield _sample("batches", counts.get(status, 0), status=status)
    firsts = [first for _, _, first in groups if first]
    oldest = ULID.from_str(min(firsts)).datetime if firsts else now
    yield _sample("oldest_batch_age_seconds", _seconds_since(oldest, now))


def _feed_samples() -> Iterator[NamedSample]:
    states = [state for state in FeedState if state is not FeedState.ENDED]
    rows = Feed.objects.filter(state__in=states).values_list("state")
    counts = dict(rows.annotate(Count("pk")).order_by())
    for state in states:
        yield _sample("feeds", counts.get(state, 0), state=state)


def _job_samples() -> Iterator[NamedSample]:
    rows = BlockJob.objects.filter(due_at__gt=EARLIEST)
    transactions = JobTransaction.objects.filter(job=OuterRef("pk"), transaction__confirmed=False)
    stage = Case(
        When(Exists(transactions), then=Value("transaction")),
        When(header=b"", then=Value("block")),
        default=Value("proof"),
    )
    counts = dict(rows.annotate(stage=stage).values_list("stage").annotate(Count("pk")).order_by())
    for name in ("block", "proof", "transaction"):
        yield _sample("block_jobs", counts.get(name, 0), stage=name)
    waiting_jobs = rows.exclude(wait_code="").values_list("wait_code")
    for code, count in waiting_jobs.annotate(Count("pk")).order_by():
        yield _sample("waiting_jobs", count, code=code)


def _queue_samples(now: datetime) -> Iterator[NamedSample]:
    is_free, is_later = Q(lease_token=""), Q(due_at__gt=now)
    states = {
        "leased": ~is_free & Q(lease_until__gt=now),
        "lease_expired": ~is_free & Q(lease_until__lte=now),
        "due": is_free & ~is_later & ~WAITS_FOR_NODES,
        "waiting": is_free & is_later & Q(failures=0),
        # It waits for a retry, or for a free thread while nodes hang.
        "failing": is_free & ((is_later & Q(failures__gt=0)) | (~is_later & WAITS_FOR_NODES)),
    }
    counts = {state: Count("pk", filter=condition) for state, condition in states.items()}
    first_due = Min("due_at", filter=states["due"])
    for queue, rows in QUEUES.items():
        row = rows.filter(due_at__gt=EARLIEST).aggregate(**counts, first_due=first_due)
        for state in states:
            yield _sample("queue_rows", row[state], queue=queue, state=state)
        wait = _seconds_since(row["first_due"] or now, now)
        yield _sample("queue_wait_seconds", wait, queue=queue)


def _result_samples() -> Iterator[NamedSample]:
    rows = DailyCount.objects.values_list("name").annotate(Sum("amount")).order_by()
    sums = defaultdict[str, int](int, {name: int(amount) for name, amount in rows})
    for status, name in (("DONE", DONE), ("REJECTED", REJECTED)):
        yield _sample("batches_ended_total", sums[name], status=status)
    yield _sample("facts_total", sums[FACTS])
    for (source, destination), facts in facts_by_route().items():
        yield _sample("route_facts_total", facts, source=source, destination=destination)
    count = 0
    keys = {str(bound): duration_key(bound) for bound in DURATION_BOUNDS} | {"+Inf": DONE_OVERFLOW}
    for bound, key in keys.items():
        count += sums[key]
        yield "batch_duration_seconds", Sample(count, {"le": bound}, "_bucket")
    yield "batch_duration_seconds", Sample(sums[DONE_SECONDS], {}, "_sum")
    yield "batch_duration_seconds", Sample(count, {}, "_count")


def _transaction_samples(now: datetime) -> Iterator[NamedSample]:
    """Transactions that may still change, and the costs of those that cannot."""
    is_unmined = Q(mined_block=None)
    rows = SentTransaction.objects.filter(confirmed=False).values_list("chain")
    counts = rows.annotate(
        unmined=Count("pk", filter=is_unmined),
        mined=Count("pk", filter=~is_unmined),
        first=Min("signed_at", filter=is_unmined),
    )
    for chain_id, unmined_count, mined_count, first in counts.order_by():
        yield _sample("transactions", unmined_count, chain=chain_id, state="unmined")
        yield _sample("transactions", mined_count, chain=chain_id, state="mined")
        age = _seconds_since(first or now, now)
        yield _sample("oldest_unmined_transaction_age_seconds", age, chain=chain_id)
    for cost in ChainCost.objects.all():
        yield _sample("transactions_finalized_total", cost.transactions, chain=cost.chain)
        yield _sample("gas_total", cost.gas, chain=cost.chain)
        yield _sample("spent_wei_total", int(cost.spent, 16), chain=cost.chain)


def _chain_samples(
    chains: Collection[int], daily_budgets: Mapping[int, int], now: datetime
) -> Iterator[NamedSample]:
    """The state of the chains as provers saw it last."""
    rows, stopped = ChainRecord.objects.in_bulk(chains), stopped_lanes()
    for row in (rows[chain_id] for chain_id in chains if chain_id in rows):
        if row.recorded_at:
            age = max(now.timestamp() - row.timestamp, 0.0)
            yield _sample("chain_head_number", row.number, chain=row.chain)
            yield _sample("chain_final_number", row.final_number, chain=row.chain)
            yield _sample("chain_head_age_seconds", age, chain=row.chain)
        if row.polled_at:
            age = _seconds_since(row.polled_at, now)
            yield _sample("chain_poll_age_seconds", age, chain=row.chain)
        yield _sample("chain_proof_window_needed_blocks", row.needed_window, chain=row.chain)
        if row.signer and (budget := daily_budgets.get(row.chain)):
            yield _sample("daily_budget_spent_ratio", budget_spent(row) / budget, chain=row.chain)
        if row.signer:
            is_stopped = (row.chain, row.signer) in stopped
            yield _sample("sending_stopped", is_stopped, chain=row.chain)
        if row.balance:
            balance = int(row.balance, 16)
            yield _sample("signer_balance_wei", balance, chain=row.chain, signer=row.signer)


def _light_client_samples(chains: Collection[int], now: datetime) -> Iterator[NamedSample]:
    rows = LightClient.objects.filter(chain__in=chains).exclude(checked_at=None)
    for row in rows.defer("committee").order_by("chain"):
        slot, age = row.finalized_slot, _seconds_since(row.checked_at or now, now)
        yield _sample("light_client_finalized_slot", slot, chain=row.chain)
        yield _sample("light_client_signers", row.signers, chain=row.chain)
        yield _sample("light_client_check_age_seconds", age, chain=row.chain)


def _registry_samples(registries: Collection[Registry], now: datetime) -> Iterator[NamedSample]:
    for state in read_registry_states(registries):
        route = state.registry.route_filter
        seconds = (state.awake_until - now).total_seconds() if state.awake_until else 0
        yield _sample("registry_awake_seconds", seconds, **route)
        yield _sample("registry_awake_needed_seconds", state.registry.min_awake_seconds, **route)


def budget_spent(record: ChainRecord) -> int:
    """Wei of the daily budget that the current signer has spent or reserved."""
    return spent_in_24_hours(
        SentTransaction.objects.filter(chain=record.chain, sender=record.signer)
    )


def _node_samples(chains: Collection[int], now: datetime) -> Iterator[NamedSample]:
    for row in NodeRecord.objects.filter(chain__in=chains).order_by("chain", "position"):
        values = {
            "up": not row.fault,
            "ens_up": row.can_resolve_names,
            "poll_age_seconds": _seconds_since(row.recorded_at, now),
            "head_number": row.number,
            "lag_blocks": row.lag,
            "proof_window_blocks": row.proof_window,
        }
        for name, value in values.items():
            yield _sample(f"node_{name}", value, chain=row.chain, node=row.position)


def _seconds_since(then: datetime, now: datetime) -> float:
    """Return 0 rather than a negative number, because clocks differ a little."""
    return max((now - then).total_seconds(), 0.0)
