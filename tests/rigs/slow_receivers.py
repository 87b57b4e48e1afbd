"""Receivers that answer byte by byte, or never."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

# Serves one connection; ends early if the event is set.
Conversation = Callable[[socket.socket, threading.Event], None]


@contextmanager
def socket_server(converse: Conversation) -> Iterator[int]:
    """Serve one connection after the other; yield the port."""
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            with suppress(OSError):  # the client hung up, or the server is shut down
                connection, _ = server.accept()
                with connection:
                    converse(connection, ended)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            ended.set()
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            thread.join()


PATIENCE = 25  # seconds


def drip(beginning: bytes, piece: bytes, *, hears: bool = True) -> Conversation:
    """Send `piece` again and again, fast enough that no socket timeout is reached."""

    def converse(connection: socket.socket, ended: threading.Event) -> None:
        if hears:
            connection.recv(2**20)
        connection.sendall(beginning)
        for _ in range(PATIENCE * 20):
            if ended.wait(0.05):
                return
            connection.sendall(piece)

    return converse


# The head of a TLS record, whose 16,384 bytes then come one by one.
HANDSHAKE = bytes.fromhex("1603034000")
SLOW_RECEIVERS: dict[str, tuple[str, Conversation]] = {
    "a stall": ("http", drip(b"", b"")),
    "never read": ("http", drip(b"", b"", hears=False)),
    "headers byte by byte": ("http", drip(b"HTTP/1.1 200 OK\r\nX-Long: ", b"a")),
    "endless headers": ("http", drip(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n")),
    "endless 100 Continue": ("http", drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n")),
    "a handshake byte by byte": ("https", drip(HANDSHAKE, b"\2")),
}


@contextmanager
def slow_receiver(scheme: str, converse: Conversation) -> Iterator[str]:
    """Yield its URL."""
    with socket_server(converse) as port:
        yield f"{scheme}://127.0.0.1:{port}/"
