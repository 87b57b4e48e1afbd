"""The web server as an operator starts it, for tests that ask a real one."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from tests.commands import clean_environment, free_port

# As the proxy in front of it asks: TLS ended there, and its word for that is taken.
PROXY = {"Host": "proofs.example.org", "X-Forwarded-Proto": "https"}
STARTED_WITHIN = 60  # seconds


@contextmanager
def served(
    repository: Path, folder: Path, *, workers: str = "1", port: str = "", **variables: str
) -> Iterator[str]:
    """The address of a running server; all that it said is in `folder`/log when it has ended."""
    address = f"http://127.0.0.1:{(port := port or str(free_port()))}"
    with (folder / "log").open("a") as log:
        server = subprocess.Popen(
            [sys.executable, "manage.py", "serve", f"--port={port}", f"--workers={workers}"],
            cwd=repository,
            env=clean_environment(folder, **variables),
            stdout=log,
            stderr=log,
        )
        try:
            until = time.monotonic() + STARTED_WITHIN
            while not _answers(address):
                assert server.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < until, "the server did not start"
                time.sleep(0.1)
            yield address
        finally:
            server.terminate()
            assert server.wait(timeout=30) == 0


def _answers(address: str) -> bool:
    try:
        requests.get(f"{address}/healthz", timeout=5)
    except requests.ConnectionError:
        return False
    return True
