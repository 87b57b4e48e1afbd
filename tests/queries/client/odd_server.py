"""Servers that are no Tacitus, or one that lies: real HTTP servers that answer what a test says."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.rigs.quiet_server import QuietServer, serving

Answer = Callable[["OddServer"], None]


@dataclass(frozen=True)
class Came:
    """A request, as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Odd:
    """A running one, and all that it was asked."""

    address: str
    came: list[Came] = field(default_factory=list)


class OddServer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answers: Iterator[Answer]
    odd: Odd
    ended: threading.Event

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.odd.came.append(Came(self.command, self.path, headers, body))
        with suppress(OSError):  # whoever asked has hung up
            next(self.answers)(self)

    def say(self, content: object, status: int = 200, **headers: str) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """It has nothing to say to whoever runs the tests."""


def saying(content: object, status: int = 200, **headers: str) -> Answer:
    return lambda server: server.say(content, status, **headers)


def refusing(code: str, status: int, *, retryable: bool, **headers: str) -> Answer:
    told = {"error": f"It is {code}.", "code": code, "path": "data.1", "retryable": retryable}
    return saying(told, status, **headers)


def hanging_up(server: OddServer) -> None:
    server.close_connection = True


@contextmanager
def odd_server(*answers: Answer) -> Iterator[Odd]:
    """It gives these answers one after the other, and the last one for ever."""

    def each() -> Iterator[Answer]:
        yield from answers
        while True:
            yield answers[-1]

    odd, ended = Odd(""), threading.Event()
    held: dict[str, Any] = {"answers": each(), "odd": odd, "ended": ended}
    server = QuietServer(("127.0.0.1", 0), type("Handler", (OddServer,), held))
    server.daemon_threads = True
    with serving(server) as port:
        odd.address = f"http://127.0.0.1:{port}"
        try:
            yield odd
        finally:
            ended.set()
