"""status_growth: that a poll takes no longer when a million queries are stored.

Different batches are polled. Every other one has ended, and lies anywhere in the table; between
them are those in progress, which lie at its end, and of which a poll reads a query and its job too.
So where much is stored, half of the polls may read pages that the database's own cache lacks: the
ratio counts that, beside the longer way through an index. It does not count a disk, because the
system still has in its memory what was just written.
"""

import random
from collections.abc import Iterator
from itertools import cycle

from django.db.models import Count

from explorer.bench.load import Request
from explorer.bench.rows import Bench, Row
from explorer.bench.scratch import scratch
from explorer.bench.server import Server, serving
from explorer.bench.status_polling import poll, rates
from queries.management.many_queries import fill
from queries.models import Batch
from queries.statuses import BatchStatus

SEED = 8
MOST = 20_000  # different ones: more than a run comes to


def status_growth(bench: Bench) -> Iterator[Row]:
    """Both servers run at once and are asked in turns."""
    few, many = bench.sizes.few_queries, bench.sizes.many_queries
    with scratch() as small:
        bench.say(f"filling a database with {few:,} queries")
        fill(few)
        of_few = polled()
        with serving(bench, "few-queries", small) as first, scratch() as large:
            bench.say(f"filling another one with {many:,} queries")
            fill(many)
            of_many = polled()
            with serving(bench, "many-queries", large) as second:
                rate = rates(bench, {"few": _polls(first, of_few), "many": _polls(second, of_many)})
    yield Row(
        "status_growth",
        f"a poll with {many:,} queries stored, beside {few:,}",
        1_000 / rate["many"],
        1_000 / rate["few"],
        "ms",
        most=1.2,
        remarks=(f"of {len(set(of_many)):,} different batches, beside {len(set(of_few)):,}",),
    )


def polled() -> list[str]:
    """Batches that have ended at random, and between them those in progress.

    All of a kind that a poll of it takes the same: DONE, or in progress with a single query.
    """
    done = Batch.objects.filter(status=BatchStatus.DONE).order_by("pk")
    ended = list(done.values_list("pk", flat=True))
    some = random.Random(SEED).sample(ended, min(len(ended), MOST))  # noqa: S311
    moving = Batch.objects.filter(ended=None).annotate(asked=Count("queries"))
    single = moving.filter(asked=1).order_by("pk").values_list("pk", flat=True)
    return [each for pair in zip(some, cycle(single), strict=False) for each in pair]


def _polls(server: Server, batches: list[str]) -> list[Request]:
    return [poll(server, batch) for batch in batches]
