"""status_growth: that a poll takes no longer when a million queries are stored."""

from collections.abc import Iterator

from explorer.bench.rows import Bench, Row
from explorer.bench.scratch import scratch
from explorer.bench.server import serving
from explorer.bench.status_polling import moving_batch, poll, rates
from queries.management.many_queries import fill


def status_growth(bench: Bench) -> Iterator[Row]:
    """Both servers run at once and are asked in turns."""
    few, many = bench.sizes.few_queries, bench.sizes.many_queries
    with scratch() as small:
        bench.say(f"filling a database with {few:,} queries")
        fill(few)
        few_batch = moving_batch()
        with serving(bench, "few-queries", small) as first, scratch() as large:
            bench.say(f"filling another one with {many:,} queries")
            fill(many)
            many_batch = moving_batch()
            with serving(bench, "many-queries", large) as second:
                rate = rates(
                    bench, {"few": poll(first, few_batch), "many": poll(second, many_batch)}
                )
    yield Row(
        "status_growth",
        f"a poll with {many:,} queries stored, beside {few:,}",
        1_000 / rate["many"],
        1_000 / rate["few"],
        "ms",
        most=1.2,
    )
