"""HTTP bounded in size and in total time, for nodes, attesters and webhooks.

A socket's time-out starts again with every byte, so a server that sends its headers or a chunk's
size byte by byte could hold a thread for days. Here one deadline covers the whole answer.
"""

import io
import socket
import time
from http.client import HTTPResponse
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from queries.config.limits import Limits

NOT_REACHED = requests.ConnectionError
# What a request, its answer or the parsing of the answer raises.
FAULTS = (
    OSError,  # those of requests too
    urllib3.exceptions.HTTPError,
    ValueError,
    RecursionError,  # thousands of nested brackets
)


class AnswerTooLarge(requests.RequestException):
    """The answer is larger than the session takes."""


class BoundedSession(requests.Session):
    """Requests to one server, for one thread: no redirects, no cookies, nothing from `.netrc`.

    Proxies and certificates of the environment are read once.
    """

    def __init__(self, address: str, limits: Limits) -> None:
        super().__init__()
        self.timeout = limits.request_timeout
        self._largest = limits.answer_mebibytes * 2**20
        # Uncompressed, so that the bound holds for what is read.
        self.headers["Accept-Encoding"] = "identity"
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
        for scheme in ("http://", "https://"):
            self.mount(scheme, _Adapter())
        found = self.merge_environment_settings(address, {}, None, None, None)
        self.proxies, self.verify = found["proxies"], found["verify"]
        self.trust_env = False

    def get_redirect_target(self, resp: requests.Response) -> None:
        if resp.status_code // 100 == 3:  # noqa: PLR2004
            resp.close()
            raise requests.TooManyRedirects("a redirect is not followed")

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        """The whole answer, or one of `FAULTS`."""
        until = time.monotonic() + self.timeout
        try:
            return self._send(request, until, options)
        except requests.ConnectionError as fault:
            if isinstance(fault, requests.Timeout):
                raise
            # The server may have closed an idle connection at the moment it was used again.
            return self._send(request, until, options)

    def _send(
        self, request: requests.PreparedRequest, until: float, options: dict[str, Any]
    ) -> requests.Response:
        timeout = urllib3.Timeout(total=max(until - time.monotonic(), 0.001))
        answer = super().send(request, **options | {"timeout": timeout, "stream": True})
        content = bytearray()
        with answer:
            for piece in answer.raw.stream(decode_content=False):
                content += piece
                if len(content) > self._largest:
                    raise AnswerTooLarge("the answer is too large")
        answer._content = bytes(content)  # noqa: SLF001
        return answer


class _Reader(io.RawIOBase):
    """Reads a socket until a deadline, which is the socket's time-out from now."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket) -> None:
        self._raw = raw
        self._sock = sock
        timeout = sock.gettimeout()
        self._until = None if timeout is None else time.monotonic() + timeout

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self._until is not None:
            left = self._until - time.monotonic()
            if left <= 0:
                raise TimeoutError("the answer takes too long")
            self._sock.settimeout(left)
        read: int | None = self._raw.readinto(buffer)
        return read

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Answer(HTTPResponse):
    """Its status line, headers and body end by one deadline."""

    def __init__(self, sock: socket.socket, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        self.fp = io.BufferedReader(_Reader(self.fp.detach(), sock))


class _Plain(HTTPConnection):
    response_class = _Answer


class _Secure(HTTPSConnection):
    response_class = _Answer


class PlainPool(HTTPConnectionPool):
    """Connections whose answers end by one deadline."""

    ConnectionCls = _Plain


class SecurePool(HTTPSConnectionPool):
    """The same with TLS."""

    ConnectionCls = _Secure


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": PlainPool, "https": SecurePool}

    def proxy_manager_for(self, *arguments: Any, **options: Any) -> Any:
        manager = super().proxy_manager_for(*arguments, **options)
        manager.pool_classes_by_scheme = {"http": PlainPool, "https": SecurePool}
        return manager
