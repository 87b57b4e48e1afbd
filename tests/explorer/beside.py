"""Whether a server goes on answering some while others are a burden to it, in one run.

Measured is how long somebody else's requests take, and beside what: beside an attack, and, before
and after it, beside as many clients who do ordinary work as hard as they can. How busy the machine
is with other things then weighs on both alike, so that the bound can be a small number.
"""

import re
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import requests

SLOWER = 2  # times, at most: most attacks are less of a burden than clients who read pages
ASKED = 12  # times in a row, by whoever is measured
ATTACKS = 2  # with ordinary work before, between and after them
ORDINARY = ("/explorer/batches", "/", "/healthz")
MOST_MEMORY = 64 * 2**20


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


def waits(site: Site) -> list[float]:
    """The seconds that each of somebody else's requests takes; none of them takes many."""
    taken = []
    for number in range(ASKED):
        begin = time.monotonic()
        path = ("/api-key", "/explorer/batches", "/healthz")[number % 3]
        headers = {"api-key": site.keys[-1]}
        assert requests.get(site.address + path, headers=headers, timeout=30).status_code == 200
        taken.append(time.monotonic() - begin)
    assert max(taken) < 2
    return taken


def waits_as_usual(site: Site, clients: int) -> list[float]:
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


def served_beside(
    site: Site,
    *attacks: Callable[[], object],
    slower: float = SLOWER,
    turns: int = ATTACKS,
) -> None:
    as_usual = partial(waits_as_usual, site, len(attacks))
    with memory_bounded(site):
        usual, beside = as_usual(), list[float]()
        for _ in range(turns):
            with all_the_while(list(attacks)):
                beside += waits(site)
            usual += as_usual()
    assert_no_slower(beside, usual, slower)


def assert_no_slower(beside: list[float], usual: list[float], times: float = SLOWER) -> None:
    found, reference = statistics.median(beside), statistics.median(usual)
    assert found < times * reference, (found, reference)


@contextmanager
def memory_bounded(site: Site, most: int = MOST_MEMORY) -> Iterator[None]:
    """What the server's processes hold at most inside is not so much more than what they held."""
    for process in _processes(site):
        with suppress(OSError):
            (process / "clear_refs").write_text("5")  # the most that it held is what it holds now
    before = _memory(site)
    assert before or not Path("/proc/self/status").exists()
    yield
    held = _memory(site) - before
    assert held < most, f"{held:,} bytes more than {before:,}"


def _memory(site: Site) -> int:
    """The most bytes that the server's processes held, where the system tells it."""
    most = 0
    for process in _processes(site):
        with suppress(OSError):
            told = re.search(r"VmHWM:\s+(\d+) kB", (process / "status").read_text())
            most += 1_024 * int(told[1]) if told else 0
    return most


def _processes(site: Site) -> Iterator[Path]:
    port = f"--port={site.address.rpartition(':')[2]}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if port in (process / "cmdline").read_bytes().split(b"\0"):
                yield process
