"""A server below HTTP, for receivers that drip bytes or speak TLS."""

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
