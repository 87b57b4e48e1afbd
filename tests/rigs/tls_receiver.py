"""A receiver over TLS that keeps the requests it decrypts."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.rigs.socket_server import socket_server

ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Length: 40\r\nConnection: close\r\n\r\n"
    b'{"jsonrpc": "2.0", "id": 1, "result": 7}'
)


@dataclass
class TlsReceiver:
    port: int = 0
    connections: int = 0  # connections
    requests_received: list[bytes] = field(default_factory=list)  # requests, decrypted


@contextmanager
def tls_receiver(certificate: Path) -> Iterator[TlsReceiver]:
    """`certificate`: a file that also holds the private key."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    kept = TlsReceiver()

    def converse(plain: socket.socket, _: threading.Event) -> None:
        kept.connections += 1
        plain.settimeout(10)
        request = b""
        with suppress(OSError), context.wrap_socket(plain, server_side=True) as connection:
            while not request.endswith(b"}") and (piece := connection.recv(2**16)):
                request += piece
            connection.sendall(ANSWER)
        if request:
            kept.requests_received.append(request)

    with socket_server(converse) as kept.port:
        yield kept
