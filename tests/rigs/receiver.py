"""Someone who takes webhooks: a real HTTP server that keeps what it gets."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from tests.rigs.quiet_server import QuietServer, serving


@dataclass
class Receiver:
    """Answers with `statuses` in turn, the last one from then on."""

    statuses: list[int] = field(default_factory=lambda: [200])
    port: int = 0
    got: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    named: list[list[str]] = field(default_factory=list)  # its headers, also where two are one

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?a=b"


@contextmanager
def receiver(*statuses: int) -> Iterator[Receiver]:
    kept = Receiver(list(statuses) or [200])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/":  # a question to the node of a test before, which had this port
                self.send_error(404)
                return
            kept.got.append((self.path, dict(self.headers), body))
            kept.named.append(self.headers.keys())
            status = kept.statuses.pop(0) if len(kept.statuses) > 1 else kept.statuses[0]
            self.send_response(status)
            self.send_header("Location", kept.url)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with serving(QuietServer(("127.0.0.1", 0), Handler)) as kept.port:
        yield kept
