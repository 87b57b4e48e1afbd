"""A PostgreSQL server of a test's own, started as the postgres image starts its one."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.commands import free_port

NOBODY = 65_534
USER = "tacitus"


class Postgres:
    """Its files, for a user `tacitus` with this password."""

    def __init__(self, folder: Path, password: str) -> None:
        self.folder, self.port = folder, str(free_port())
        self._password = folder / "password"
        self._password.write_text(password)
        # It does not run as root.
        self._user = NOBODY if os.geteuid() == 0 else None
        if self._user:
            for each in (folder, self._password):
                os.chown(each, NOBODY, NOBODY)
        self.environment = {
            "PATH": os.environ["PATH"],
            "PGHOST": "127.0.0.1",
            "PGPORT": self.port,
            "PGPASSWORD": password,
        }
        options = [f"--username={USER}", f"--pwfile={self._password}", "--no-sync"]
        methods = ["--auth-local=trust", "--auth-host=scram-sha-256", "--encoding=UTF8"]
        self.run("initdb", f"--pgdata={folder / 'data'}", *options, *methods)

    def run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [_program(program), *arguments],
            check=True,
            user=self._user,
            env=self.environment,
            stdout=subprocess.DEVNULL,
        )

    @contextmanager
    def initialising(self) -> Iterator[None]:
        """While the image's scripts run: at the Unix socket alone."""
        with self._running("listen_addresses="):
            self.await_health(["pg_isready"])
            self.run("createdb", f"--host={self.folder}", f"--username={USER}", USER)
            yield

    @contextmanager
    def ready(self) -> Iterator[None]:
        with self._running("listen_addresses=127.0.0.1"):
            yield

    @contextmanager
    def _running(self, addresses: str) -> Iterator[None]:
        options = [addresses, f"unix_socket_directories={self.folder}", "fsync=off"]
        server = subprocess.Popen(
            [
                _program("postgres"),
                f"-D{self.folder / 'data'}",
                f"-p{self.port}",
                *(f"-c{each}" for each in options),
            ],
            user=self._user,
            env=self.environment,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield
        finally:
            server.send_signal(signal.SIGINT)  # SIGTERM waits for clients
            server.wait(timeout=60)

    def is_healthy(self, test: Sequence[str]) -> bool:
        """Whether this command says so, which finds the socket without being told its place."""
        command = [_program(test[0]), *test[1:]]
        environment = self.environment | {"PGHOST": str(self.folder)}
        ended = subprocess.run(command, check=False, env=environment, capture_output=True)
        return ended.returncode == 0

    def await_health(self, test: Sequence[str]) -> None:
        until = time.monotonic() + 60
        while not self.is_healthy(test):
            assert time.monotonic() < until, "PostgreSQL does not start"
            time.sleep(0.1)


@contextmanager
def own_postgres(password: str) -> Iterator[Postgres]:
    # In a folder that its user can enter, which pytest's are not.
    folder = Path(tempfile.mkdtemp(prefix="tacitus-"))
    try:
        yield Postgres(folder, password)
    finally:
        shutil.rmtree(folder)


def _program(name: str) -> str:
    """Debian has the server's programs beside the path."""
    folders = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)
    found = shutil.which(name, path=":".join([*folders, os.environ["PATH"]]))
    if found is None:
        (pytest.fail if os.environ.get("REQUIRE_BROKERS") else pytest.skip)(f"no {name}")
    return found
