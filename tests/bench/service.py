"""The service under measurement: web server and provers as processes; their CPU time."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from django.conf import settings
from django.db import connection

from queries.client.python import BlockQuery, Tacitus, build_batch
from queries.models import Batch
from queries.statuses import BatchStatus
from tests.bench.chain import CHAIN_ID, BenchChain
from tests.bench.command import BenchError
from tests.bench.database import new_key
from tests.bench.http_load import Request, send_all
from tests.bench.rows import Bench
from tests.rigs.service import Process, Service

COUNT_SECONDS = 0.1  # between two counts of open batches, to leave the database to the provers
MAX_BATCH_SECONDS = 600
STUCK_SECONDS = 120  # in which no batch ends
UNLIMITED = str(10**9)

PROC = Path("/proc")
NO_PROC = "CPU time is read from /proc, which is missing here."
# Positions after the name in /proc/PID/stat.
PARENT, USER_TICKS, SYSTEM_TICKS = 1, 11, 12


class BenchService(Service):
    """A service without rate limits, with an API key of the scratch database."""

    forks = False  # as operators start it: Python collects no garbage among forked objects

    def __init__(self, folder: Path, database: str) -> None:
        super().__init__(folder, database, [new_key()])
        connection.close()
        del self.settings["PROVER_LEASE_SECONDS"]
        self.settings |= dict.fromkeys(("REQUESTS_PER_MINUTE", "FACTS_PER_DAY"), UNLIMITED)
        self.settings["SECRET_KEY"] = settings.SECRET_KEY
        self.provers: list[Process] = []

    def start_prover(self) -> None:
        prover = self.start("run_prover")
        prover.await_log("Proving on")
        self.provers.append(prover)

    def start_workers(self, count: int, broker: str) -> None:
        """Start Celery's workers and beat."""
        self.settings |= {"PROVER_ENGINE": "celery", "CELERY_BROKER": broker}
        self.provers += [*(self.work() for _ in range(count)), self.beat()]

    def check(self) -> None:
        for prover in self.provers:
            if not prover.runs:
                raise BenchError(f"A prover has ended: {prover.log[-500:]}")

    @property
    def registry(self) -> str:
        return self.registries[CHAIN_ID, CHAIN_ID]

    def cpu_seconds(self) -> float:
        """CPU time of the provers so far, with that of their running children."""
        ticks = sum(
            int(stat[USER_TICKS]) + int(stat[SYSTEM_TICKS]) for stat in self._prover_stats()
        )
        return ticks / os.sysconf("SC_CLK_TCK")

    def _prover_stats(self) -> Iterator[list[str]]:
        for prover in self.provers:
            yield from _family_stats(prover.pid)

    def request(self, path: str, body: bytes = b"") -> Request:
        return Request.build(int(self.url.rpartition(":")[2]), path, self.keys[0], body)

    def seconds_to_done(self, ask: BlockQuery, *, poll_seconds: float) -> float:
        """Submit a batch and wait until it is DONE, as a client does."""
        client = Tacitus(self.url, self.keys[0])
        begin = time.perf_counter()
        batch = client.submit(build_batch(CHAIN_ID, ask)).id
        deadline = time.monotonic() + MAX_BATCH_SECONDS
        while not (status := client.status(batch, steps=False, deadline=deadline)).is_done:
            if status.rejection:
                raise status.rejection
            self.check()
            time.sleep(poll_seconds)
        return time.perf_counter() - begin

    def submit_all(self, bodies: Sequence[bytes]) -> None:
        send_all([self.request("/submit-batch-query", body) for body in bodies])

    def wait_until_all_have_ended(self) -> None:
        """Count rows in the database, so that the server stays idle."""
        left, last = -1, time.monotonic()
        while open_now := Batch.objects.filter(ended_at=None).count():
            self.check()
            if open_now != left:
                left, last = open_now, time.monotonic()
            if time.monotonic() > last + STUCK_SECONDS:
                raise BenchError(f"{left:,} batches have not moved for {STUCK_SECONDS} seconds.")
            time.sleep(COUNT_SECONDS)
        if rejected := Batch.objects.exclude(status=BatchStatus.DONE).first():
            raise BenchError(f"A batch was rejected: {rejected.error_sentence}")


@contextmanager
def serving(bench: Bench, name: str, database: str) -> Iterator[BenchService]:
    """A service with one web process, to leave a processor to the client, and the bare view."""
    (folder := bench.folder / name).mkdir()
    with closing(BenchService(folder, database)) as running:
        running.serve(DJANGO_SETTINGS_MODULE="tests.bench.server_settings")
        yield running


@contextmanager
def proving(
    bench: Bench,
    name: str,
    database: str,
    chain: BenchChain,
    *nodes: str,
    provers: int = 1,
    **settings: int,
) -> Iterator[BenchService]:
    """A service that proves the chain to itself, with these nodes or `bench.sizes.nodes` names of
    the chain's own. `settings` are the chain's.
    """
    (folder := bench.folder / name).mkdir()
    nodes = nodes or tuple(f"{chain.url}/?{number}" for number in range(bench.sizes.nodes))
    with closing(BenchService(folder, database)) as running:
        running.add_native_chain(chain, *nodes, finality=0, **settings)
        running.serve()
        for _ in range(provers):
            running.start_prover()
        try:
            yield running
        finally:
            connection.close()


def _family_stats(process: int) -> Iterator[list[str]]:
    stats = {}
    for folder in PROC.glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text()
        except OSError:
            continue  # it has just ended
        stats[int(folder.name)] = stat.rpartition(")")[2].split()
    if process not in stats:
        raise BenchError(NO_PROC)
    family = [process]
    for pid in family:
        yield stats[pid]
        family += [other for other, stat in stats.items() if int(stat[PARENT]) == pid]
