"""`python -m tests.bench.page_speed`: how long public pages take with many queries stored.

It fills a scratch database of the kind that DATABASE_URL names, and requests every page as a
browser does. The exit code is 1 if a page takes too long.
"""

import logging
import re
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings

from tests.bench.command import BenchError, run, set_up_django

set_up_django()

from tests.bench.database import database_bytes, scratch_database
from tests.bench.past import LARGEST, ROUTES, WIDE_SLOTS, add_wide_queries, fill

MAX_MS, MAX_POLL_CPU_MS = 50, 3
EXPECTED = {200, 204, 286, 302}
REGISTRY = "/explorer/registry/{destination}/{registry}"
STATUS_LIST = "/explorer/batches?status=REJECTED&to={destination}"
ACCOUNT = "/explorer/account/{account}?chain={source}"
WIDE_ACCOUNT = "/explorer/account/{wide_account}"
WIDE_TRANSACTION = "/explorer/transaction/{destination}/{wide_transaction}"
WARM_UP = 3


@dataclass(frozen=True, slots=True)
class PublicPage:
    """A page that needs no sign-in. Its address names rows of the made-up past."""

    name: str
    address: str
    is_file: bool = False  # of any size; a page must take less than MAX_MS
    poll: str = ""  # the id of the mark whose poll is measured instead of the page


@dataclass(frozen=True, slots=True)
class PageTime:
    """The time that a page took."""

    page: PublicPage
    statements: int
    median_ms: float
    p90_ms: float
    cpu_ms: float  # on average; with SQLite, of the database too
    bytes: int


def poll(answer: str, id_: str) -> str:
    """The address that `explorer/static/live.js` polls while nothing changes."""
    mark = re.search(rf'id="{id_}".*?data-seen="(\w+)"\s+hx-get="([^"]+)"', answer, re.DOTALL)
    if mark is None:
        raise BenchError(f"A page has no mark {id_}.")
    address = mark[2].replace("&amp;", "&")
    return f"{address}{'&' if '?' in address else '?'}seen={mark[1]}"


PAGES = (
    PublicPage("start", "/"),
    PublicPage("newest batches, unchanged", "/", poll="live-newest"),
    PublicPage("chains, unchanged", "/", poll="live-chains"),
    PublicPage("batches", "/explorer/batches"),
    PublicPage("batches, unchanged", "/explorer/batches", poll="live"),
    PublicPage("rejected batches, unchanged", "/explorer/batches?status=REJECTED", poll="live"),
    PublicPage("late batches", "/explorer/batches?status=LATE"),
    PublicPage("batches, an old page", "/explorer/batches?before={past}"),
    PublicPage("batches by status and chain", STATUS_LIST),
    PublicPage("batches by kind and source", "/explorer/batches?kind=events&from={source}"),
    PublicPage("batches of another source", "/explorer/batches?from=424242"),
    PublicPage("batches of a source", "/explorer/batches?from={source}"),
    PublicPage("batch of 1 query", "/explorer/query/{small}"),
    PublicPage("batch of 1,000 queries", "/explorer/query/{large}"),
    PublicPage("a later page of it", "/explorer/query/{large}?query=700"),
    PublicPage("batch in progress, unchanged", "/explorer/query/{moving}", poll="live"),
    PublicPage("fact", "/explorer/fact/{source}/{block}/{account}/BALANCE"),
    PublicPage("account", "/explorer/account/{account}"),
    PublicPage("account, unchanged", "/explorer/account/{account}", poll="live"),
    PublicPage("its facts, an old page", ACCOUNT + "&before={middle}.0"),
    PublicPage(
        "its facts as a file", "/explorer/account/{account}/facts.csv?chain={source}", is_file=True
    ),
    PublicPage("block", "/explorer/block/{source}/{block}"),
    PublicPage("transaction", "/explorer/transaction/{destination}/{transaction}"),
    PublicPage("wide account", WIDE_ACCOUNT),
    PublicPage("its facts", WIDE_ACCOUNT + "/facts.csv", is_file=True),
    PublicPage("wide block", "/explorer/block/{source}/{wide_block}"),
    PublicPage("wide transaction", WIDE_TRANSACTION),
    PublicPage("registry", REGISTRY),
    PublicPage("registry, unchanged", REGISTRY, poll="live"),
    PublicPage("routes", "/explorer/routes"),
    PublicPage("routes, unchanged", "/explorer/routes", poll="live"),
    PublicPage("status", "/status"),
    PublicPage("status, unchanged", "/status", poll="live"),
    PublicPage("routes, can I?", "/explorer/routes?source={source}&block={block}&to={destination}"),
    PublicPage("search, found", "/search?q={account}"),
    PublicPage("search, both ends", "/search?q=0xd8dA…6045"),
    PublicPage("search, a time", "/search?q=2026-11-25"),
    PublicPage("search, nothing found", "/search?q=nobody.eth"),
    PublicPage("how it works", "/docs/how-it-works"),
    PublicPage("API", "/docs/api"),
    PublicPage("sign in", "/sign-in"),
)


