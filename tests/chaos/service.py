"""The service as an operator runs it, of processes that may be killed: a server and provers."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests

from tests.chaos.evidence import Owner
from tests.chaos.programs import Program
from tests.commands import free_port

AHEAD = 60  # seconds that the last prover's clock is ahead of all others
STARTED_WITHIN = 90  # seconds


class Service:
    """Where it is, the keys to ask with, and its provers."""

    def __init__(self, folder: Path, settings: Mapping[str, str], provers: int) -> None:
        self.folder = folder
        self.settings = settings
        port = free_port()
        self.address = f"http://127.0.0.1:{port}"
        self.keys: tuple[str, ...] = ()  # of those that ask
        self.server = Program(
            folder, "server", ["serve", f"--port={port}", "--workers=1"], settings
        )
        clocks: list[dict[str, str]] = [{} for _ in range(provers)]
        clocks[-1] = {"CLOCK_AHEAD": str(AHEAD)}
        self.provers = [
            Program(folder, f"prover-{place}", ["run_prover"], {**settings, **clock})
            for place, clock in enumerate(clocks, start=1)
        ]
        self.signers: list[Program] = []
        self.owners: tuple[Owner, ...] = ()

    @property
    def programs(self) -> list[Program]:
        return [self.server, *self.provers, *self.signers]

    def start(self) -> None:
        for each in self.programs:
            each.start()
        until = time.monotonic() + STARTED_WITHIN
        while not all("Proving on" in each.log.read_text() for each in self.provers) or not (
            _answers(self.address)
        ):
            for each in self.programs:
                if not each.is_running:
                    raise RuntimeError(f"{each.name} does not start; see {each.log}")
            if time.monotonic() > until:
                raise RuntimeError(f"The service does not start; see {self.folder}")
            time.sleep(0.1)
        self.owners = tuple(
            Owner(key, self._ask("/webhook-secret", key)["secret"]) for key in self.keys
        )

    def await_server(self) -> None:
        """After it was killed: it begins anew."""
        until = time.monotonic() + STARTED_WITHIN
        while not _answers(self.address) and time.monotonic() < until:
            time.sleep(0.2)

    def _ask(self, path: str, key: str) -> Any:
        headers = {"api-key": key}
        return requests.get(f"{self.address}{path}", headers=headers, timeout=30).json()


def keys_of_new_database(
    folder: Path, settings: Mapping[str, str], owners: Sequence[str]
) -> tuple[str, ...]:
    """All tables are made, and for each of these a key to ask with."""
    Program(folder, "migration", ["migrate", "--verbosity", "0"], settings).run()
    made = [
        Program(folder, f"key-{place}", ["create_api_key", "--owner", owner], settings).run()
        for place, owner in enumerate(owners, start=1)
    ]
    return tuple(each.strip() for each in made)


@contextmanager
def service(folder: Path, settings: Mapping[str, str], provers: int) -> Iterator[Service]:
    """Nothing is started yet inside; everything has ended afterwards."""
    made = Service(folder, settings, provers)
    try:
        yield made
    finally:
        for each in made.programs:
            each.end()


def _answers(address: str) -> bool:
    try:
        return requests.get(f"{address}/healthz", timeout=5).ok
    except requests.RequestException:
        return False
