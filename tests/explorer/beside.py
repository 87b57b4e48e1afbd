"""Whether a server goes on answering some while others are a burden to it, in one run."""

import re
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import requests

QUICK = 0.05  # seconds: what is quicker than this alone is not compared with itself
SLOWER = 12  # times: an attack takes its share of one processor, and its turns
ASKED = 12  # times, by whoever is measured


@dataclass(frozen=True)
class Site:
    """A server, what its log says, and how to get keys of it."""

    address: str
    keys: list[str]

    def estimate(self, key: str, body: bytes) -> requests.Response:
        return requests.post(
            f"{self.address}/estimate",
            body,
            headers={"api-key": key, "Content-Type": "application/json"},
            timeout=60,
        )

    def submit(self, key: str, body: bytes) -> requests.Response:
        return requests.post(
            f"{self.address}/submit-batch-query",
            body,
            headers={"api-key": key, "Content-Type": "application/json"},
            timeout=60,
        )


def asked(site: Site) -> float:
    """The seconds that somebody else's request takes, in the median, and none of them many."""
    taken = []
    for number in range(ASKED):
        begin = time.monotonic()
        path = ("/api-key", "/explorer/batches", "/healthz")[number % 3]
        headers = {"api-key": site.keys[-1]}
        assert requests.get(site.address + path, headers=headers, timeout=30).status_code == 200
        taken.append(time.monotonic() - begin)
    assert max(taken) < 2
    return statistics.median(taken)


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


def served_beside(site: Site, *attacks: Callable[[], object]) -> None:
    alone = asked(site)
    with all_the_while(list(attacks)):
        beside = asked(site)
    assert beside < SLOWER * max(alone, QUICK), (alone, beside)


def memory(site: Site) -> int:
    """The most bytes that the server's processes ever held, where the system tells it."""
    port = f"--port={site.address.rpartition(':')[2]}".encode()
    most = 0
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if port in (process / "cmdline").read_bytes():
                told = re.search(r"VmHWM:\s+(\d+) kB", (process / "status").read_text())
                most += 1_024 * int(told[1]) if told else 0
    return most
