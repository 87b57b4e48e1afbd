"""A receiver of webhooks, which keeps all that comes and answers as a scenario says."""

import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler

from tests.rigs.quiet_server import QuietServer


@dataclass(frozen=True)
class Came:
    """One request, as it was sent."""

    path: str
    headers: dict[str, str]  # names in lower case
    body: bytes
    answered: int  # with this status


class Receiver:
    """`url` takes each POST with status `answers`; `came` is what was posted so far."""

    def __init__(self) -> None:
        self.came: list[Came] = []
        self.answers = 200
        handler = type("Handler", (_Handler,), {"receiver": self})
        self._server = QuietServer(("127.0.0.1", 0), handler)
        self.port: int = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}/hook"
        poll = {"poll_interval": 0.05}
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs=poll)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    receiver: Receiver

    def do_POST(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        length, status = int(headers["content-length"]), self.receiver.answers
        body = self.rfile.read(length)
        if len(body) < length:  # the sender was killed
            return
        self.receiver.came.append(Came(self.path, headers, body, status))
        self.send_response(status)
        self.send_header("Location", f"{self.receiver.url}/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Requests are not logged."""
