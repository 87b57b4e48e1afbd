"""A stub node: a real HTTP server that writes whatever a test wants, or stalls, or hangs up."""

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.rigs.quiet_server import QuietHandler, handler_server

# Writes the answer to a JSON-RPC request.
Responder = Callable[["StubNode", Any], None]

PATIENCE = 25  # seconds after which a stall ends, so that a broken test fails instead of hanging


class StubNode(QuietHandler):
    """One connection to a stub node."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    ended: threading.Event  # set when the test is over
    say: Responder

    def handle_post(self, body: bytes) -> None:
        try:
            type(self).say(self, json.loads(body))
        except OSError:
            self.close_connection = True  # the client hung up

    def drip(self, piece: bytes) -> None:
        """Send `piece` again and again, fast enough that no socket timeout is reached."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and not self.ended.wait(0.05):
            self.wfile.write(piece)
            self.wfile.flush()


@contextmanager
def stub_node(say: Responder) -> Iterator[str]:
    """Run a node that answers so; yield its URL."""
    ended = threading.Event()
    with handler_server(StubNode, say=staticmethod(say), ended=ended) as port:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            ended.set()


def json_bytes(content: object) -> bytes:
    return json.dumps(content).encode()


def result(value: object, asked: int = 1) -> bytes:
    """A JSON-RPC response to the request with this id."""
    return json_bytes({"jsonrpc": "2.0", "id": asked, "result": value})


# Answers that are not JSON-RPC


def stall(node: StubNode, _: object) -> None:
    node.ended.wait(PATIENCE)


def hang_up(node: StubNode, _: object) -> None:
    node.close_connection = True


def drip_headers(node: StubNode, _: object) -> None:
    node.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    node.drip(b"a")


def drip_body(node: StubNode, _: object) -> None:
    node.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
    node.drip(b" ")


def send_chunk(node: StubNode, content: bytes) -> None:
    """A chunked body without the last chunk."""
    node.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    node.wfile.write(b"%x\r\n%b\r\n" % (len(content), content))


def drip_chunk_size(node: StubNode, _: object) -> None:
    send_chunk(node, result("0x1"))
    node.drip(b"0")


def drip_trailers(node: StubNode, _: object) -> None:
    send_chunk(node, result("0x1"))
    node.wfile.write(b"0\r\n")
    node.drip(b"X-Long: a\r\n")


def endless(node: StubNode, _: object) -> None:
    node.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while not node.ended.is_set():
        node.wfile.write(b" " * 2**16)


def cut_off(node: StubNode, _: object) -> None:
    node.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + result("0x1"))
    node.close_connection = True


def broken_headers(node: StubNode, _: object) -> None:
    node.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nno header\r\n\r\n[]")


def no_http(node: StubNode, _: object) -> None:
    node.wfile.write(b"hello\r\n\r\n")
    node.close_connection = True


INVALID_ANSWERS: dict[str, Responder] = {
    "no JSON": lambda node, _: node.answer(b"<p>please log in</p>"),
    "a stall": stall,
    "nothing at all": hang_up,
    "headers byte by byte": drip_headers,
    "a body byte by byte": drip_body,
    "a chunk's size byte by byte": drip_chunk_size,
    "endless trailers": drip_trailers,
    # Small as text, large once parsed
    "a million empty lists": lambda node, _: node.answer(
        b'{"jsonrpc": "2.0", "id": 1, "result": [[]' + b",[]" * 2**20 + b"]}"
    ),
    "an endless body": endless,
    "a body cut off": cut_off,
    "200,000 open brackets": lambda node, _: node.answer(b"[" * 200_000),
    "a malformed header": broken_headers,
    "a body that is not UTF-8": lambda node, _: node.answer(b"\xff\xfe\xfa"),
    "a number of 5,000 digits": lambda node, _: node.answer(b"9" * 5000),
    "no HTTP": no_http,
    "another question's answer": lambda node, _: node.answer(result("0x1", 999)),
    "an answer without id": lambda node, _: node.answer(b'{"result": "0x1"}'),
    "another question's refusal": lambda node, _: node.answer(b'{"id": 999, "error": {}}'),
    "neither result nor error but null": lambda node, _: node.answer(b'{"id": 1, "error": null}'),
    "gzip that was not requested": lambda node, _: node.answer(
        gzip.compress(b" " * 2**24 + result("0x1")), Content_Encoding="gzip"
    ),
    "a list": lambda node, _: node.answer(b"[]"),
    "null": lambda node, _: node.answer(b"null"),
    "neither result nor error": lambda node, _: node.answer(b'{"id": 1}'),
    "a redirect": lambda node, _: node.answer(b"", 302, Location="http://127.0.0.1:1/"),
    "a redirect with an answer": lambda node, _: node.answer(result("0x1"), 307),
    "too many requests": lambda node, _: node.answer(b"slow down", 429, Retry_After="3600"),
    "a server error": lambda node, _: node.answer(b"<h1>Internal Server Error</h1>", 500),
    "broken gzip": lambda node, _: node.answer(b"x", Content_Encoding="gzip"),
}
