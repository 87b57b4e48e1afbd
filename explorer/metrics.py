"""`/metrics`: what provers, chains and nodes are doing, in Prometheus's text format.

The labels of chains are their ids, and those of nodes their positions in the routes file: a node's
address may hold a key. No metric says who asked for what.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_address
from typing import TypeVar
from urllib.parse import urlsplit

from django.conf import settings
from django.db import Error
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.utils.crypto import constant_time_compare

from accounts import errors as http
from accounts.errors import Refusal, answer_of
from explorer.wiring import ROUTES
from queries.reading.operations import ChainState, NodeState, Operations, State, operations

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Kind(StrEnum):
    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Sample:
    """One value, and the labels that distinguish it within its metric."""

    value: float  # or an int, which is written whole
    labels: Mapping[str, object] = field(default_factory=dict)
    of: str = ""  # of a histogram: `_bucket`, `_sum` or `_count`


@dataclass(frozen=True, slots=True)
class Metric:
    """What it is called, what it says, and what it is now."""

    name: str
    kind: Kind
    says: str
    samples: tuple[Sample, ...]


def exposition(metrics: Iterable[Metric]) -> str:
    return "".join(f"{line}\n" for metric in metrics for line in _lines(metric))


def _lines(metric: Metric) -> Iterable[str]:
    yield f"# HELP {metric.name} {_escaped(metric.says)}"
    yield f"# TYPE {metric.name} {metric.kind}"
    for each in metric.samples:
        labels = ",".join(f'{name}="{_quoted(value)}"' for name, value in each.labels.items())
        yield f"{metric.name}{each.of}{f'{{{labels}}}' if labels else ''} {each.value}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _quoted(value: object) -> str:
    return _escaped(str(value)).replace('"', r"\"")


log = logging.getLogger("tacitus.metrics")


Key = TypeVar("Key")
COUNTED = "Counted over all servers and provers since the database began."


def metrics(seen: Operations, version: str) -> Iterator[Metric]:
    info = {"version": version}
    yield _gauge("tacitus_info", "The version that answers.", [Sample(1, info)])
    yield from _of_the_work(seen)
    yield from _of_what_ended(seen)
    yield from _of_transactions(seen)
    yield from _of_chains(seen.chains)
    yield from _of_nodes(seen.nodes)


def _of_the_work(seen: Operations) -> Iterator[Metric]:
    statuses = seen.batches.by_status
    yield _gauge("tacitus_batches", "Batches that have not ended.", _by("status", statuses))
    yield _gauge(
        "tacitus_oldest_batch_age_seconds",
        "Since the oldest batch that has not ended was submitted; 0 where there is none.",
        [Sample(seen.batches.oldest)],
    )
    yield _gauge(
        "tacitus_block_jobs",
        "Blocks that are worked on, by what comes next: the block itself until it is final and "
        "read, its proof, its transaction until it can no longer change.",
        _by("stage", seen.jobs),
    )
    yield _gauge(
        "tacitus_queue_rows",
        "What provers have to do, by how it stands with them; failing waits for another try.",
        [
            Sample(count, {"queue": name, "state": State(state).value})
            for name, queue in seen.queues.items()
            for state, count in queue.states.items()
        ],
    )
    yield _gauge(
        "tacitus_queue_wait_seconds",
        "How long what is due has waited for a prover, the longest of each queue.",
        _by("queue", {name: queue.waited for name, queue in seen.queues.items()}),
    )


def _of_what_ended(seen: Operations) -> Iterator[Metric]:
    ended = seen.ended
    statuses = {"DONE": ended.done, "REJECTED": ended.rejected}
    yield _counter("tacitus_batches_ended_total", "Batches.", _by("status", statuses))
    yield Metric(
        "tacitus_batch_duration_seconds",
        Kind.HISTOGRAM,
        f"From submission to DONE, in whole seconds for each batch. {COUNTED}",
        (
            *(
                Sample(amount, {"le": bound}, of="_bucket")
                for bound, amount in ended.within.items()
            ),
            Sample(ended.timed, {"le": "+Inf"}, of="_bucket"),
            Sample(ended.seconds, of="_sum"),
            Sample(ended.timed, of="_count"),
        ),
    )
    yield _counter("tacitus_facts_total", "Facts read back.", [Sample(ended.facts)])
    yield _counter(
        "tacitus_route_facts_total",
        "Facts of a route that were read back.",
        [
            Sample(facts, {"source": source, "destination": destination})
            for (source, destination), facts in seen.facts_of_routes.items()
        ],
    )


def _of_transactions(seen: Operations) -> Iterator[Metric]:
    yield _gauge(
        "tacitus_transactions",
        "Transactions that may still change: unmined, or mined and not deep enough yet.",
        [
            Sample(count, {"chain": chain, "state": state})
            for chain, each in seen.on_their_way.items()
            for state, count in (("unmined", each.unmined), ("mined", each.mined))
        ],
    )
    yield _gauge(
        "tacitus_oldest_unmined_transaction_age_seconds",
        "Since the oldest transaction that is not mined was signed; 0 where there is none.",
        _by("chain", {chain: each.oldest_unmined for chain, each in seen.on_their_way.items()}),
    )
    for name, says, amounts in (
        ("transactions_settled", "Transactions that can no longer change.", "transactions"),
        ("gas", "Gas of these.", "gas"),
        ("spent_wei", "What these cost, an L1's share included.", "spent"),
    ):
        found = {chain: getattr(each, amounts) for chain, each in seen.costs.items()}
        yield _counter(f"tacitus_{name}_total", says, _by("chain", found))


OfAChain = tuple[str, str, Callable[[ChainState], float | None]]

CHAINS: tuple[OfAChain, ...] = (
    ("chain_head_number", "A source chain's newest block.", lambda each: each.number),
    ("chain_final_number", "Its newest final block.", lambda each: each.final),
    ("chain_head_age_seconds", "Since its newest block's own time.", lambda each: each.block_age),
    ("chain_look_age_seconds", "Since a prover last looked.", lambda each: each.looked_at),
    (
        "chain_proof_window_needed_blocks",
        "How many blocks back its routes need proofs at the moment.",
        lambda each: each.needed_window,
    ),
    (
        "day_spent_ratio",
        "How much of `most_a_day` is spent or on its way; from 1 on nothing is signed.",
        lambda each: each.day_spent,
    ),
)
OfANode = tuple[str, str, Callable[[NodeState], float | None]]
NODES: tuple[OfANode, ...] = (
    ("node_up", "1 where it answered a prover's last look.", lambda each: int(each.answers)),
    (
        "node_names_up",
        "1 where it said in time what its chain's ENS registry holds; of chains with one.",
        lambda each: None if each.answers_for_names is None else int(each.answers_for_names),
    ),
    ("node_look_age_seconds", "Since that look.", lambda each: each.looked_at),
    ("node_head_number", "Its newest block.", lambda each: each.number),
    ("node_lag_blocks", "Behind the furthest node of its chain.", lambda each: each.lag),
    (
        "node_proof_window_blocks",
        "How many blocks back it proves accounts, up to 8,192, by doubling; -1: not its newest.",
        lambda each: each.proof_window,
    ),
)


def _of_chains(chains: Mapping[int, ChainState]) -> Iterator[Metric]:
    for name, says, read in CHAINS:
        yield _gauge(
            f"tacitus_{name}", says, _by("chain", {key: read(each) for key, each in chains.items()})
        )
    yield _gauge(
        "tacitus_signer_balance_wei",
        "What the address that pays for transactions has on a destination.",
        [
            Sample(each.balance, {"chain": chain, "signer": each.signer})
            for chain, each in chains.items()
            if each.balance is not None
        ],
    )


def _of_nodes(nodes: Iterable[NodeState]) -> Iterator[Metric]:
    for name, says, read in NODES:
        found = (({"chain": each.chain, "node": each.place}, read(each)) for each in nodes)
        samples = [Sample(value, labels) for labels, value in found if value is not None]
        yield _gauge(f"tacitus_{name}", says, samples)


def _by(label: str, values: Mapping[Key, float | None] | Mapping[Key, float]) -> list[Sample]:
    return [Sample(value, {label: key}) for key, value in values.items() if value is not None]


def _gauge(name: str, says: str, samples: Iterable[Sample]) -> Metric:
    return Metric(name, Kind.GAUGE, says, tuple(samples))


def _counter(name: str, says: str, samples: Iterable[Sample]) -> Metric:
    return Metric(name, Kind.COUNTER, f"{says} {COUNTED}", tuple(samples))


PATH = "/metrics"
# What a proxy sets. Whoever comes through one on this machine is from anywhere.
FORWARDED = ("HTTP_X_FORWARDED_", "HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP")


class Metrics:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path != PATH:
            return self.get_response(request)
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        if refusal := _refusal(request):
            return answer_of(refusal)
        try:
            seen = operations(sorted(ROUTES.chains), _most_a_day())
        except Error:
            log.exception("The database does not answer.")
            return answer_of(Refusal(http.UNAVAILABLE, "The database does not answer."))
        content = exposition(metrics(seen, settings.VERSION))
        return HttpResponse(
            content, content_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"}
        )


def _most_a_day() -> Mapping[int, int]:
    """Where a chain has such a bound."""
    bounds = {key: chain.most_a_day for key, chain in ROUTES.chains.items()}
    return {key: bound for key, bound in bounds.items() if bound is not None}


def _refusal(request: HttpRequest) -> Refusal | None:
    if not settings.METRICS_TOKEN:
        if _comes_from_this_machine(request):
            return None
        return Refusal(
            http.NOT_ALLOWED,
            "Only this machine may read the metrics, and not through a proxy. From elsewhere it "
            "takes the operator's METRICS_TOKEN.",
        )
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and constant_time_compare(token.strip(), settings.METRICS_TOKEN):
        return None
    return Refusal(
        http.NOT_ALLOWED, "The metrics take `Authorization: Bearer` and the operator's token."
    )


def _comes_from_this_machine(request: HttpRequest) -> bool:
    """By its own address and name: a page that a browser here shows has another name."""
    if any(name.startswith(FORWARDED) for name in request.META):
        return False
    try:
        host = urlsplit(f"//{request.META.get('HTTP_HOST', '')}").hostname or ""
    except ValueError:
        return False
    asks = str(request.META.get("REMOTE_ADDR", ""))
    return _is_loopback(asks) and (host == "localhost" or _is_loopback(host))


def _is_loopback(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback
