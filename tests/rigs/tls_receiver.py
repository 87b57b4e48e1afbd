"""Someone who speaks TLS, and keeps what it is told."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Length: 40\r\nConnection: close\r\n\r\n"
    b'{"jsonrpc": "2.0", "id": 1, "result": 7}'
)


@dataclass
class TlsReceiver:
    port: int
    came: int = 0
    got: list[bytes] = field(default_factory=list)  # requests, decrypted


@contextmanager
def tls_receiver(certificate: Path) -> Iterator[TlsReceiver]:
    """`certificate`: a file that holds its key too."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with socket.create_server(("127.0.0.1", 0)) as server:
        kept = TlsReceiver(server.getsockname()[1])

        def serve() -> None:
            with suppress(OSError):  # when it is shut
                while True:
                    _hear(server.accept()[0], context, kept)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield kept
        finally:
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            thread.join()


def _hear(plain: socket.socket, context: ssl.SSLContext, kept: TlsReceiver) -> None:
    with plain:
        kept.came += 1
        plain.settimeout(10)
        told = b""
        with suppress(OSError), context.wrap_socket(plain, server_side=True) as connection:
            while not told.endswith(b"}") and (piece := connection.recv(2**16)):
                told += piece
            connection.sendall(ANSWER)
        if told:
            kept.got.append(told)
