"""Connections to nodes, none of which keeps us waiting for ever.

A socket's timeout begins again with every byte, so a node that sends its headers byte by byte
could hold a thread for days.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import TIMEOUT_MAX, Timer
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.response import HTTPResponse


def new_session() -> requests.Session:
    """A session whose answers begin within the timeout, headers and all; for one thread alone."""
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, _Adapter())
    return session


@contextmanager
def _ended_in_time(connection: HTTPConnection) -> Iterator[None]:
    sock = connection.sock
    watch = Timer(sock.gettimeout() or TIMEOUT_MAX, _end, [sock])
    watch.daemon = True
    watch.start()
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
