"""The nodes that the service knows: real servers that ask the chain's own node, or do not.

Each is at the same address for the whole run, also after it was gone.
"""

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import requests

# What a lie makes of one question's result; it returns what it was given where it has no lie.
Lie = Callable[[str, list[Any], Any], Any]
LONGEST_STALL = 20.0  # seconds


class NodeBetween:
    """One of a chain's nodes, as the service sees it."""

    def __init__(self, chain: int, node: str) -> None:
        self.chain = chain
        self.node = node
        self.status = 200  # that it answers with
        self.stalls = False
        self.lie: Lie | None = None
        self.asks_instead = ""  # the address of another chain's node
        self.asked = 0
        self._port = 0
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None
        self.appear()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def appear(self) -> None:
        if self._server:
            return
        handler = type("Handler", (_Connection,), {"between": self})
        self._server = _Server(("127.0.0.1", self._port), handler)
        self._port = self._server.server_port
        serve = self._server.serve_forever
        self._thread = threading.Thread(target=serve, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def disappear(self) -> None:
        """Nobody listens there, and who was connected is no longer."""
        if not self._server or not self._thread:
            return
        server, self._server = self._server, None
        server.shutdown()
        self._thread.join()
        server.server_close()

    @property
    def is_gone(self) -> bool:
        return self._server is None

    def answer(self, question: Any) -> tuple[int, bytes]:
        self.asked += 1
        until = time.monotonic() + LONGEST_STALL
        while self.stalls and time.monotonic() < until:
            time.sleep(0.1)
        if self.status != 200:
            return self.status, b"not now"
        lie = self.lie
        node = self.asks_instead or self.node
        content = requests.post(node, json=question, timeout=30).json()
        if lie is None:
            return 200, json.dumps(content).encode()
        asked = question if isinstance(question, list) else [question]
        told = content if isinstance(content, list) else [content]
        by_id = {each["id"]: each for each in asked}
        for each in told:
            if each.get("result") is not None:
                its = by_id[each["id"]]
                each["result"] = lie(its["method"], its.get("params", []), each["result"])
        return 200, json.dumps(content).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, *_: object) -> None:
        """Who asked has gone, or was killed: that is what happens here."""


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    between: NodeBetween

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            status, content = self.between.answer(question)
        except requests.RequestException:
            self.close_connection = True
            return
        if self.between.is_gone:
            self.close_connection = True
            return
        self.send_response(status)
        if status == 429:
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """What is asked is counted."""
