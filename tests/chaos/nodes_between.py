"""The nodes that the service knows: real servers that ask the chain's own node, or do not.

Each is at the same address for the whole run, also after it was gone.
"""

import copy
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import requests

# What a lie makes of one question's result; it returns what it was given where it has no lie.
Lie = Callable[[str, list[Any], Any], Any]
LONGEST_STALL = 20.0  # seconds


@dataclass(eq=False)
class Trouble:
    """What is wrong with a node for a while, and how many answers it has spoilt so far."""

    lie: Lie | None = None
    asks_instead: str = ""  # the address of another chain's node
    status: int = 200  # that it answers with
    stalls: bool = False
    spoilt: int = 0


class NodeBetween:
    """One of a chain's nodes, as the service sees it."""

    def __init__(self, chain: int, node: str) -> None:
        self.chain = chain
        self.node = node
        self.asked = 0.0  # when it was last
        self.drops = False  # whoever connects
        self.dropped = 0  # of those
        self._troubles: list[Trouble] = []
        self._lock = threading.Lock()
        self._port = 0
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        self.appear()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @contextmanager
    def has(self, trouble: Trouble) -> Iterator[None]:
        """It may have several at once, and each ends by itself."""
        with self._lock:
            self._troubles = [*self._troubles, trouble]
        try:
            yield
        finally:
            with self._lock:
                self._troubles = [each for each in self._troubles if each is not trouble]

    def appear(self, *, drops: bool = False) -> None:
        """`drops`: as somebody who drops each connection at once."""
        with self._lock:
            self.drops = drops
            if self._server:
                return
            handler = type("Handler", (_Connection,), {"between": self})
            self._server = _Server(("127.0.0.1", self._port), handler)
            self._port = self._server.server_port
            serve = self._server.serve_forever
            self._thread = threading.Thread(target=serve, kwargs={"poll_interval": 0.05})
            self._thread.start()

    def disappear(self) -> int:
        """Nobody listens there, and who was connected is no longer: so many were."""
        with self._lock:
            if not self._server or not self._thread:
                return 0
            server, self._server = self._server, None
            server.shutdown()
            self._thread.join()
            server.server_close()
            return server.drop()

    @property
    def is_gone(self) -> bool:
        return self._server is None

    def answer(self, question: Any) -> tuple[int, bytes]:
        self.asked = time.monotonic()
        self._stall()
        troubles = self._troubles
        for each in troubles:
            if each.status != 200:
                self._spoil(each)
                return each.status, b"not now"
        elsewhere = [each for each in troubles if each.asks_instead]
        node = elsewhere[0].asks_instead if elsewhere else self.node
        content = requests.post(node, json=question, timeout=30).json()
        for each in elsewhere[:1]:
            self._spoil(each)
        asked = question if isinstance(question, list) else [question]
        told = content if isinstance(content, list) else [content]
        by_id = {each["id"]: each for each in asked}
        for each in told:
            if each.get("result") is not None:
                its = by_id[each["id"]]
                each["result"] = self._lied(its["method"], its.get("params", []), each["result"])
        return 200, json.dumps(content).encode()

    def _lied(self, method: str, params: list[Any], true: Any) -> Any:
        told = true
        for each in self._troubles:
            if each.lie and told is not None:
                before = copy.deepcopy(told)
                told = each.lie(method, params, told)
                if told != before:
                    self._spoil(each)
        return told

    def _stall(self) -> None:
        until = time.monotonic() + LONGEST_STALL
        felt: set[Trouble] = set()
        while time.monotonic() < until:
            stalls = {each for each in self._troubles if each.stalls}
            if not stalls:
                return
            for each in stalls - felt:
                self._spoil(each)
            felt |= stalls
            time.sleep(0.1)

    def _spoil(self, trouble: Trouble) -> None:
        with self._lock:
            trouble.spoilt += 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, *arguments: Any) -> None:
        self._open: set[socket.socket] = set()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def drop(self) -> int:
        """Whoever is connected; how many that were."""
        dropped = 0
        for each in list(self._open):
            with suppress(OSError):  # it has just gone by itself
                each.shutdown(socket.SHUT_RDWR)
                dropped += 1
        return dropped

    def handle_error(self, *_: object) -> None:
        """Who asked has gone, or was killed: that is what happens here."""


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    between: NodeBetween

    def handle(self) -> None:
        if self.between.drops:
            self.between.dropped += 1
            return
        super().handle()

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
        """Nobody reads what was asked."""
