"""Requests over HTTP, many at once, by a client that costs next to nothing itself."""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from tests.bench.command import BenchFailed

CONNECTIONS = 8  # twice as many as the server answers at once
PIECE = 2**16
OK = b"HTTP/1.1 200"
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent, byte for byte."""

    port: int
    content: bytes

    @classmethod
    def to(cls, port: int, path: str, key: str, body: bytes = b"") -> "Request":
        lines = [f"{'POST' if body else 'GET'} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}"]
        lines += [f"api-key: {key}", "Content-Type: application/json"]
        lines += [f"Content-Length: {len(body)}"] if body else []
        return cls(port, "\r\n".join([*lines, "", ""]).encode() + body)


class Connection:
    """A connection that is kept open."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: Request) -> bytes:
        """The body of the answer, which must be 200."""
        self._socket.sendall(request.content)
        held = bytearray()
        while (end := held.find(b"\r\n\r\n")) < 0:
            held += self._more()
        head = bytes(held[:end]).lower()
        if not held.startswith(OK):
            line = bytes(held).partition(b"\r\n")[0].decode(errors="replace")
            raise BenchFailed(f"The server answers {line!r} while it is measured.")
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
        while len(held) < end + 4 + length:
            held += self._more()
        return bytes(held[end + 4 :])

    def close(self) -> None:
        self._socket.close()

    def _more(self) -> bytes:
        piece = self._socket.recv(PIECE)
        if not piece:
            raise BenchFailed("The server closes a connection while it is measured.")
        return piece


def per_second(port: int, requests: Iterator[Request], seconds: float) -> float:
    """Requests answered a second, over enough connections to keep the server busy."""
    until = time.perf_counter() + seconds
    lock = threading.Lock()

    def ask_on(connection: Connection) -> int:
        count = 0
        while time.perf_counter() < until and (request := _next(requests, lock)):
            connection.ask(request)
            count += 1
        return count

    begin = time.perf_counter()
    answered = sum(_on_each_connection(port, ask_on))
    return answered / (time.perf_counter() - begin)


def each_once(requests: Sequence[Request]) -> None:
    """Send all of them, several at a time."""
    left = iter(requests)
    lock = threading.Lock()

    def ask_next(connection: Connection) -> None:
        while (request := _next(left, lock)) is not None:
            connection.ask(request)

    _on_each_connection(requests[0].port, ask_next)


def _next(items: Iterator[Made], lock: threading.Lock) -> Made | None:
    with lock:
        return next(items, None)


def _on_each_connection(port: int, ask: Callable[[Connection], Made]) -> list[Made]:
    connections = [Connection(port) for _ in range(CONNECTIONS)]
    try:
        with ThreadPoolExecutor(CONNECTIONS) as threads:
            return list(threads.map(ask, connections))
    finally:
        for connection in connections:
            connection.close()