def page_speed() -> None:
    parser = ArgumentParser(
        prog="python -m tests.bench.page_speed", description=__doc__.partition("`: ")[2]
    )
    parser.add_argument("--queries", type=int, default=1_000_000, help="rows (1,000,000)")
    parser.add_argument("--rounds", type=int, default=40, help="per page (40)")
    arguments = parser.parse_args()
    if arguments.queries < 2 * LARGEST or arguments.rounds < 2:
        raise BenchError(f"At least {2 * LARGEST:,} queries and 2 rounds are needed.")
    logging.disable(logging.WARNING)  # a line for each request
    with TemporaryDirectory(prefix="tacitus-") as folder:
        routes = Path(folder) / "routes.toml"
        routes.write_text(ROUTES)
        # The first page reads the routes, so they are set before.
        with scratch_database(), override_settings(ROUTES_FILE=routes):
            _measure(arguments.queries, arguments.rounds)


def _measure(queries: int, rounds: int) -> None:
    start, empty = perf_counter(), database_bytes()
    values = fill(queries)
    bytes_per_query = (database_bytes() - empty) / queries
    values = {**values, **add_wide_queries()}
    connection.close()
    took = perf_counter() - start
    _print(
        f"{connection.vendor}, {queries:,} queries, filled in {took:,.0f} s, "
        f"{bytes_per_query:,.0f} bytes per query with all its rows; "
        f"{rounds} rounds of every page; wide: many queries of {WIDE_SLOTS:,} slots\n\n"
        f"{'page':32} {'SQL':>4} {'median ms':>10} {'p90 ms':>8} {'CPU ms':>8} {'bytes':>9}"
    )
    slow = []
    for row in _page_times(values, rounds):
        _print(
            f"{row.page.name:32} {row.statements:4} {row.median_ms:10.1f} {row.p90_ms:8.1f} "
            f"{row.cpu_ms:8.1f} {row.bytes:9,}"
        )
        if not row.page.is_file and row.median_ms >= MAX_MS:
            slow.append(f"{row.page.name} takes {row.median_ms:.1f} ms, not {MAX_MS}")
        if row.page.poll and row.cpu_ms >= MAX_POLL_CPU_MS:
            slow.append(f"{row.page.name} takes {row.cpu_ms:.1f} ms of CPU, not {MAX_POLL_CPU_MS}")
    if slow:
        raise BenchError(f"Too slow: {', '.join(slow)}.")


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _page_times(values: Mapping[str, str], rounds: int) -> Iterator[PageTime]:
    client = Client(SERVER_NAME=settings.SITE_HOST)
    for page in PAGES:
        address = page.address.format_map(values)
        if page.poll:
            address = poll(_get(client, address)[1].decode(), page.poll)
        for _ in range(WARM_UP):
            _get(client, address)
        with CaptureQueriesContext(connection) as statements:
            _, content = _get(client, address)
        count = len(statements)  # the next request clears the log
        start = process_time()
        times = [_get(client, address)[0] for _ in range(rounds)]
        cpu_ms = (process_time() - start) * 1_000 / rounds
        p90 = quantiles(times, n=10)[-1]
        yield PageTime(page, count, median(times), p90, cpu_ms, len(content))


def _get(client: Client, address: str) -> tuple[float, bytes]:
    """Return the milliseconds until the whole answer is read, and the answer."""
    start = perf_counter()
    answer = client.get(address, secure=settings.SECURE_SSL_REDIRECT)
    content = b"".join(answer)  # a file is written while it is read
    took = (perf_counter() - start) * 1_000
    if answer.status_code not in EXPECTED:
        raise BenchError(f"{address} answers {answer.status_code}.")
    return took, content


if __name__ == "__main__":
    run(page_speed)
