"""A server that gives planned responses, for tests of clients."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from itertools import chain, repeat

from tests.rigs.quiet_server import QuietHandler, handler_server
from tests.rigs.receiver import ReceivedRequest

Response = Callable[["OddServer"], None]


@dataclass
class RunningServer:
    """An odd server's address, and the requests that it has received."""

    planned: Iterator[Response]
    address: str = ""
    requests: list[ReceivedRequest] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)


class OddServer(QuietHandler, BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    running: RunningServer

    def do_GET(self) -> None:
        self.handle_post(b"")

    def handle_post(self, body: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.running.requests.append(ReceivedRequest(self.path, headers, body))
        with suppress(OSError):  # the client has hung up
            next(self.running.planned)(self)


def respond(content: object, status: int = 200, **headers: str) -> Response:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return lambda server: server.answer(body, status, **headers)


def hang_up(server: OddServer) -> None:
    server.close_connection = True


@contextmanager
def odd_server(*responses: Response) -> Iterator[RunningServer]:
    """Run a server that gives these responses in turn, and then repeats the last one."""
    running = RunningServer(chain(responses, repeat(responses[-1])))
    with handler_server(OddServer, running=running) as port:
        running.address = f"http://127.0.0.1:{port}"
        try:
            yield running
        finally:
            running.stopped.set()
