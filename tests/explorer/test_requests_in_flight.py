"""A server is told to end while it is asked: who asked before is answered, and nothing is lost."""

import json
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection

from tests.commands import Manage, free_port
from tests.installation import HOLDER, Prepared, prepared
from tests.local_chain import CHAIN_ID
from tests.own_database import own_database
from tests.queries.chain.lying_node import LyingNode
from tests.queries.pipeline.between import between
from tests.served import served

pytestmark = pytest.mark.django_db

WORKERS = 2
BLOCKS, BLOCK = 20, 12
MANY = 12  # more than the threads of all workers: some wait for one
COUNT = "from queries.models import Batch; print(Batch.objects.count())"


class Client:
    """A connection that it would keep; it reads the answer when it wants to."""

    def __init__(self, port: int, key: str, path: str, content: object) -> None:
        body = json.dumps(content).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\napi-key: {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=40)
        self._socket.sendall(head.encode() + body)

    def answer(self) -> tuple[int, dict[str, Any]]:
        """All that comes until the server hangs up, which must be one whole answer."""
        received = b""
        while piece := self._socket.recv(65_536):
            received += piece
        self._socket.close()
        head, _, body = received.partition(b"\r\n\r\n")
        assert f"content-length: {len(body)}".encode() in head.lower().splitlines(), received
        return int(head.split()[1]), json.loads(body)


@pytest.fixture
def it(tmp_path: Path, manage: Manage) -> Iterator[Prepared]:
    with (
        own_database(tmp_path, "in_flight") as url,
        prepared(tmp_path, manage, BLOCKS, DATABASE_URL=url) as all_of_it,
    ):
        yield all_of_it


Run = Callable[[Prepared], tuple[int, ExitStack]]


@pytest.fixture
def run(repository: Path, tmp_path: Path) -> Iterator[Run]:
    """A server, by its port and by what ends it with SIGTERM, which it must do with code 0."""
    with ExitStack() as server:

        def start(it: Prepared) -> tuple[int, ExitStack]:
            port = free_port()
            workers = {"workers": str(WORKERS), "port": str(port)}
            server.enter_context(served(repository, tmp_path, **workers, **it.settings))
            return port, server

        yield start


def wait_until_refused(port: int) -> None:
    """Until each of its processes has the order, and listens no more."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except ConnectionRefusedError:
            return
        time.sleep(0.05)
    pytest.fail("the server still listens")


@contextmanager
def told_to_end(port: int, server: ExitStack) -> Iterator[None]:
    """While the block runs; afterwards it has ended."""
    time.sleep(0.5)  # until what was sent before is in its hands
    with ThreadPoolExecutor(1) as beside:
        ended = beside.submit(server.close)
        wait_until_refused(port)
        assert not ended.done()
        yield
        ended.result(timeout=40)


def batch_of(block: int) -> dict[str, Any]:
    entry = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
    data = {str(CHAIN_ID): {f"block:{block}": entry}}
    return {"destinationChainId": str(CHAIN_ID), "fee": "0", "data": data}


@contextmanager
def locked(url: str) -> Iterator[None]:
    """Nobody writes a batch until the block has ended."""
    if connection.vendor == "sqlite":
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as file:
            file.execute("BEGIN IMMEDIATE")
            yield
        return
    with psycopg.connect(url) as server:
        server.execute("LOCK TABLE queries_batch IN ACCESS EXCLUSIVE MODE")
        yield


def test_batches_in_flight_are_accepted_once_and_answered(
    it: Prepared, run: Run, manage: Manage
) -> None:
    """Without an Idempotency-Key, by which a client could find out what became of its own."""
    port, server = run(it)
    with ExitStack() as lock:
        lock.enter_context(locked(it.settings["DATABASE_URL"]))
        clients = [
            Client(port, it.key, "/submit-batch-query", batch_of(BLOCK)) for _ in range(MANY)
        ]
        with told_to_end(port, server):
            lock.close()
            answers = [client.answer() for client in clients]
    accepted = [content["internalId"] for status, content in answers if status == 200]
    refused = [status for status, _ in answers if status != 200]
    counted = manage("shell", "--verbosity", "0", "-c", COUNT, **it.settings).stdout
    assert len(set(accepted)) == len(accepted) == int(counted) > 0
    # SQLite's one lock keeps out the count of requests too, for which none waits longer than 2 s.
    assert refused == [] or (connection.vendor == "sqlite" and set(refused) == {503})


def test_who_waits_for_a_node_is_answered(it: Prepared, run: Run) -> None:
    asked, goes_on = threading.Event(), threading.Event()

    def handle(node: LyingNode, _question: Any, pass_on: Callable[[], bytes]) -> None:
        asked.set()
        goes_on.wait(20)
        node.answer(pass_on())

    with between(it.node.url, handle) as (address, _):
        routes = Path(it.settings["ROUTES_FILE"])
        routes.write_text(routes.read_text().replace(it.node.url, address))
        port, server = run(it)
        client = Client(port, it.key, "/estimate", batch_of(BLOCK))
        assert asked.wait(20)
        with told_to_end(port, server):
            goes_on.set()
            status, content = client.answer()
    assert status == 200, content
    assert "complete" in content
