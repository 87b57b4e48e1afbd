"""Connections to nodes, none of which keeps us waiting for ever.

A socket's timeout begins again with every byte, so a node that sends its headers byte by byte, or
the size of a chunk, could hold a thread for days.
"""

import math
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from requests.auth import HTTPBasicAuth
from requests.utils import get_auth_from_url
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.response import HTTPResponse

from queries.chain.deadlines import Deadline, after

# Seconds of a connection with an end: what a stranger's server may take of a worker.
WHOLE = 8.0


def new_session() -> requests.Session:
    """A session whose answers begin within the timeout, headers and all; for one thread alone."""
    session = requests.Session()
    session.auth = _by_its_address
    # Or a node could fill our memory with them, and tell who asks.
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    for scheme in ("http://", "https://"):
        session.mount(scheme, _Adapter())
    return session


def _by_its_address(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """With the name and password that stand there; else it would be what `.netrc` has for the host,
    a file that is looked for with every request.
    """
    user, password = get_auth_from_url(request.url or "")
    return HTTPBasicAuth(user, password)(request) if user or password else request


@contextmanager
def read_in_time(answer: requests.Response, seconds: float) -> Iterator[None]:
    """Whoever reads the answer's body in here gets nothing more after so many seconds."""
    watch = after(seconds, lambda: _end_answer(answer))
    try:
        yield
    finally:
        watch.cancel()


def _end_answer(answer: requests.Response) -> None:
    # Where it was read to its end already, there is nothing left to shut.
    with suppress(OSError, ValueError, RuntimeError):
        answer.raw.shutdown()


@contextmanager
def _ended_in_time(connection: HTTPConnection) -> Iterator[None]:
    sock = connection.sock
    watch = after(sock.gettimeout() or math.inf, lambda: _end(sock))
    try:
        yield
    finally:
        watch.cancel()


def _end(sock: socket.socket) -> None:
    # Whoever waits for it gets nothing more; where it is closed already, nobody waits.
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


class _Plain(HTTPConnection):
    def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # as urllib3's own is
        with _ended_in_time(self):
            return super().getresponse()


class _Secure(HTTPSConnection):
    def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # as urllib3's own is
        with _ended_in_time(self):
            return super().getresponse()


class _WithAnEnd:
    """Once it is connected it is over in `WHOLE` seconds, whatever the other side does.

    From before its handshake on, which may come byte by byte as well. A second handle is kept,
    because the handshake takes the first one away.
    """

    _handle: socket.socket | None = None
    _watch: Deadline | None = None
    _is_over = False

    def _new_conn(self) -> socket.socket:
        sock: socket.socket = super()._new_conn()  # type: ignore[misc]
        self._handle = handle = sock.dup()
        self._watch = after(WHOLE, lambda: self._leave(handle))
        return sock

    def getresponse(self) -> Any:
        answer = super().getresponse()  # type: ignore[misc]
        if self._is_over:  # cut off, which may look like the end of its headers
            answer.close()
            raise TimeoutError
        return answer

    def _leave(self, handle: socket.socket) -> None:
        self._is_over = True
        _end(handle)

    def close(self) -> None:
        super().close()  # type: ignore[misc]
        if self._watch and self._handle:
            self._watch.cancel()
            self._handle.close()


class _PlainWithAnEnd(_WithAnEnd, HTTPConnection):
    pass


class _SecureWithAnEnd(_WithAnEnd, HTTPSConnection):
    pass


class PlainPoolWithAnEnd(HTTPConnectionPool):
    ConnectionCls = _PlainWithAnEnd


class SecurePoolWithAnEnd(HTTPSConnectionPool):
    ConnectionCls = _SecureWithAnEnd


class PlainPool(HTTPConnectionPool):
    ConnectionCls = _Plain


class SecurePool(HTTPSConnectionPool):
    ConnectionCls = _Secure


POOLS = {"http": PlainPool, "https": SecurePool}


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **options)
        self.poolmanager.pool_classes_by_scheme = POOLS

    def proxy_manager_for(self, *arguments: Any, **options: Any) -> Any:
        manager = super().proxy_manager_for(*arguments, **options)
        manager.pool_classes_by_scheme = POOLS
        return manager
