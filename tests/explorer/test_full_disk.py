"""A server whose log is on a disk that is full."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import requests

from tests.commands import clean_environment, free_port

pytestmark = pytest.mark.no_database

WITHIN = 30  # seconds


def test_it_begins_and_replaces_a_worker(repository: Path, tmp_path: Path) -> None:
    port = free_port()
    with Path("/dev/full").open("w") as full:
        server = subprocess.Popen(
            [sys.executable, "manage.py", "serve", f"--port={port}", "--workers=1"],
            cwd=repository,
            env=clean_environment(tmp_path, DEVELOPMENT="1"),
            stdout=full,
            stderr=full,
        )
    try:
        _await_answer(server, port)
        (first,) = _workers(server)
        os.kill(first, signal.SIGKILL)
        _await_answer(server, port)
        assert first not in _workers(server)
        server.terminate()
        assert server.wait(timeout=WITHIN) == 0
    finally:
        server.kill()
        server.wait()


def _await_answer(server: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + WITHIN
    while True:
        try:
            assert requests.get(f"http://127.0.0.1:{port}/healthz", timeout=5).ok
        except requests.ConnectionError:
            assert server.poll() is None, f"it ended with exit code {server.returncode}"
            assert time.monotonic() < until
            time.sleep(0.1)
        else:
            return


def _workers(server: subprocess.Popen[bytes]) -> set[int]:
    tasks = Path(f"/proc/{server.pid}/task").iterdir()
    return {int(each) for task in tasks for each in (task / "children").read_text().split()}
