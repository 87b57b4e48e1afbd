"""`/metrics`: what provers, chains and nodes are doing, in Prometheus's text format.

The labels of chains are their ids, and those of nodes their positions in the routes file: a node's
address may hold a key. No metric says who asked for what.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import Error
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.utils.crypto import constant_time_compare

from accounts import errors as http
from accounts.errors import Refusal, answer_of
from explorer.wiring import ROUTES
from queries.reading.operations import ChainState, NodeState, Operations, State, operations

log = logging.getLogger("tacitus.metrics")

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
COUNTED = "Counted over all servers and provers since the database began."
Labels = Mapping[str, object]
# Each value with the labels that distinguish it; None is left out.
Samples = Iterable[tuple[Labels, float | None]]


def _gauge(name: str, says: str, samples: Samples) -> Iterator[str]:
    yield from _described(name, "gauge", says)
    yield from (_sample(name, labels, value) for labels, value in samples if value is not None)


def _counter(name: str, says: str, samples: Samples) -> Iterator[str]:
    yield from _described(name, "counter", f"{says} {COUNTED}")
    yield from (_sample(name, labels, value) for labels, value in samples if value is not None)


def _described(name: str, kind: str, says: str) -> Iterator[str]:
    yield f"# HELP {name} {says}"
    yield f"# TYPE {name} {kind}"


def _sample(name: str, labels: Labels, value: float) -> str:
    shown = ",".join(f'{label}="{_quoted(each)}"' for label, each in labels.items())
    return f"{name}{f'{{{shown}}}' if shown else ''} {value}"


def _quoted(value: object) -> str:
    return str(value).replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _by(label: str, values: Mapping[Any, float | None]) -> Samples:
    return [({label: key}, value) for key, value in values.items()]


def exposition(seen: Operations, version: str) -> str:
    sections = (_of_the_work, _of_what_ended, _of_transactions, _of_chains, _of_nodes)
    info = _gauge("tacitus_info", "The version that answers.", [({"version": version}, 1)])
    lines = [*info, *(line for section in sections for line in section(seen))]
    return "".join(f"{line}\n" for line in lines)


def _of_the_work(seen: Operations) -> Iterator[str]:
    statuses = seen.batches.by_status
    yield from _gauge("tacitus_batches", "Batches that have not ended.", _by("status", statuses))
    yield from _gauge(
        "tacitus_oldest_batch_age_seconds",
        "Seconds since the oldest open batch was submitted; 0 if there is none.",
        [({}, seen.batches.oldest)],
    )
    yield from _gauge(
        "tacitus_block_jobs",
        "Block jobs by stage: block (not final or not read yet), proof, transaction (sent, but may "
        "still change).",
        _by("stage", seen.jobs),
    )
    yield from _gauge(
        "tacitus_waiting_jobs",
        "Block jobs by the code of what they wait for.",
        _by("code", seen.waiting),
    )
    yield from _gauge(
        "tacitus_queue_rows",
        "Open rows of each queue by state; failing: waits for another attempt.",
        [
            ({"queue": name, "state": State(state).value}, count)
            for name, queue in seen.queues.items()
            for state, count in queue.states.items()
        ],
    )
    yield from _gauge(
        "tacitus_queue_wait_seconds",
        "Seconds that the oldest due row of each queue has waited for a prover.",
        _by("queue", {name: queue.waited for name, queue in seen.queues.items()}),
    )


def _of_what_ended(seen: Operations) -> Iterator[str]:
    ended = seen.ended
    statuses = {"DONE": ended.done, "REJECTED": ended.rejected}
    yield from _counter("tacitus_batches_ended_total", "Ended batches.", _by("status", statuses))
    name = "tacitus_batch_duration_seconds"
    says = f"Seconds from a batch's submission to DONE, each rounded. {COUNTED}"
    yield from _described(name, "histogram", says)
    for bound, amount in (*ended.within.items(), ("+Inf", ended.timed)):
        yield _sample(f"{name}_bucket", {"le": bound}, amount)
    yield _sample(f"{name}_sum", {}, ended.seconds)
    yield _sample(f"{name}_count", {}, ended.timed)
    yield from _counter("tacitus_facts_total", "Facts read back.", [({}, ended.facts)])
    yield from _counter(
        "tacitus_route_facts_total",
        "Facts of a route that were read back.",
        [
            ({"source": source, "destination": destination}, facts)
            for (source, destination), facts in seen.facts_of_routes.items()
        ],
    )


def _of_transactions(seen: Operations) -> Iterator[str]:
    yield from _gauge(
        "tacitus_transactions",
        "Transactions that may still change: unmined, or mined and not deep enough yet.",
        [
            ({"chain": chain, "state": state}, count)
            for chain, each in seen.on_their_way.items()
            for state, count in (("unmined", each.unmined), ("mined", each.mined))
        ],
    )
    yield from _gauge(
        "tacitus_oldest_unmined_transaction_age_seconds",
        "Seconds since the oldest unmined transaction was signed; 0 if there is none.",
        _by("chain", {chain: each.oldest_unmined for chain, each in seen.on_their_way.items()}),
    )
    for name, says, amounts in (
        ("transactions_settled", "Transactions that can no longer change.", "transactions"),
        ("gas", "Gas of settled transactions.", "gas"),
        ("spent_wei", "What settled transactions cost, L1 data fees included.", "spent"),
    ):
        found = {chain: getattr(each, amounts) for chain, each in seen.costs.items()}
        yield from _counter(f"tacitus_{name}_total", says, _by("chain", found))


OfAChain = tuple[str, str, Callable[[ChainState], float | None]]

CHAINS: tuple[OfAChain, ...] = (
    ("chain_head_number", "A source chain's newest block.", lambda each: each.number),
    ("chain_final_number", "A source chain's newest final block.", lambda each: each.final),
    (
        "chain_head_age_seconds",
        "Seconds since the timestamp of a source chain's newest block.",
        lambda each: each.block_age,
    ),
    (
        "chain_look_age_seconds",
        "Seconds since a prover last polled the chain.",
        lambda each: each.looked_at,
    ),
    (
        "chain_proof_window_needed_blocks",
        "How many blocks back nodes must prove accounts, because only final blocks are proven.",
        lambda each: each.needed_window,
    ),
    (
        "day_spent_ratio",
        "How much of `most_a_day` is spent or reserved; from 1 on nothing new is signed.",
        lambda each: each.day_spent,
    ),
)
OfANode = tuple[str, str, Callable[[NodeState], float | None]]
NODES: tuple[OfANode, ...] = (
    ("node_up", "1 if the node answered the last poll.", lambda each: int(each.answers)),
    (
        "node_names_up",
        "1 if the node answered the ENS check in time; only for chains with an ens_registry.",
        lambda each: None if each.answers_for_names is None else int(each.answers_for_names),
    ),
    (
        "node_look_age_seconds",
        "Seconds since the node was last polled.",
        lambda each: each.looked_at,
    ),
    ("node_head_number", "The node's newest block.", lambda each: each.number),
    ("node_lag_blocks", "Blocks behind the furthest node of its chain.", lambda each: each.lag),
    (
        "node_proof_window_blocks",
        "How many blocks back the node proves accounts, by doubling to 8,192; -1: not its newest.",
        lambda each: each.proof_window,
    ),
)


def _of_chains(seen: Operations) -> Iterator[str]:
    for name, says, read in CHAINS:
        found = {key: read(each) for key, each in seen.chains.items()}
        yield from _gauge(f"tacitus_{name}", says, _by("chain", found))
    yield from _gauge(
        "tacitus_signer_balance_wei",
        "What the address that pays for transactions has on a destination.",
        [
            ({"chain": chain, "signer": each.signer}, each.balance)
            for chain, each in seen.chains.items()
        ],
    )


def _of_nodes(seen: Operations) -> Iterator[str]:
    for name, says, read in NODES:
        found = [({"chain": each.chain, "node": each.place}, read(each)) for each in seen.nodes]
        yield from _gauge(f"tacitus_{name}", says, found)


PATH = "/metrics"
# What a proxy sets. A request through a proxy on this machine may come from anywhere.
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
        content = exposition(seen, settings.VERSION)
        return HttpResponse(
            content, content_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"}
        )


def _most_a_day() -> Mapping[int, int]:
    """Where a chain has such a bound."""
    bounds = {key: chain.most_a_day for key, chain in ROUTES.chains.items()}
    return {key: bound for key, bound in bounds.items() if bound is not None}


def _refusal(request: HttpRequest) -> Refusal | None:
    if not settings.METRICS_TOKEN:
        if comes_from_this_machine(request):
            return None
        return Refusal(
            http.NOT_ALLOWED,
            "Without a METRICS_TOKEN, only direct requests from this machine may read the metrics.",
        )
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and constant_time_compare(token.strip(), settings.METRICS_TOKEN):
        return None
    return Refusal(
        http.NOT_ALLOWED, "The metrics take `Authorization: Bearer` and the operator's token."
    )


def comes_from_this_machine(request: HttpRequest) -> bool:
    """By the client's IP address, and by Host: a page of another site sends another one."""
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
