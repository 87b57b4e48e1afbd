"""`manage.py page_speed`: how long public pages take, with many queries in the database."""

import logging
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.test.utils import override_settings

from queries.management.many_jobs import ROUTES
from queries.management.many_queries import LARGEST, fill
from queries.management.many_wide_queries import SLOTS, add_wide_queries
from queries.management.page_times import MOST_MS, PageRefused, PageTime, page_times
from queries.management.scratch_database import database_bytes, scratch_database


class Command(BaseCommand):
    help = "Fills a scratch database and times each public page; the configured one stays as it is."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--queries", type=int, default=1_000_000, help="rows (1,000,000)")
        parser.add_argument("--rounds", type=int, default=40, help="of each page (40)")

    def handle(self, **options: Any) -> None:
        queries, rounds = options["queries"], options["rounds"]
        if queries < 2 * LARGEST or rounds < 2:  # noqa: PLR2004
            raise CommandError(f"At least {2 * LARGEST:,} queries and 2 rounds are needed.")
        logging.disable(logging.WARNING)  # a line for each request
        try:
            # Wired in with the first page, which is asked for below.
            with scratch_database(), made_up_routes() as file, override_settings(ROUTES_FILE=file):
                slow = self._measure(queries, rounds)
        except PageRefused as fault:
            raise CommandError(str(fault)) from fault
        finally:
            logging.disable(logging.NOTSET)
        if slow:
            raise CommandError(f"{MOST_MS} ms or more: {', '.join(slow)}.")

    def _measure(self, queries: int, rounds: int) -> list[str]:
        start, empty = perf_counter(), database_bytes()
        named = fill(queries)
        each_takes = (database_bytes() - empty) / queries
        named = {**named, **add_wide_queries()}
        connection.close()
        took = perf_counter() - start
        self.stdout.write(
            f"{connection.vendor}, {queries:,} queries, filled in {took:,.0f} s, "
            f"{each_takes:,.0f} bytes each with all that belongs to it; "
            f"{rounds} rounds of each page; wide: many queries of {SLOTS:,} slots\n\n"
            f"{'page':32} {'SQL':>4} {'median ms':>10} {'p90 ms':>8} {'bytes':>9}"
        )
        slow = []
        for each in page_times(named, rounds):
            self.stdout.write(_line(each))
            if each.too_long:
                slow.append(f"{each.page.name} takes {each.median_ms:.1f} ms")
        return slow


@contextmanager
def made_up_routes() -> Iterator[Path]:
    """A file of the chains whose past is made up; nobody asks their nodes."""
    with TemporaryDirectory(prefix="tacitus-") as folder:
        file = Path(folder) / "routes.toml"
        file.write_text(ROUTES)
        yield file


def _line(each: PageTime) -> str:
    return (
        f"{each.page.name:32} {each.statements:4} {each.median_ms:10.1f} {each.p90_ms:8.1f} "
        f"{each.bytes:9,}"
    )
