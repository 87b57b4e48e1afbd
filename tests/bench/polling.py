"""status_polling and status_growth: how fast the server answers polls of a status (`details=0`).

The reference of status_polling is a bare view on the same server. status_growth compares polls with
a million queries stored to polls with a thousand. Half of the polled batches are DONE and lie
anywhere in the table; the others are in progress and lie at its end.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from statistics import median

from django.db.models import Count

from queries.models import Batch
from queries.statuses import BatchStatus
from tests.bench.bare_views import BARE_VIEW
from tests.bench.database import scratch_database
from tests.bench.http_load import Request, request_rate
from tests.bench.past import fill
from tests.bench.rows import Bench, Row
from tests.bench.service import BenchService, serving

STATUS = "batch-query-status"
WARM_UP = 0.5  # seconds
MIN_RATIO, MAX_GROWTH = 0.6, 1.2
SEED = 8
MAX_SAMPLE = 20_000  # ended batches, more than a run polls


def status_polling(bench: Bench) -> Iterator[Row]:
    with scratch_database() as database:
        bench.say(f"filling a database with {bench.sizes.few_queries:,} queries")
        fill(bench.sizes.few_queries)
        batch = _moving_batch()
        with serving(bench, "status-polling", database) as server:
            requests = {
                "ours": [_poll_request(server, batch)],
                "bare": [_poll_request(server, batch, BARE_VIEW)],
            }
            rates = _request_rates(bench, requests)
    yield Row(
        "status_polling",
        "polling a status with details=0, beside a bare view",
        rates["ours"],
        rates["bare"],
        "requests/s",
        min_ratio=MIN_RATIO,
    )


def status_growth(bench: Bench) -> Iterator[Row]:
    """Both servers run at once and take turns."""
    few, many = bench.sizes.few_queries, bench.sizes.many_queries
    with scratch_database() as small:
        bench.say(f"filling a database with {few:,} queries")
        fill(few)
        few_batches = _batches_to_poll()
        with serving(bench, "few-queries", small) as first, scratch_database() as large:
            bench.say(f"filling another database with {many:,} queries")
            fill(many)
            many_batches = _batches_to_poll()
            with serving(bench, "many-queries", large) as second:
                requests = {
                    "few": [_poll_request(first, batch) for batch in few_batches],
                    "many": [_poll_request(second, batch) for batch in many_batches],
                }
                rates = _request_rates(bench, requests)
    yield Row(
        "status_growth",
        f"a poll with {many:,} queries stored, beside {few:,}",
        1_000 / rates["many"],
        1_000 / rates["few"],
        "ms",
        max_ratio=MAX_GROWTH,
        remarks=(
            f"{len(set(many_batches)):,} different batches, beside {len(set(few_batches)):,}",
        ),
    )


def _poll_request(server: BenchService, batch: str, path: str = STATUS) -> Request:
    return server.request(f"/{path}?batchQueryId={batch}&details=0")


def _moving_batch() -> str:
    """A batch in progress with a single query; clients stop polling ended batches."""
    moving = Batch.objects.filter(ended_at=None).annotate(size=Count("queries"))
    return str(moving.order_by("size", "-pk").values_list("pk", flat=True)[0])


def _batches_to_poll() -> list[str]:
    """Random DONE batches, alternating with batches in progress that have a single query."""
    done = Batch.objects.filter(status=BatchStatus.DONE).order_by("pk")
    ended = list(done.values_list("pk", flat=True))
    sample = random.Random(SEED).sample(ended, min(len(ended), MAX_SAMPLE))
    moving = Batch.objects.filter(ended_at=None).annotate(size=Count("queries"))
    single = moving.filter(size=1).order_by("pk").values_list("pk", flat=True)
    return [batch for pair in zip(sample, cycle(single), strict=False) for batch in pair]


def _request_rates(bench: Bench, requests: Mapping[str, Sequence[Request]]) -> dict[str, float]:
    """Requests per second of each side. They take turns, so that a slow moment hits all."""
    rates: dict[str, list[float]] = {name: [] for name in requests}
    sides = {name: (own[0].port, cycle(own)) for name, own in requests.items()}
    for side in sides.values():
        request_rate(*side, WARM_UP)
    for turn in range(bench.sizes.turns):
        bench.say(f"turn {turn + 1} of {bench.sizes.turns}: {', '.join(requests)}")
        for name, side in sides.items():
            rates[name].append(request_rate(*side, bench.sizes.seconds))
    return {name: median(turns) for name, turns in rates.items()}
