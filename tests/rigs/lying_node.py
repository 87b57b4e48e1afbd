"""Nodes that lie, stall or babble: real HTTP servers that answer whatever a test tells them to."""

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.rigs.quiet_server import QuietServer, serving

# What a server says to a question: it writes the answer itself.
Say = Callable[["LyingNode", Any], None]

# Seconds after which a stall ends all the same, so that a test of one fails instead of hanging.
PATIENCE = 25


class LyingNode(BaseHTTPRequestHandler):
    """One connection to a lying node."""

    protocol_version = "HTTP/1.1"
    ended: threading.Event  # the test is over, so whoever stalls goes home
    say: Say

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            type(self).say(self, question)
        except OSError:
            self.close_connection = True  # whoever asked has hung up

    def answer(self, content: bytes, status: int = 200, **headers: str) -> None:
        """A whole answer."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def drip(self, piece: bytes) -> None:
        """The same bytes again and again, each soon enough for a socket's timeout."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and not self.ended.wait(0.05):
            self.wfile.write(piece)
            self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """It has nothing to say to whoever runs the tests."""


@contextmanager
def lying_node(say: Say) -> Iterator[str]:
    """The address of a node that answers so."""
    ended = threading.Event()
    handler = type("Handler", (LyingNode,), {"say": staticmethod(say), "ended": ended})
    server = QuietServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    with serving(server) as port:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            ended.set()


def as_json(content: object) -> bytes:
    return json.dumps(content).encode()


def result(value: object, asked: int = 1) -> bytes:
    """A JSON-RPC answer, to the first question of a connection or another."""
    return as_json({"jsonrpc": "2.0", "id": asked, "result": value})


# Answers that are none


def no_json(node: LyingNode, _: object) -> None:
    node.answer(b"<p>please log in</p>")


def stall(node: LyingNode, _: object) -> None:
    node.ended.wait(PATIENCE)


def hang_up(node: LyingNode, _: object) -> None:
    node.close_connection = True


def drip_headers(node: LyingNode, _: object) -> None:
    node.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    node.drip(b"a")


def drip_body(node: LyingNode, _: object) -> None:
    node.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
    node.drip(b" ")


def in_chunks(node: LyingNode, content: bytes) -> None:
    """A body in chunks, of which no end is told."""
    node.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    node.wfile.write(b"%x\r\n%b\r\n" % (len(content), content))


def drip_chunk_size(node: LyingNode, _: object) -> None:
    in_chunks(node, result("0x1"))
    node.drip(b"0")


def drip_trailers(node: LyingNode, _: object) -> None:
    in_chunks(node, result("0x1"))
    node.wfile.write(b"0\r\n")
    node.drip(b"X-Long: a\r\n")


def many_values(node: LyingNode, _: object) -> None:
    """Small as text, and large once it is read."""
    node.answer(b'{"jsonrpc": "2.0", "id": 1, "result": [[]' + b",[]" * 2**20 + b"]}")


def endless(node: LyingNode, _: object) -> None:
    node.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while not node.ended.is_set():
        node.wfile.write(b" " * 2**16)


def cut_off(node: LyingNode, _: object) -> None:
    node.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + result("0x1"))
    node.close_connection = True


def nested(node: LyingNode, _: object) -> None:
    node.answer(b"[" * 200_000)


def broken_headers(node: LyingNode, _: object) -> None:
    node.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nno header\r\n\r\n[]")


def no_http(node: LyingNode, _: object) -> None:
    node.wfile.write(b"hello\r\n\r\n")
    node.close_connection = True


NO_ANSWERS: dict[str, Say] = {
    "no JSON": no_json,
    "a stall": stall,
    "nothing at all": hang_up,
    "headers byte by byte": drip_headers,
    "a body byte by byte": drip_body,
    "a chunk's size byte by byte": drip_chunk_size,
    "lines after a body without end": drip_trailers,
    "a million of nothing": many_values,
    "an endless body": endless,
    "a body cut off": cut_off,
    "brackets without end": nested,
    "headers that are none": broken_headers,
    "no text": lambda node, _: node.answer(b"\xff\xfe\xfa"),
    "a number too long": lambda node, _: node.answer(b"9" * 5000),
    "no HTTP": no_http,
    "another question's answer": lambda node, _: node.answer(result("0x1", 999)),
    "an answer to no question": lambda node, _: node.answer(b'{"result": "0x1"}'),
    "another question's refusal": lambda node, _: node.answer(b'{"id": 999, "error": {}}'),
    "neither result nor error but null": lambda node, _: node.answer(b'{"id": 1, "error": null}'),
    "gzip without being asked for it": lambda node, _: node.answer(
        gzip.compress(b" " * 2**24 + result("0x1")), Content_Encoding="gzip"
    ),
    "a list": lambda node, _: node.answer(b"[]"),
    "null": lambda node, _: node.answer(b"null"),
    "neither result nor error": lambda node, _: node.answer(b'{"id": 1}'),
    "a redirect": lambda node, _: node.answer(b"", 302, Location="http://127.0.0.1:1/"),
    "a redirect with an answer": lambda node, _: node.answer(result("0x1"), 307),
    "too many requests": lambda node, _: node.answer(b"slow down", 429, Retry_After="3600"),
    "a fault": lambda node, _: node.answer(b"<h1>Internal Server Error</h1>", 500),
    "gzip that is none": lambda node, _: node.answer(b"x", Content_Encoding="gzip"),
}
