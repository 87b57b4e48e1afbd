"""The service under measurement: web server and provers as processes; their CPU and memory."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import connection

from explorer.demo.processes import Programs
from explorer.demo.service import is_ready
from queries.client.tacitus import BlockQuery, Tacitus, build_batch
from queries.models import Batch
from queries.statuses import BatchStatus
from tests.bench.chain import CHAIN_ID, BenchChain
from tests.bench.command import BenchError
from tests.bench.database import new_key
from tests.bench.http_load import Request, send_all
from tests.bench.rows import Bench
from tests.commands import free_port

SERVER = "web server"
COUNT_SECONDS = 0.1  # between two counts of open batches, to leave the database to the provers
MAX_BATCH_SECONDS = 600
STUCK_SECONDS = 120  # in which no batch ends

PROC = Path("/proc")
NO_PROC = "CPU and memory are read from /proc, which is missing here."
# Positions after the name in /proc/PID/stat.
PARENT, USER_TICKS, SYSTEM_TICKS, PAGES = 1, 11, 12, 21


class MeasuredPrograms(Programs):
    def pid(self, name: str) -> int:
        return self._running[name].pid


@dataclass(frozen=True, slots=True)
class Server:
    """A running web server, an API key, and the programs started with it."""

    port: int
    key: str
    programs: MeasuredPrograms

    @property
    def site(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def serving(bench: Bench, name: str, database: str, **more: str) -> Iterator[Server]:
    """A server without rate limits, and with one process, to leave a processor to the client."""
    folder = bench.folder / name
    folder.mkdir()
    own = {
        "DEVELOPMENT": "1",
        "SECRET_KEY": settings.SECRET_KEY,
        "DATABASE_URL": database,
        "REQUESTS_PER_MINUTE": "1000000000",
        "FACTS_PER_DAY": "1000000000",
    }
    port, key = free_port(), new_key()
    connection.close()
    bare_views = {"DJANGO_SETTINGS_MODULE": "tests.bench.server_settings"}
    with MeasuredPrograms(folder, own | more) as programs:
        options = ("--port", str(port), "--workers", "1")
        programs.start(SERVER, "serve", *options, **bare_views)
        server = Server(port, key, programs)
        programs.wait_for(SERVER, lambda _: is_ready(server.site))
        yield server


@dataclass(frozen=True, slots=True)
class Service:
    """A server with provers, on a local chain with its own registry."""

    server: Server
    chain: BenchChain
    registry: str

    def start_provers(self, count: int) -> list[str]:
        """Return their names once all are running."""
        names = [f"prover {place + 1}" for place in range(count)]
        for name in names:
            self.server.programs.start(name, "run_prover")
        for name in names:
            self.server.programs.wait_for(name, lambda log: "Proving on" in log)
        return names

    def cpu_seconds(self, names: Sequence[str]) -> float:
        return sum(_cpu_seconds(self.server.programs.pid(name)) for name in names)

    def resident_bytes(self, name: str) -> int:
        return _resident_bytes(self.server.programs.pid(name))

    def seconds_to_done(self, ask: BlockQuery, *, poll_seconds: float) -> float:
        """Submit a batch and wait until it is DONE, as a client does."""
        client = Tacitus(self.server.site, self.server.key)
        begin = time.perf_counter()
        batch = client.submit(build_batch(CHAIN_ID, ask)).id
        deadline = time.monotonic() + MAX_BATCH_SECONDS
        while not (status := client.status(batch, steps=False, deadline=deadline)).done:
            if status.rejected:
                raise status.rejected
            self.server.programs.check()
            time.sleep(poll_seconds)
        return time.perf_counter() - begin

    def submit_all(self, bodies: Sequence[bytes]) -> None:
        path = "/submit-batch-query"
        send_all([Request.build(self.server.port, path, self.server.key, body) for body in bodies])

    def wait_until_all_have_ended(self) -> None:
        """Count rows in the database, so that the server stays idle."""
        left, last = -1, time.monotonic()
        while open_now := Batch.objects.filter(ended_at=None).count():
            self.server.programs.check()
            if open_now != left:
                left, last = open_now, time.monotonic()
            if time.monotonic() > last + STUCK_SECONDS:
                raise BenchError(f"{left:,} batches have not moved for {STUCK_SECONDS} seconds.")
            time.sleep(COUNT_SECONDS)
        if rejected := Batch.objects.exclude(status=BatchStatus.DONE).first():
            raise BenchError(f"A batch was rejected: {rejected.error_sentence}")


@contextmanager
def service(
    bench: Bench, name: str, database: str, chain: BenchChain, *, provers: int
) -> Iterator[Service]:
    registry = chain.new_registry()
    routes = bench.folder / f"{name}.toml"
    routes.write_text(chain.routes(registry))
    own = {"ROUTES_FILE": str(routes), "SIGNER_KEY": chain.signer_key}
    with serving(bench, name, database, **own) as server:
        running = Service(server, chain, registry)
        running.start_provers(provers)
        try:
            yield running
        finally:
            connection.close()


def _cpu_seconds(process: int) -> float:
    """CPU time so far, with that of its running children."""
    ticks = os.sysconf("SC_CLK_TCK")
    return (
        sum(int(stat[USER_TICKS]) + int(stat[SYSTEM_TICKS]) for stat in _family_stats(process))
        / ticks
    )


def _resident_bytes(process: int) -> int:
    """Memory of the process and its children; shared memory counts several times."""
    return sum(int(stat[PAGES]) for stat in _family_stats(process)) * os.sysconf("SC_PAGE_SIZE")


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
