"""The whole service on a local chain: the web server, and as many provers as are wanted."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import connection

from explorer.bench.chain import CHAIN_ID, BenchChain
from explorer.bench.load import Request, each_once
from explorer.bench.process_figures import cpu_seconds
from explorer.bench.rows import Bench, BenchFailed
from explorer.bench.server import Server, serving
from queries.models import Batch
from queries.statuses import BatchStatus
from queries.tacitus import Ask, Tacitus, batch_of

LOOKS_EVERY = 0.1  # seconds: often, and the database still has time for the provers
PATIENCE_FOR_ONE = 600  # seconds
PATIENCE = 120  # seconds without any batch that ends


@dataclass(frozen=True, slots=True)
class Service:
    """What a client needs, and the programs that do the work."""

    server: Server
    chain: BenchChain
    registry: str

    @property
    def client(self) -> Tacitus:
        return Tacitus(self.server.site, self.server.key)

    def start_provers(self, count: int) -> list[str]:
        """Their names, when all of them have begun."""
        names = [f"prover {place + 1}" for place in range(count)]
        for name in names:
            self.server.programs.start(name, "run_prover")
        for name in names:
            self.server.programs.wait_for(name, lambda said: "Proving on" in said)
        return names

    def cpu(self, names: Sequence[str]) -> float:
        return sum(cpu_seconds(self.server.programs.process(name)) for name in names)

    def seconds_to_done(self, asked: Ask, *, looks_every: float) -> float:
        """From the submission, as who asked sees it."""
        client, begin = self.client, time.perf_counter()
        batch = client.submit(batch_of(CHAIN_ID, asked)).id
        until = time.monotonic() + PATIENCE_FOR_ONE
        while not (status := client.status(batch, steps=False, until=until)).done:
            if status.rejected:
                raise status.rejected
            self.server.programs.check()
            time.sleep(looks_every)
        return time.perf_counter() - begin

    def submit_all(self, bodies: Sequence[bytes]) -> None:
        path = "/submit-batch-query"
        each_once([Request.to(self.server.port, path, self.server.key, each) for each in bodies])

    def wait_until_all_have_ended(self) -> None:
        """By looking at the rows, so that the server has nothing to do meanwhile."""
        left, last = -1, time.monotonic()
        while open_now := Batch.objects.filter(ended=None).count():
            self.server.programs.check()
            if open_now != left:
                left, last = open_now, time.monotonic()
            if time.monotonic() > last + PATIENCE:
                raise BenchFailed(f"{left:,} batches have not moved for {PATIENCE} seconds.")
            time.sleep(LOOKS_EVERY)
        if rejected := Batch.objects.exclude(status=BatchStatus.DONE).first():
            raise BenchFailed(f"A batch was rejected: {rejected.error_sentence}")


@contextmanager
def service(
    bench: Bench, name: str, database: str, chain: BenchChain, *, provers: int
) -> Iterator[Service]:
    """With a registry of its own."""
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
