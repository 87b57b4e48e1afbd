"""Real HTTP servers that break or lie: they give the responses that a test lists."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from itertools import chain, repeat
from typing import Any

from tests.rigs.quiet_server import QuietServer, serving

Response = Callable[["OddServer"], None]


@dataclass(frozen=True)
class RecordedRequest:
    path: str
    headers: dict[str, str]


@dataclass
class RunningServer:
    """An odd server's address, and the requests that it has received."""

    address: str
    requests: list[RecordedRequest] = field(default_factory=list)


class OddServer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    planned: Iterator[Response]
    running: RunningServer
    stopped: threading.Event

    def do_GET(self) -> None:
        self._respond()

    def do_POST(self) -> None:
        self._respond()

    def _respond(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.running.requests.append(RecordedRequest(self.path, headers))
        with suppress(OSError):  # the client has hung up
            next(self.planned)(self)

    def send(self, content: object, status: int = 200, **headers: str) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def respond(content: object, status: int = 200, **headers: str) -> Response:
    return lambda server: server.send(content, status, **headers)


def refuse(code: str, status: int, *, retryable: bool) -> Response:
    body = {"error": f"It is {code}.", "code": code, "path": "data.1", "retryable": retryable}
    return respond(body, status)


def hang_up(server: OddServer) -> None:
    server.close_connection = True


@contextmanager
def odd_server(*responses: Response) -> Iterator[RunningServer]:
    """Run a server that gives these responses in turn, and then repeats the last one."""
    running, stopped = RunningServer(""), threading.Event()
    in_turn = chain(responses, repeat(responses[-1]))
    attributes: dict[str, Any] = {"planned": in_turn, "running": running, "stopped": stopped}
    server = QuietServer(("127.0.0.1", 0), type("Handler", (OddServer,), attributes))
    server.daemon_threads = True
    with serving(server) as port:
        running.address = f"http://127.0.0.1:{port}"
        try:
            yield running
        finally:
            stopped.set()
