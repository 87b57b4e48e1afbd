"""Receivers that take their time: plain sockets that answer byte by byte, or never."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Say = Callable[[socket.socket, threading.Event], None]
PATIENCE = 25  # seconds


def drip(beginning: bytes, piece: bytes, *, hears: bool = True) -> Say:
    """The same bytes again and again, each soon enough for a socket's timeout."""

    def say(connection: socket.socket, ended: threading.Event) -> None:
        if hears:
            connection.recv(2**20)
        connection.sendall(beginning)
        for _ in range(PATIENCE * 20):
            if ended.wait(0.05):
                return
            connection.sendall(piece)

    return say


# A TLS record, whose 16,384 bytes then come one by one.
HANDSHAKE = bytes.fromhex("1603034000")
DRIPPING: dict[str, tuple[str, Say]] = {
    "a stall": ("http", drip(b"", b"")),
    "never read": ("http", drip(b"", b"", hears=False)),
    "headers byte by byte": ("http", drip(b"HTTP/1.1 200 OK\r\nX-Long: ", b"a")),
    "header after header": ("http", drip(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n")),
    "go on, go on": ("http", drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n")),
    "a handshake byte by byte": ("https", drip(HANDSHAKE, b"\2")),
}


@contextmanager
def slow_receiver(scheme: str, say: Say) -> Iterator[str]:
    """Its address."""
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                connection, _ = server.accept()
                with connection:
                    say(connection, ended)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"{scheme}://127.0.0.1:{server.getsockname()[1]}/"
        finally:
            ended.set()
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            thread.join()
