"""Running `manage.py` in its own process, with a clean environment."""

import os
import random
import socket
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.rigs.fork_server import run_manage

REPOSITORY = Path(__file__).parent.parent
PRODUCTION = {
    "SECRET_KEY": "a-long-key-for-the-tests-alone-0123456789-abcdefghijklmnop",
    "SITE_URL": "https://proofs.example.org",
}


class Manage(Protocol):
    def __call__(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]: ...


def clean_environment(folder: Path, **variables: str) -> dict[str, str]:
    """An environment with these variables, a database in `folder`, and nothing of the machine."""
    base = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return base | {"DATABASE_URL": f"sqlite:///{folder}/test.sqlite3"} | variables


def free_port() -> int:
    """Find a port for a program to listen at, now or after a restart.

    It is below those that Linux gives to outgoing connections and to listeners that ask for any.
    """
    for port in random.SystemRandom().sample(range(15_000, 32_000), 100):
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port
    raise AssertionError("No port is free")


def run_program(
    command: Sequence[str | Path], *, cwd: Path = REPOSITORY, **more: Any
) -> subprocess.CompletedProcess[str]:
    """Run it to its end, and keep its output."""
    kept: dict[str, Any] = {"capture_output": True, "text": True, **more}
    return subprocess.run(command, cwd=cwd, timeout=300, check=False, **kept)


@pytest.fixture
def manage(tmp_path: Path) -> Manage:
    """Run `manage.py` with a database in `tmp_path`."""

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return run_manage(*arguments, environment=clean_environment(tmp_path, **variables))

    return run
