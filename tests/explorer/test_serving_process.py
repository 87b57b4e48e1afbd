"""How the web server begins, and how its processes end."""

import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import requests

from tests.commands import Manage, clean_environment, free_port

pytestmark = pytest.mark.no_database

Started = tuple[subprocess.Popen[str], str]
Start = Callable[..., Started]


@pytest.fixture
def start(repository: Path, tmp_path: Path) -> Iterator[Start]:
    """A server as a terminal starts it, in a process group of its own, and its address."""
    servers: list[subprocess.Popen[str]] = []

    def run(*options: str) -> Started:
        server = subprocess.Popen(
            [sys.executable, "manage.py", "serve", f"--port={free_port()}", *options],
            cwd=repository,
            env=clean_environment(tmp_path, DEVELOPMENT="1", LOG_LEVEL="WARNING"),
            start_new_session=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        servers.append(server)
        assert server.stdout
        # One that never says where it is must fail the test and not hold it up.
        (limit := threading.Timer(60, server.kill)).start()
        said = server.stdout.readline()
        limit.cancel()
        told = re.fullmatch(r"Tacitus is at (http://\S+)/ \(Ctrl-C ends it\)\n", said)
        assert told, said
        return server, told[1]

    yield run
    for server in servers:
        server.kill()
        server.communicate(timeout=10)


def _answers(address: str) -> bool:
    try:
        return requests.get(f"{address}/healthz", timeout=5).ok
    except requests.ConnectionError:
        return False


def test_it_listens_where_it_is_told_to(start: Start) -> None:
    _, address = start("--host=127.0.0.2")
    assert address.startswith("http://127.0.0.2:")
    assert _answers(address)
    assert not _answers(address.replace("127.0.0.2", "127.0.0.1"))


def test_the_name_of_this_machine_is_looked_up(start: Start) -> None:
    _, address = start("--host=localhost")
    assert address.startswith(("http://127.0.0.1:", "http://[::1]:"))
    assert _answers(address)


def test_ctrl_c_ends_it_at_once(start: Start) -> None:
    """A terminal sends it to the whole group."""
    for _ in range(5):
        server, address = start("--workers=2")
        assert _answers(address)
        _wait_for_both_workers(server)
        os.killpg(server.pid, signal.SIGINT)
        # Without it a worker hangs until it is killed, 30 seconds later.
        assert server.wait(timeout=15) == 0


def test_ctrl_c_ends_one_that_only_begins(start: Start) -> None:
    """No worker loses the order in the moment in which Granian takes over its signals."""
    for _ in range(5):
        server, address = start("--workers=2")
        assert _answers(address)
        os.killpg(server.pid, signal.SIGINT)
        assert server.wait(timeout=15) == 0


def _wait_for_both_workers(server: subprocess.Popen[str]) -> None:
    """Until each listens to the order to end, which it gives to nobody before it serves."""
    until = time.monotonic() + 30
    while not _both_listen(server.pid):
        assert time.monotonic() < until
        time.sleep(0.05)
    time.sleep(0.5)  # from its handler to its loop


def _both_listen(server: int) -> bool:
    children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    caught = [
        re.search(r"SigCgt:\s+([0-9a-f]+)", Path(f"/proc/{child}/status").read_text())
        for child in children
    ]
    bit = 1 << (signal.SIGTERM - 1)
    return len(caught) == 2 and all(mask and int(mask[1], 16) & bit for mask in caught)


MADE = """
import os, signal, time
from django.core.management import call_command
from explorer.management.commands import serve

def make_a_worker(server, **_):
    signal.signal(signal.SIGTERM, server.signal_handler_interrupt)
    if not (worker := os.fork()):
        time.sleep(20)
        os._exit(0)
    os.kill(worker, signal.SIGTERM)
    print(os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]))

serve.WebServer.serve = make_a_worker
call_command("serve", "--port={port}")
"""


def test_a_worker_that_just_began_ends_when_it_is_told_to(manage: Manage) -> None:
    source = MADE.format(port=free_port())
    ended = manage("shell", "--no-imports", "--command", source, DEVELOPMENT="1")
    assert ended.stdout == f"{-signal.SIGTERM}\n"


def test_a_terminal_that_is_closed_ends_it(start: Start) -> None:
    server, address = start("--workers=2")
    os.killpg(server.pid, signal.SIGHUP)
    assert server.wait(timeout=15) == 0
    server.communicate(timeout=15)
    assert not _answers(address)


def test_half_a_request_does_not_hold_it_up(start: Start) -> None:
    server, address = start("--workers=1")
    with _visitor(address) as visitor:
        visitor.sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert _answers(address)
        os.killpg(server.pid, signal.SIGINT)
        # The rest is waited for, but not for the 30 seconds after which a worker is killed.
        assert server.wait(timeout=20) == 0


@pytest.mark.parametrize("drips", [False, True])
def test_headers_have_five_seconds_to_come(start: Start, drips: bool) -> None:  # noqa: FBT001
    """Whether nothing more comes, or a byte now and then."""
    _, address = start("--workers=1")
    with _visitor(address) as visitor:
        began = time.monotonic()
        visitor.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ")
        while not select.select([visitor], [], [], 0.5)[0]:
            assert time.monotonic() - began < 12
            if drips:
                visitor.sendall(b"a")
        assert 4 < time.monotonic() - began < 12


def test_headers_have_32_kb(start: Start) -> None:
    _, address = start("--workers=1")
    least = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nX-Long: "
    for length, end, status in (
        (32_000, b"\r\n\r\n", b"200"),
        (32_767, b"", b""),  # the rest is waited for
        (32_768, b"", b"431"),
    ):
        with _visitor(address) as visitor:
            visitor.sendall(least.ljust(length - len(end), b"a") + end)
            answered = select.select([visitor], [], [], 2)[0]
            told = visitor.recv(65_536).split()[1] if answered else b""
            assert told == status, length
    # What comes in one piece is read before it is measured, but not however long it is.
    with _visitor(address) as visitor, suppress(ConnectionError):
        visitor.sendall(least.ljust(100_000, b"a") + b"\r\n\r\n")
        assert visitor.recv(65_536).split()[1] == b"431"


def test_what_the_server_program_refuses_itself_is_bare(start: Start, repository: Path) -> None:
    """Nothing of ours is asked; README, OpenAPI description and /docs/security say so."""
    assert "some 32 KiB with 431." in (repository / "README.md").read_text()
    _, address = start("--workers=1")
    line, own = b"GET /healthz HTTP/1.1\r\n", b"Host: 127.0.0.1\r\nConnection: close\r\n"
    many = [b"X-%d: a\r\n" % number for number in range(99)]
    for head, status, is_bare in (
        (line + own + b"".join(many[:98]), b"200", False),
        (line + own + b"".join(many), b"431", True),
        (line + own + b"X-Long: ".ljust(100_000, b"a") + b"\r\n", b"431", True),
        (b"hello\r\n", b"400", True),
    ):
        with _visitor(address) as visitor:
            visitor.sendall(head + b"\r\n")
            told, _, body = visitor.recv(65_536).partition(b"\r\n\r\n")
        assert told.split()[1] == status
        assert (b"x-content-type-options" not in told.lower()) is is_bare
        assert (body == b"") is is_bare


def _visitor(address: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=5)


def test_no_worker_outlives_a_server_that_is_killed(start: Start) -> None:
    server, address = start("--workers=2")
    server.kill()
    # The workers hold the other end of its output, and let go of it only when they end.
    server.communicate(timeout=15)
    assert not _answers(address)
