"""The nodes that the service knows: real servers that ask the chain's own node, or do not.

Each is at the same address for the whole run, also after it was gone.
"""

import copy
import json
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import requests
from eth_utils.crypto import keccak

# What a lie makes of one question's result; it returns what it was given where it has no lie.
Lie = Callable[[str, list[Any], Any], Any]
LONGEST_STALL = 20.0  # seconds
SEND = "eth_sendRawTransaction"


@dataclass(eq=False)
class Trouble:
    """What is wrong with a node for a while, and how many answers it has spoilt so far."""

    lie: Lie | None = None
    asks_instead: str = ""  # the address of another chain's node
    drops_transactions: bool = False  # says that it took them, and tells nobody
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
        # Transactions that it was handed, by their hashes: when, in seconds since 1970.
        self.handed: defaultdict[str, list[float]] = defaultdict(list)
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
        asked = question if isinstance(question, list) else [question]
        for each in asked:
            if each["method"] == SEND:
                self.handed[_hash_of(each["params"][0])].append(time.time())
        self._stall()
        troubles = self._troubles
        for each in troubles:
            if each.status != 200:
                self._spoil(each)
                return each.status, b"not now"
        elsewhere = [each for each in troubles if each.asks_instead]
        node = elsewhere[0].asks_instead if elsewhere else self.node
        told = self._told(node, question)
        for each in elsewhere[:1]:
            self._spoil(each)
        by_id = {each["id"]: each for each in asked}
        for each in told:
            if each.get("result") is not None:
                its = by_id[each["id"]]
                each["result"] = self._lied(its["method"], its.get("params", []), each["result"])
        return 200, json.dumps(told if isinstance(question, list) else told[0]).encode()

    def _told(self, node: str, question: Any) -> list[Any]:
        """By the node, but for transactions that it never gets."""
        asked = question if isinstance(question, list) else [question]
        dropping = [each for each in self._troubles if each.drops_transactions]
        dropped = [each for each in asked if dropping and each["method"] == SEND]
        told = [
            {"jsonrpc": "2.0", "id": each["id"], "result": _hash_of(each["params"][0])}
            for each in dropped
        ]
        for trouble in dropping[:1] * len(dropped):
            self._spoil(trouble)
        others = [each for each in asked if each not in dropped]
        if others:
            rest = others if isinstance(question, list) else others[0]
            content = requests.post(node, json=rest, timeout=30).json()
            told += content if isinstance(content, list) else [content]
        return told

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


def _hash_of(raw: str) -> str:
    """A signed transaction's."""
    return f"0x{keccak(hexstr=raw).hex()}"


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
    # Else each answer's second packet waits for who asked to acknowledge the first: 40 ms.
    disable_nagle_algorithm = True
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
