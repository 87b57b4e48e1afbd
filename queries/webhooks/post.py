"""Post to an untrusted URL: only to public addresses, and bounded in time."""

import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from urllib.parse import urlsplit

import urllib3

from queries.http.bounded import PlainPool, SecurePool
from queries.http.public_address import is_public

# Seconds for the DNS lookup, for connecting, and for the whole request after the lookup.
LOOKUP_SECONDS, CONNECT_SECONDS, REQUEST_SECONDS = 4.0, 3.0, 8.0
MAX_DELIVERY_SECONDS = LOOKUP_SECONDS + REQUEST_SECONDS
DEFAULT_PORTS = {"http": 80, "https": 443}
ACCEPTED_STATUSES = range(200, 300)
MAX_FIRST_LINE = 200  # characters
MAX_READ_BYTES = 4 * MAX_FIRST_LINE
# Nothing was sent, so the next address of the host may be tried.
CONNECT_ERRORS = (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError)


FAULTS: tuple[tuple[type[Exception], str], ...] = (
    (urllib3.exceptions.NewConnectionError, "the receiver accepts no connection"),
    (urllib3.exceptions.ConnectTimeoutError, "no connection could be made in time"),
    (urllib3.exceptions.TimeoutError, "the receiver did not respond in time"),
    (TimeoutError, "the receiver did not respond in time"),
    (urllib3.exceptions.SSLError, "the TLS connection or its certificate is not valid"),
    (urllib3.exceptions.ProtocolError, "the receiver closed the connection without a response"),
)


class NotPostedError(Exception):
    """There was no response, or the URL is invalid or not allowed."""


@dataclass(frozen=True, slots=True)
class WebhookResponse:
    status: int
    first_line: str  # of its body, if the webhook was not accepted


def post(
    url: str, headers: dict[str, str], body: bytes, *, allow_private: bool = False
) -> WebhookResponse:
    """Post the webhook. Raises `NotPostedError` if there is no response."""
    try:
        parts = urlsplit(url)
        default_port = DEFAULT_PORTS[parts.scheme]
        host, port = parts.hostname or "", parts.port or default_port
    except (KeyError, ValueError):
        host, port = "", 0
    if not host:
        raise NotPostedError("The URL is invalid.")
    addresses = _resolve(host, port)
    if not addresses:
        raise NotPostedError("The host of the URL could not be resolved.")
    if not allow_private and not all(map(is_public, addresses)):
        raise NotPostedError("The host is in a private network; webhooks are not sent there.")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    fixed_headers = {"Host": parts.netloc, "User-Agent": "Tacitus", "Connection": "close"}
    all_headers = urllib3.HTTPHeaderDict({"Content-Type": "application/json"})
    all_headers.update({**headers, **fixed_headers})  # compares header names without case
    deadline, fault = time.monotonic() + REQUEST_SECONDS, ""
    while addresses and (seconds_left := deadline - time.monotonic()) > 0:
        try:
            with (
                _connection(parts.scheme, host, (addresses.pop(0), port), seconds_left) as pool,
                pool.urlopen(
                    "POST", path, body=body, headers=all_headers, redirect=False, retries=False,
                    preload_content=False,
                ) as response,
            ):  # fmt: skip
                is_accepted = response.status in ACCEPTED_STATUSES
                first_line = "" if is_accepted else _first_line(response)
                return WebhookResponse(int(response.status), first_line)
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            other_fault = f"it could not be sent ({type(error).__name__})"
            fault = next((text for kind, text in FAULTS if isinstance(error, kind)), other_fault)
            if not isinstance(error, CONNECT_ERRORS):
                break
    raise NotPostedError(f"The request failed: {fault}.")


def _first_line(response: urllib3.BaseHTTPResponse) -> str:
    """The body's first non-empty line so far, with U+FFFD for unprintable characters."""
    try:
        text = response.read1(MAX_READ_BYTES).decode(errors="replace")
    except (urllib3.exceptions.HTTPError, OSError, ValueError):
        return ""
    line = next(filter(None, map(str.strip, text.splitlines())), "")
    return "".join(c if c.isprintable() else "\ufffd" for c in line)[:MAX_FIRST_LINE]


def _resolve(host: str, port: int) -> list[str]:
    """Return the host's IP addresses; empty if the lookup fails or times out."""
    addresses: list[str] = []

    def resolve() -> None:
        with suppress(OSError, UnicodeError):
            entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            addresses.extend(str(entry[4][0]) for entry in entries)

    thread = Thread(target=resolve, daemon=True)
    thread.start()
    thread.join(LOOKUP_SECONDS)  # the thread of a slow lookup is abandoned
    return list(addresses)


def _connection(
    scheme: str, host: str, address: tuple[str, int], seconds: float
) -> urllib3.HTTPConnectionPool:
    """A connection to this IP address and port, whose certificate must be the host's."""
    timeout = urllib3.Timeout(total=seconds, connect=CONNECT_SECONDS)
    if scheme == "http":
        return PlainPool(*address, timeout=timeout)
    return SecurePool(
        *address,
        timeout=timeout,
        cert_reqs="CERT_REQUIRED",
        server_hostname=host,
        assert_hostname=host,
    )
