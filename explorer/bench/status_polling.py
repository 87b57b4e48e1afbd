"""status_polling, _1, _10 and _100: how many polls of a status a second the server answers."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from statistics import median, quantiles
from time import perf_counter

from django.db.models import Count

from accounts.rate_limits import spend
from explorer.bench.bare_views import BEHIND_THE_KEY, UNPROTECTED
from explorer.bench.load import Request, per_second, waits_at
from explorer.bench.rows import Bench, Row
from explorer.bench.scratch import scratch
from explorer.bench.server import Server, serving
from queries.api.views import QUERIES_SHOWN
from queries.management.many_queries import fill
from queries.models import Batch

STATUS = "batch-query-status"
BARE = "behind the key"
WARM_UP = 0.5  # seconds
COUNTED, MINUTE = 1_000, 60
AIMED_AT = 0.6
# By how many queries are shown to whoever does not say details=0, as existing clients do not: what
# must be reached all the same.
FLOORS = {1: 0.5, 10: 0.4, QUERIES_SHOWN: 0.12}


def poll(server: Server, batch: str, path: str = STATUS, more: str = "&details=0") -> Request:
    """The way to poll that the README tells, unless it is told otherwise."""
    return Request.to(server.port, f"/{path}?batchQueryId={batch}{more}", server.key)


def moving_batch() -> str:
    """One of a single query that is being proven: those that have ended nobody polls again."""
    moving = Batch.objects.filter(ended=None).annotate(asked=Count("queries"))
    return str(moving.order_by("asked", "-pk").values_list("pk", flat=True)[0])


def poll_that_shows(server: Server, queries: int) -> Request:
    """As who leaves `details=0` out asks: the last ones of a batch of many."""
    counted = Batch.objects.annotate(asked=Count("queries"))
    largest = counted.order_by("-asked").values_list("pk", "asked")[0]
    return poll(server, largest[0], more=f"&fromQuery={largest[1] - queries}")


def rates(bench: Bench, asked: Mapping[str, Sequence[Request]]) -> dict[str, float]:
    """Requests a second of each, in turns: a slow moment of the machine hits all.

    Where there are several each turn goes on with those that the last one did not come to.
    """
    found: dict[str, list[float]] = {name: [] for name in asked}
    sides = {name: (some[0].port, cycle(some)) for name, some in asked.items()}
    for side in sides.values():
        per_second(*side, WARM_UP)
    for turn in range(bench.sizes.turns):
        bench.say(f"turn {turn + 1} of {bench.sizes.turns}: {', '.join(asked)}")
        for name, side in sides.items():
            found[name].append(per_second(*side, bench.sizes.seconds))
    return {name: median(each) for name, each in found.items()}


def late_ms(bench: Bench, asked: Mapping[str, tuple[Request, float]]) -> dict[str, list[float]]:
    """The p99 of each at so many requests a second, in turns as well."""
    found: dict[str, list[float]] = {name: [] for name in asked}
    for turn in range(bench.sizes.turns):
        bench.say(f"turn {turn + 1} of {bench.sizes.turns}: at half of what each bears")
        for name, (request, rate) in asked.items():
            found[name].append(p99_ms(waits_at(request, rate, bench.sizes.seconds)))
    return found


def p99_ms(waits: Sequence[float]) -> float:
    return quantiles(waits, n=100)[-1] * 1_000 if len(waits) > 1 else waits[0] * 1_000


def counting_ms() -> float:
    """Of the one statement with which a poll writes: its key's use, of this minute, today and ever.

    Nobody else writes meanwhile; on SQLite nobody else could.
    """
    times = []
    for _ in range(COUNTED):
        begin = perf_counter()
        spend("polls of the bench", 10**9, MINUTE)
        times.append(perf_counter() - begin)
    return median(times) * 1_000


def status_polling(bench: Bench) -> Iterator[Row]:
    with scratch() as database:
        bench.say(f"filling a database with {bench.sizes.few_queries:,} queries")
        fill(bench.sizes.few_queries)
        batch = moving_batch()
        with serving(bench, "status-polling", database) as server:
            asked = {
                "ours": poll(server, batch),
                BARE: poll(server, batch, BEHIND_THE_KEY),
                "unprotected": poll(server, batch, UNPROTECTED),
                **{str(count): poll_that_shows(server, count) for count in FLOORS},
            }
            rate = rates(bench, {name: [each] for name, each in asked.items()})
            late = late_ms(bench, {name: (asked[name], rate[name] / 2) for name in ("ours", BARE)})
        counting = counting_ms()
    ours, bare = rate["ours"], rate[BARE]
    late_ours, late_bare = (late[name] for name in ("ours", BARE))
    unprotected = rate["unprotected"]
    yield Row(
        "status_polling",
        "polling a status with details=0, beside a bare view",
        ours,
        bare,
        "requests/s",
        least=AIMED_AT,
        remarks=(
            f"without key and limit: {unprotected:,.0f}; ours is {ours / unprotected:.2f} of it",
            f"p99 at half of what each bears: {_spread(late_ours)}, the view {_spread(late_bare)}",
            f"counting a poll, which is all that it writes: {counting:.3f} ms",
        ),
        figures={
            "without_key_and_limit": unprotected,
            "p99_ms": median(late_ours),
            "p99_ms_of_the_view": median(late_bare),
            "counting_ms": counting,
        },
    )
    for count, floor in FLOORS.items():
        yield Row(
            f"status_polling_{count}",
            f"the same without details=0, where queries are shown: {count}",
            rate[str(count)],
            bare,
            "requests/s",
            least=AIMED_AT,
            floor=floor,
        )


def _spread(waits: Sequence[float]) -> str:
    """Of the turns the median, and from where to where."""
    return f"{median(waits):.1f} ms ({min(waits):.1f} to {max(waits):.1f})"
