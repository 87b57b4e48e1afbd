"""Connections to nodes, none of which keeps us waiting for ever.

A socket's timeout begins again with every byte, so a node that sends its headers byte by byte, or
the size of a chunk, could hold a thread for days.
"""

import json
import math
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.auth import HTTPBasicAuth
from requests.utils import get_auth_from_url
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.response import BaseHTTPResponse, HTTPResponse

from queries.chain.deadlines import Deadline, after

# Seconds of a connection with an end: what a stranger's server may take of a worker.
WHOLE = 8.0
# What asking a server or reading its answer raises, and what parsing it does.
FAULTS = (
    OSError,
    urllib3.exceptions.HTTPError,
    ValueError,
    RecursionError,  # brackets within brackets, by the thousand
)


class Server:
    """By its address, for one thread. Its answers begin within the timeout, headers and all; no
    redirect is followed, and no cookie kept: by one it could tell who asks.

    What the environment says of proxies and certificates is found by requests, once. To send each
    question by it would take three times as long as the connection itself does.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._adapter = _Adapter()
        self._opened: tuple[HTTPConnectionPool, str, Mapping[str, str]] | None = None

    def ask(self, method: str, path: str, content: object, timeout: float) -> BaseHTTPResponse:
        """Who reads the answer does so as it comes, and closes it."""
        if self._opened is None:
            self._opened = self._open()
        pool, url, headers = self._opened
        return pool.urlopen(
            method,
            url.rstrip("/") + path if path else url,
            body=None if content is None else json.dumps(content).encode(),
            headers=headers,
            redirect=False,
            retries=False,
            assert_same_host=False,
            timeout=timeout,
            preload_content=False,
        )

    def _open(self) -> tuple[HTTPConnectionPool, str, Mapping[str, str]]:
        with requests.Session() as session:
            session.auth = _by_its_address
            # Uncompressed, so that what is counted is what it comes to.
            told = {"Accept-Encoding": "identity", "Content-Type": "application/json"}
            request = session.prepare_request(requests.Request("GET", self._address, told))
            url = request.url or ""
            around = session.merge_environment_settings(url, {}, None, None, None)
        proxies, verify = around["proxies"], around["verify"]
        pool: Any = self._adapter.get_connection_with_tls_context(request, verify, proxies)
        self._adapter.cert_verify(pool, url, verify, None)  # type: ignore[no-untyped-call]
        return pool, self._adapter.request_url(request, proxies), dict(request.headers)

    def close(self) -> None:
        self._opened = None  # its connections live as long as it is held
        self._adapter.close()


def _by_its_address(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """With the name and password that stand there; else it would be what `.netrc` has for the host,
    a file that is looked for with every request.
    """
    user, password = get_auth_from_url(request.url or "")
    return HTTPBasicAuth(user, password)(request) if user or password else request


@contextmanager
def read_in_time(answer: BaseHTTPResponse, seconds: float) -> Iterator[None]:
    """Whoever reads the answer's body in here gets nothing more after so many seconds."""
    watch = after(seconds, lambda: _end_answer(answer))
    try:
        yield
    finally:
        watch.cancel()


def _end_answer(answer: BaseHTTPResponse) -> None:
    # Where it was read to its end already, there is nothing left to shut.
    with suppress(OSError, ValueError, RuntimeError):
        answer.shutdown()


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
