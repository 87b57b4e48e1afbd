"""A TCP port in front of a server, such as a broker, that can be shut."""

import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


class Gate:
    """Shut, it cuts all connections and refuses new ones, as if the server had been killed.
    Stalled, it keeps them and holds what they send, as if the server had stopped.
    """

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._listener: socket.socket | None = None
        self._open_sockets: set[socket.socket] = set()
        self._flow = threading.Event()
        self._flow.set()
        self.holds_data = False
        self.port = 0
        self.open()

    def open(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def stall(self) -> None:
        """Hold what either side sends from now on, until it is shut."""
        self._flow.clear()

    def shut(self) -> None:
        listener, self._listener = self._listener, None
        for connection in [*filter(None, [listener]), *self._open_sockets]:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        self._flow.set()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(self._target)
                threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        ends = {client: server, server: client}
        self._open_sockets |= ends.keys()
        # ValueError: a socket was closed by `shut`.
        with client, server, selectors.DefaultSelector() as ready, suppress(OSError, ValueError):
            for sender in ends:
                ready.register(sender, selectors.EVENT_READ, sender)
            is_open = self._listener is not None
            while is_open:
                for key, _ in ready.select():
                    self.holds_data = not self._flow.is_set()
                    self._flow.wait()
                    data = key.data.recv(2**16)
                    is_open = is_open and bool(data)
                    ends[key.data].sendall(data)
        self._open_sockets -= ends.keys()


@contextmanager
def gate_before(url: str) -> Iterator[tuple[Gate, str]]:
    """Yield a gate, and the URL with the gate's port."""
    parts = urlsplit(url)
    gate = Gate((str(parts.hostname), int(parts.port or 0)))
    try:
        yield gate, url.replace(f":{parts.port}/", f":{gate.port}/")
    finally:
        gate.shut()
