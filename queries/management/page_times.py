"""How long the server takes for each public page, asked as a browser asks."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median, quantiles
from time import perf_counter
from urllib.parse import urlencode

from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

MOST_MS = 50
WELL = {200, 204, 286, 302}
BY_STATUS = "/explorer/batches?status=REJECTED&to={destination}"
ACCOUNT = "/explorer/account/{account}?chain={source}"
WIDE_ACCOUNT = "/explorer/account/{wide_account}"
WIDE_TRANSACTION = "/explorer/transaction/{destination}/{wide_transaction}"
WARM_UP = 3


@dataclass(frozen=True, slots=True)
class PublicPage:
    """A page that needs no sign-in. In its address, what was made up may stand by its name."""

    name: str
    address: str
    bounded: bool = False  # it must take less than MOST_MS
    then: Callable[[str, str], str] | None = None  # its address and answer → what is measured


@dataclass(frozen=True, slots=True)
class PageTime:
    """What one page took."""

    page: PublicPage
    statements: int
    median_ms: float
    p90_ms: float
    bytes: int

    @property
    def too_long(self) -> bool:
        return self.page.bounded and self.median_ms >= MOST_MS


class PageRefused(Exception):  # noqa: N818
    """A page answered something else than itself."""


def unchanged_batch(address: str, answer: str) -> str:
    """What a batch's page asks for while nothing moves, as `static/live.js` says it."""
    blocks = re.findall(r'data-block="([^"]+)" open.*?data-from="(\d+)"', answer, re.DOTALL)
    asked = {
        "seen": ".".join(re.findall(r'data-mark="([^"]+)"', answer)),
        "open": ",".join(":".join(each) for each in blocks),
        "rows": ",".join(re.findall(r'data-row="(\d+)"', answer)),
    }
    return f"{address}/changes?{urlencode(asked)}"


def unchanged_newest(_address: str, answer: str) -> str:
    (found,) = re.findall(r'hx-get="(/explorer/newest[^"]*)"', answer)
    return str(found)


PAGES = (
    PublicPage("start", "/"),
    PublicPage("newest batches, unchanged", "/", then=unchanged_newest),
    PublicPage("batches", "/explorer/batches", bounded=True),
    PublicPage("batches, an old page", "/explorer/batches?before={past}", bounded=True),
    PublicPage("batches by status and chain", BY_STATUS, bounded=True),
    PublicPage("batch of 1 query", "/explorer/query/{small}", bounded=True),
    PublicPage("batch of 1,000 queries", "/explorer/query/{large}", bounded=True),
    PublicPage("one of its blocks", "/explorer/query/{large}/block?open={source}-{block}"),
    PublicPage("one of its queries", "/explorer/query/{large}/7"),
    PublicPage("batch in progress, unchanged", "/explorer/query/{moving}", then=unchanged_batch),
    PublicPage("fact", "/explorer/query/{small}/0/BALANCE"),
    PublicPage("account", "/explorer/account/{account}"),
    PublicPage("its facts, an old page", ACCOUNT + "&before={middle}.1"),
    PublicPage("its facts as a file", "/explorer/account/{account}/facts.csv?chain={source}"),
    PublicPage("block", "/explorer/block/{source}/{block}"),
    PublicPage("transaction", "/explorer/transaction/{destination}/{transaction}"),
    PublicPage("wide account", WIDE_ACCOUNT),
    PublicPage("its facts", WIDE_ACCOUNT + "/facts.csv"),
    PublicPage("wide block", "/explorer/block/{source}/{wide_block}"),
    PublicPage("wide transaction", WIDE_TRANSACTION),
    PublicPage("registry", "/explorer/registry/{destination}/{registry}"),
    PublicPage("routes", "/explorer/routes"),
    PublicPage("search, found", "/search?q={account}"),
    PublicPage("search, nothing found", "/search?q=nobody.eth"),
    PublicPage("how it works", "/how-it-works"),
    PublicPage("API", "/docs/api"),
    PublicPage("sign in", "/sign-in"),
)


def page_times(named: Mapping[str, str], rounds: int) -> Iterator[PageTime]:
    client = Client(SERVER_NAME=settings.SITE_HOST)
    for page in PAGES:
        address = page.address.format_map(named)
        if page.then:
            address = page.then(address, _ask(client, address)[1].decode())
        for _ in range(WARM_UP):
            _ask(client, address)
        with CaptureQueriesContext(connection) as statements:
            _, content = _ask(client, address)
        count = len(statements)  # the next request begins the log again
        times = [_ask(client, address)[0] for _ in range(rounds)]
        yield PageTime(page, count, median(times), quantiles(times, n=10)[-1], len(content))


def _ask(client: Client, address: str) -> tuple[float, bytes]:
    """Milliseconds from the request to the whole answer."""
    start = perf_counter()
    answer = client.get(address, secure=settings.SECURE_SSL_REDIRECT)
    content = b"".join(answer)  # a file is written while it is read
    took = (perf_counter() - start) * 1_000
    if answer.status_code not in WELL:
        raise PageRefused(f"{address} answers {answer.status_code}.")
    return took, content
