"""HTTP bounded in size and in total time, for nodes, attesters and webhooks.

A socket's time-out starts again with every byte, so a server that sends its headers or a chunk's
size byte by byte could hold a thread for days. Here one deadline covers the whole response.
"""

import io
import socket
import time
from http import HTTPStatus
from http.client import HTTPResponse
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from queries.config.limits import Limits

NotReachedError = requests.ConnectionError
# What a request, or parsing its response, raises.
REQUEST_ERRORS = (
    OSError,  # those of requests too
    urllib3.exceptions.HTTPError,
    ValueError,
    RecursionError,  # thousands of nested brackets
)


class ResponseTooLargeError(requests.RequestException):
    """The response is larger than the session accepts."""


class BoundedSession(requests.Session):
    """Requests to one server, for one thread: no redirects, no cookies, nothing from `.netrc`.

    Proxies and certificates of the environment are read once.
    """

    def __init__(self, address: str, limits: Limits) -> None:
        super().__init__()
        self.timeout = limits.request_timeout
        self._max_bytes = limits.max_answer_mib * 2**20
        # Uncompressed, so that the bound holds for what is read.
        self.headers["Accept-Encoding"] = "identity"
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
        for scheme in ("http://", "https://"):
            self.mount(scheme, _Adapter())
        environment = self.merge_environment_settings(address, {}, None, None, None)
        self.proxies, self.verify = environment["proxies"], environment["verify"]
        self.trust_env = False

    def get_redirect_target(self, resp: requests.Response) -> None:
        if HTTPStatus.MULTIPLE_CHOICES <= resp.status_code < HTTPStatus.BAD_REQUEST:
            resp.close()
            raise requests.TooManyRedirects("a redirect is not followed")

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        """Return the whole response, or raise one of `REQUEST_ERRORS`."""
        deadline = time.monotonic() + self.timeout
        try:
            return self._send(request, deadline, options)
        except requests.ConnectionError as error:
            if isinstance(error, requests.Timeout):
                raise
            # The server may have closed an idle connection at the moment it was used again.
            return self._send(request, deadline, options)

    def _send(
        self, request: requests.PreparedRequest, deadline: float, options: dict[str, Any]
    ) -> requests.Response:
        timeout = urllib3.Timeout(total=max(deadline - time.monotonic(), 0.001))
        response = super().send(request, **options | {"timeout": timeout, "stream": True})
        content = bytearray()
        with response:
            for piece in response.raw.stream(decode_content=False):
                content += piece
                if len(content) > self._max_bytes:
                    raise ResponseTooLargeError("the response is too large")
        response._content = bytes(content)  # noqa: SLF001
        return response


class _DeadlineReader(io.RawIOBase):
    """Reads a socket until a deadline: now plus the socket's time-out."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket) -> None:
        self._raw = raw
        self._sock = sock
        timeout = sock.gettimeout()
        self._deadline = None if timeout is None else time.monotonic() + timeout

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self._deadline is not None:
            seconds_left = self._deadline - time.monotonic()
            if seconds_left <= 0:
                raise TimeoutError("the response takes too long")
            self._sock.settimeout(seconds_left)
        read: int | None = self._raw.readinto(buffer)
        return read

    def close(self) -> None:
        self._raw.close()
        super().close()


class _BoundedResponse(HTTPResponse):
    """A response whose status line, headers and body must arrive by one deadline."""

    def __init__(self, sock: socket.socket, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        self.fp = io.BufferedReader(_DeadlineReader(self.fp.detach(), sock))


class _PlainConnection(HTTPConnection):
    response_class = _BoundedResponse


class _SecureConnection(HTTPSConnection):
    response_class = _BoundedResponse


class PlainPool(HTTPConnectionPool):
    """HTTP connections whose responses must arrive by one deadline."""

    ConnectionCls = _PlainConnection


class SecurePool(HTTPSConnectionPool):
    """HTTPS connections whose responses must arrive by one deadline."""

    ConnectionCls = _SecureConnection


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": PlainPool, "https": SecurePool}

    def proxy_manager_for(self, *arguments: Any, **options: Any) -> Any:
        manager = super().proxy_manager_for(*arguments, **options)
        manager.pool_classes_by_scheme = {"http": PlainPool, "https": SecurePool}
        return manager
