"""Many HTTP requests at once, by a client that takes little CPU itself."""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from tests.bench.command import BenchError

CONNECTIONS = 8  # twice the server's threads
PIECE = 2**16
OK = b"HTTP/1.1 200"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Request:
    """The bytes of one request."""

    port: int
    content: bytes

    @classmethod
    def build(cls, port: int, path: str, key: str, body: bytes = b"") -> "Request":
        lines = [f"{'POST' if body else 'GET'} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}"]
        lines += [f"api-key: {key}", "Content-Type: application/json"]
        lines += [f"Content-Length: {len(body)}"] if body else []
        return cls(port, "\r\n".join([*lines, "", ""]).encode() + body)


class Connection:
    """A keep-alive connection."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: Request) -> bytes:
        """Send the request; return the body of its answer, which must be a 200."""
        self._socket.sendall(request.content)
        received = bytearray()
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += self._receive()
        head = bytes(received[:end]).lower()
        if not received.startswith(OK):
            line = bytes(received).partition(b"\r\n")[0].decode(errors="replace")
            raise BenchError(f"The server answers {line!r} during the measurement.")
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
        while len(received) < end + 4 + length:
            received += self._receive()
        return bytes(received[end + 4 :])

    def close(self) -> None:
        self._socket.close()

    def _receive(self) -> bytes:
        piece = self._socket.recv(PIECE)
        if not piece:
            raise BenchError("The server closes a connection during the measurement.")
        return piece


def request_rate(port: int, requests: Iterator[Request], seconds: float) -> float:
    """Answers per second, over enough connections to keep the server busy."""
    deadline = time.perf_counter() + seconds
    lock = threading.Lock()

    def ask_on(connection: Connection) -> int:
        count = 0
        while time.perf_counter() < deadline and (request := _next(requests, lock)):
            connection.ask(request)
            count += 1
        return count

    begin = time.perf_counter()
    answered = sum(_run_on_connections(port, ask_on))
    return answered / (time.perf_counter() - begin)


def send_all(requests: Sequence[Request]) -> None:
    """Send every request once, several at a time."""
    remaining = iter(requests)
    lock = threading.Lock()

    def ask_next(connection: Connection) -> None:
        while (request := _next(remaining, lock)) is not None:
            connection.ask(request)

    _run_on_connections(requests[0].port, ask_next)


def _next(items: Iterator[T], lock: threading.Lock) -> T | None:
    with lock:
        return next(items, None)


def _run_on_connections(port: int, ask: Callable[[Connection], T]) -> list[T]:
    connections = [Connection(port) for _ in range(CONNECTIONS)]
    try:
        with ThreadPoolExecutor(CONNECTIONS) as threads:
            return list(threads.map(ask, connections))
    finally:
        for connection in connections:
            connection.close()
