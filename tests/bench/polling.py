"""status_polling, _1, _10, _100 and status_growth: how fast the server answers polls of a status.

The reference of status_polling is a bare view on the same server. With details=0 the answer shows
no queries; _1, _10 and _100 show as many, as existing clients ask.

status_growth compares a poll with a million queries stored to one with a thousand. Different
batches are polled: every other one has ended and lies anywhere in the table; the others are in
progress and lie at its end.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from statistics import median

from django.db.models import Count

from queries.api.batches import QUERIES_SHOWN
from queries.models import Batch
from queries.statuses import BatchStatus
from tests.bench.bare_views import BEHIND_THE_KEY
from tests.bench.database import scratch_database
from tests.bench.http_load import Request, per_second
from tests.bench.past import fill
from tests.bench.rows import Bench, Row
from tests.bench.service import Server, serving

STATUS = "batch-query-status"
BARE = "behind the key"
WARM_UP = 0.5  # seconds
AIMED_AT = 0.6
# What must be reached at least, by the number of queries shown.
FLOORS = {1: 0.6, 10: 0.6, QUERIES_SHOWN: 0.15}
STATUS_POLLING = ("status_polling", *(f"status_polling_{count}" for count in FLOORS))
SEED = 8
MOST_POLLED = 20_000  # different batches: more than a run comes to


def status_polling(bench: Bench) -> Iterator[Row]:
    with scratch_database() as database:
        bench.say(f"filling a database with {bench.sizes.few_queries:,} queries")
        fill(bench.sizes.few_queries)
        batch = _moving_batch()
        with serving(bench, "status-polling", database) as server:
            asked = {
                "ours": _poll(server, batch),
                BARE: _poll(server, batch, BEHIND_THE_KEY),
                **{str(count): _poll_that_shows(server, count) for count in FLOORS},
            }
            rate = _rates(bench, {name: [request] for name, request in asked.items()})
    yield Row(
        "status_polling",
        "polling a status with details=0, beside a bare view",
        rate["ours"],
        rate[BARE],
        "requests/s",
        least=AIMED_AT,
    )
    for count, floor in FLOORS.items():
        yield Row(
            f"status_polling_{count}",
            f"the same without details=0, where queries are shown: {count}",
            rate[str(count)],
            rate[BARE],
            "requests/s",
            least=AIMED_AT,
            floor=floor,
        )


def status_growth(bench: Bench) -> Iterator[Row]:
    """Both servers run at once and are asked in turns."""
    few, many = bench.sizes.few_queries, bench.sizes.many_queries
    with scratch_database() as small:
        bench.say(f"filling a database with {few:,} queries")
        fill(few)
        of_few = _batches_to_poll()
        with serving(bench, "few-queries", small) as first, scratch_database() as large:
            bench.say(f"filling another one with {many:,} queries")
            fill(many)
            of_many = _batches_to_poll()
            with serving(bench, "many-queries", large) as second:
                asked = {
                    "few": [_poll(first, batch) for batch in of_few],
                    "many": [_poll(second, batch) for batch in of_many],
                }
                rate = _rates(bench, asked)
    yield Row(
        "status_growth",
        f"a poll with {many:,} queries stored, beside {few:,}",
        1_000 / rate["many"],
        1_000 / rate["few"],
        "ms",
        most=1.2,
        remarks=(f"of {len(set(of_many)):,} different batches, beside {len(set(of_few)):,}",),
    )


def _poll(server: Server, batch: str, path: str = STATUS, more: str = "&details=0") -> Request:
    return Request.to(server.port, f"/{path}?batchQueryId={batch}{more}", server.key)


def _poll_that_shows(server: Server, queries: int) -> Request:
    """A poll without details=0 that shows so many queries, the last ones of the largest batch."""
    counted = Batch.objects.annotate(asked=Count("queries"))
    largest, size = counted.order_by("-asked").values_list("pk", "asked")[0]
    return _poll(server, largest, more=f"&fromQuery={size - queries}")


def _moving_batch() -> str:
    """A batch in progress with a single query; ended batches are not polled again."""
    moving = Batch.objects.filter(ended=None).annotate(asked=Count("queries"))
    return str(moving.order_by("asked", "-pk").values_list("pk", flat=True)[0])


def _batches_to_poll() -> list[str]:
    """Random ended batches, alternating with those in progress that have a single query."""
    done = Batch.objects.filter(status=BatchStatus.DONE).order_by("pk")
    ended = list(done.values_list("pk", flat=True))
    some = random.Random(SEED).sample(ended, min(len(ended), MOST_POLLED))  # noqa: S311
    moving = Batch.objects.filter(ended=None).annotate(asked=Count("queries"))
    single = moving.filter(asked=1).order_by("pk").values_list("pk", flat=True)
    return [batch for pair in zip(some, cycle(single), strict=False) for batch in pair]


def _rates(bench: Bench, asked: Mapping[str, Sequence[Request]]) -> dict[str, float]:
    """Requests a second of each side. They take turns, so that a slow moment hits all."""
    found: dict[str, list[float]] = {name: [] for name in asked}
    sides = {name: (some[0].port, cycle(some)) for name, some in asked.items()}
    for side in sides.values():
        per_second(*side, WARM_UP)
    for turn in range(bench.sizes.turns):
        bench.say(f"turn {turn + 1} of {bench.sizes.turns}: {', '.join(asked)}")
        for name, side in sides.items():
            found[name].append(per_second(*side, bench.sizes.seconds))
    return {name: median(seconds) for name, seconds in found.items()}
