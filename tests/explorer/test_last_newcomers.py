"""A server that ends hangs up on nobody: whoever came in is answered."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from explorer.last_newcomers import let_nobody_in
from tests.commands import clean_environment, free_port

pytestmark = pytest.mark.no_database

WORKERS, COMING = 2, 20
QUESTION = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@contextmanager
def _server(repository: Path, folder: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "manage.py", "serve", f"--port={port}", f"--workers={WORKERS}"],
        cwd=repository,
        env=clean_environment(folder, DEVELOPMENT="1", LOG_LEVEL="WARNING"),
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stdout
            assert "Tacitus is at" in server.stdout.readline()
            yield server
        finally:
            server.kill()


def _workers_of(server: subprocess.Popen[str]) -> list[int]:
    tasks = Path(f"/proc/{server.pid}/task").iterdir()
    return [int(each) for task in tasks for each in (task / "children").read_text().split()]


def _come(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.sendall(QUESTION)
    return connection


def test_whoever_came_in_is_answered(repository: Path, tmp_path: Path) -> None:
    """Also while all workers are too busy to let anybody in: here they are stopped for a moment."""
    port = free_port()
    with _server(repository, tmp_path, port) as server:
        with closing(_come(port)) as first:
            assert first.recv(100)  # they all listen
        workers = _workers_of(server)
        assert len(workers) >= WORKERS
        for each in workers:
            os.kill(each, signal.SIGSTOP)
        came = [_come(port) for _ in range(COMING)]
        server.terminate()
        time.sleep(0.5)
        with pytest.raises(TimeoutError):  # or it would come in and be reset
            socket.create_connection(("127.0.0.1", port), timeout=0.2)
        for each in workers:
            os.kill(each, signal.SIGCONT)
        answers = [each.recv(100) for each in came]
        assert server.wait(30) == 0
    for connection in came:
        connection.close()
    assert [each[:15] for each in answers] == [b"HTTP/1.1 200 OK"] * COMING


def test_who_is_in_is_waited_for_and_nobody_else_comes_in() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        before = socket.create_connection(listener.getsockname(), timeout=1)
        ended = threading.Thread(target=let_nobody_in, args=(listener,))
        ended.start()
        time.sleep(0.3)
        assert ended.is_alive()
        with pytest.raises(TimeoutError):
            socket.create_connection(listener.getsockname(), timeout=0.2)
        accepted, _ = listener.accept()
        ended.join(1)
        assert not ended.is_alive()
        for each in (before, accepted):
            each.close()
