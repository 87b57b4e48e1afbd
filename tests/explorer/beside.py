"""Whether a server goes on answering some while others are a burden to it, in one run.

Measured is how long somebody else's requests take, and beside what: beside an attack, and, before
and after it, beside as many clients who do ordinary work as hard as they can. How busy the machine
is with other things then weighs on both alike, so that the bound can be a small number.
"""

import json
import statistics
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import requests

from tests.local_chain import CHAIN_ID, HOLDER
from tests.memory import MOST_MEMORY, held_by

SLOWER = 2  # times, at most: most attacks are less of a burden than clients who read pages
ASKED = 4  # times in a row for each kind of request, by whoever is measured
LONGEST = 4  # seconds, for any of them
UNFELT = 0.1  # seconds that nobody notices, and a processor with other things to do takes
ATTACKS = 2  # with ordinary work before, between and after them
ORDINARY = ("/explorer/batches", "/", "/healthz")
ONE = json.dumps(
    {
        "destinationChainId": str(CHAIN_ID),
        "fee": "0",
        "data": {str(CHAIN_ID): {"block:1": {"accounts": {HOLDER: {"props": ["BALANCE"]}}}}},
    }
).encode()
Waits = dict[str, list[float]]  # seconds, by kind of request


@dataclass(frozen=True)
class Site:
    """A server, and keys of it; the last one is of whoever is measured."""

    address: str
    keys: list[str]

    def estimate(self, key: str, body: bytes) -> requests.Response:
        return self._post("/estimate", key, body)

    def submit(self, key: str, body: bytes) -> requests.Response:
        return self._post("/submit-batch-query", key, body)

    def _post(self, path: str, key: str, body: bytes) -> requests.Response:
        own = {"api-key": key, "Content-Type": "application/json"}
        return requests.post(self.address + path, body, headers=own, timeout=60)


def waits(site: Site) -> Waits:
    """The seconds that each of somebody else's requests takes; none of them takes many."""
    taken: Waits = defaultdict(list)
    key = site.keys[-1]
    for _ in range(ASKED):
        with _timed(taken["submit"]):
            answer = site.submit(key, ONE)
        assert answer.status_code == 200, answer.text
        batch = answer.json()["internalId"]
        for path in (f"/batch-query-status?batchQueryId={batch}", "/explorer/batches", "/healthz"):
            with _timed(taken[path.partition("?")[0]]):
                headers = {"api-key": key}
                answer = requests.get(site.address + path, headers=headers, timeout=30)
            assert answer.status_code == 200
    assert max(chain(*taken.values())) < LONGEST, taken
    return taken


@contextmanager
def _timed(taken: list[float]) -> Iterator[None]:
    begin = time.monotonic()
    yield
    taken.append(time.monotonic() - begin)


def together(*some: Waits) -> Waits:
    return {kind: [seconds for each in some for seconds in each[kind]] for kind in some[0]}


def waits_as_usual(site: Site, clients: int) -> Waits:
    """Beside so many who read pages."""

    def read() -> None:
        for path in ORDINARY:
            assert requests.get(site.address + path, timeout=30).status_code == 200

    with all_the_while([read] * clients):
        return waits(site)


@contextmanager
def all_the_while(attacks: list[Callable[[], object]]) -> Iterator[None]:
    """Each again and again, in a thread of its own."""
    ended = threading.Event()

    def go_on(attack: Callable[[], object]) -> int:
        count = 0
        while not ended.is_set():
            attack()
            count += 1
        return count

    with ThreadPoolExecutor(len(attacks)) as threads:
        going = [threads.submit(go_on, attack) for attack in attacks]
        try:
            time.sleep(0.5)
            yield
        finally:
            ended.set()
        assert all(each.result() for each in going)


def served_beside(site: Site, *attacks: Callable[[], object], turns: int = ATTACKS) -> None:
    as_usual = partial(waits_as_usual, site, len(attacks))
    with memory_bounded(site):
        usual, beside = [as_usual()], list[Waits]()
        for _ in range(turns):
            with all_the_while(list(attacks)):
                beside.append(waits(site))
            usual.append(as_usual())
    assert_no_slower(together(*beside), together(*usual))


def assert_no_slower(beside: Waits, usual: Waits) -> None:
    """By kind of request: one that is kept waiting would be hidden among others."""
    found = {kind: statistics.median(each) for kind, each in beside.items()}
    for kind, each in usual.items():
        tell(f"{kind} {found[kind]:.3f} s, beside ordinary clients {statistics.median(each):.3f} s")
    bounds = {kind: SLOWER * statistics.median(each) + UNFELT for kind, each in usual.items()}
    assert all(found[kind] < bounds[kind] for kind in bounds), (found, bounds)


def tell(measured: str) -> None:
    """What `-rP` or `-s` shows."""
    sys.stdout.write(f"{measured}\n")


@contextmanager
def memory_bounded(site: Site, most: int = MOST_MEMORY) -> Iterator[None]:
    """What the server's processes hold at most inside is not so much more than what they held."""
    with held_by(lambda: list(_processes(site)), most):
        yield


def _processes(site: Site) -> Iterator[int]:
    port = f"--port={site.address.rpartition(':')[2]}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if port in (process / "cmdline").read_bytes().split(b"\0"):
                yield int(process.name)
