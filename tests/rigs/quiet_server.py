"""The HTTP server behind every stub in these tests: it prints nothing, and clients may hang up."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print no traceback if the client hung up.

        To print one, Python 3.11 parses the source, and `ast.parse` in another thread then fails.
        """
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class QuietHandler(BaseHTTPRequestHandler):
    """Reads the body of a POST before `handle_post` answers it, and logs no requests."""

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        if len(body) < length:  # the client was killed
            self.close_connection = True
        else:
            self.handle_post(body)

    def handle_post(self, body: bytes) -> None:
        raise NotImplementedError

    def answer(self, content: bytes = b"", status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[int]:
    """Run the server in a thread; yield its port."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def handler_server(handler: type[BaseHTTPRequestHandler], **attributes: Any) -> Iterator[int]:
    """Serve with a subclass of `handler` that has these attributes; yield the port."""
    own = type("Handler", (handler,), attributes)
    with serving(QuietServer(("127.0.0.1", 0), own)) as port:
        yield port
