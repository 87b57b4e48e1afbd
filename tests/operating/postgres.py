"""Runs a PostgreSQL server for a test, started as the postgres image does."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.commands import free_port
from tests.environment import skip_without

NOBODY = 65_534
USER = "tacitus"


class Postgres:
    """A database cluster with a user `tacitus` and this password."""

    def __init__(self, folder: Path, password: str) -> None:
        self.folder, self.port = folder, str(free_port())
        self._password = folder / "password"
        self._password.write_text(password)
        # PostgreSQL refuses to run as root.
        self._user = NOBODY if os.geteuid() == 0 else None
        if self._user:
            for path in (folder, self._password):
                os.chown(path, NOBODY, NOBODY)
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
            [_find_program(program), *arguments],
            check=True,
            user=self._user,
            env=self.environment,
            stdout=subprocess.DEVNULL,
        )

    @contextmanager
    def while_initialising(self) -> Iterator[None]:
        """Run as during the image's scripts: only at the Unix socket."""
        with self._run_server("listen_addresses="):
            self.await_health(["pg_isready"])
            self.run("createdb", f"--host={self.folder}", f"--username={USER}", USER)
            yield

    @contextmanager
    def while_running(self) -> Iterator[None]:
        with self._run_server("listen_addresses=127.0.0.1"):
            yield

    @contextmanager
    def _run_server(self, addresses: str) -> Iterator[None]:
        options = [addresses, f"unix_socket_directories={self.folder}", "fsync=off"]
        server = subprocess.Popen(
            [
                _find_program("postgres"),
                f"-D{self.folder / 'data'}",
                f"-p{self.port}",
                *(f"-c{option}" for option in options),
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
        command = [_find_program(test[0]), *test[1:]]
        environment = self.environment | {"PGHOST": str(self.folder)}
        completed = subprocess.run(command, check=False, env=environment, capture_output=True)
        return completed.returncode == 0

    def await_health(self, test: Sequence[str]) -> None:
        deadline = time.monotonic() + 60
        while not self.is_healthy(test):
            assert time.monotonic() < deadline, "PostgreSQL does not start"
            time.sleep(0.1)


@contextmanager
def new_postgres(password: str) -> Iterator[Postgres]:
    # Not in pytest's folder, which the server's user cannot enter.
    folder = Path(tempfile.mkdtemp(prefix="tacitus-"))
    try:
        yield Postgres(folder, password)
    finally:
        shutil.rmtree(folder)


def _find_program(name: str) -> str:
    """Find a program; Debian does not put the server's programs into PATH."""
    folders = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)
    path = shutil.which(name, path=":".join([*folders, os.environ["PATH"]]))
    if path is None:
        skip_without("PostgreSQL's programs (apt-get install postgresql)")
    return path
