"""Who is told of batches' ends, and is not always there: a real server that keeps all it gets.

It refuses at random, but each delivery not too often, so that a run comes to rest: after two times
a sender waits for minutes.
"""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STATUSES = (500, 503, 404, 429)


@dataclass(frozen=True)
class Told:
    """One attempt, as it came."""

    event: str
    signature: str
    body: bytes
    at: float  # seconds since 1970
    taken: bool


@dataclass
class Receiver:
    """`chance` decides what it refuses, and how."""

    chance: random.Random
    most_refusals: int
    port: int = 0
    told: list[Told] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def answer(self, event: str, signature: str, body: bytes) -> int | None:
        """A status; None: it hangs up without a word."""
        with self.lock:
            refused = self.refusals[event] < self.most_refusals and self.chance.random() < 0.4
            status = self.chance.choice((*STATUSES, None)) if refused else 200
            self.refusals[event] += refused
            self.told.append(Told(event, signature, body, time.time(), not refused))
        return status


@contextmanager
def webhook_receiver(chance: random.Random, most_refusals: int) -> Iterator[Receiver]:
    kept = Receiver(chance, most_refusals)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            event, signature = (
                self.headers.get(f"Tacitus-{name}", "") for name in ("Event", "Signature")
            )
            status = kept.answer(event, signature, body)
            if status is None:
                self.close_connection = True
                return
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = _Server(("127.0.0.1", 0), Handler)
    kept.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield kept
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Who told it was killed: that is what happens here."""
