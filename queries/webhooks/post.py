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


class NotDeliveredError(Exception):
    """The address could not be reached, or is not allowed."""


@dataclass(frozen=True, slots=True)
class WebhookResponse:
    status: int
    first_line: str  # of its body, if the webhook was not accepted


@dataclass(frozen=True, slots=True)
class Target:
    """The parts of a webhook's URL."""

    scheme: str
    host: str
    port: int
    path: str


def post(
    url: str, headers: dict[str, str], body: bytes, *, to_private: bool = False
) -> WebhookResponse:
    """Post the webhook. Raises `NotDeliveredError` if there is no response."""
    target = _parse_url(url)
    addresses = _allowed_addresses(target, to_private=to_private)
    fixed = {"Host": _host_header(target), "User-Agent": "Tacitus", "Connection": "close"}
    merged = urllib3.HTTPHeaderDict({"Content-Type": "application/json"})
    merged.update({**headers, **fixed})  # compares header names without case
    deadline, fault = time.monotonic() + REQUEST_SECONDS, ""
    while addresses and (left := deadline - time.monotonic()) > 0:
        try:
            with (
                _connection(target, addresses.pop(0), left) as pool,
                pool.urlopen(
                    "POST", target.path, body=body, headers=merged, redirect=False, retries=False,
                    preload_content=False,
                ) as response,
            ):  # fmt: skip
                is_accepted = response.status in ACCEPTED_STATUSES
                first_line = "" if is_accepted else _first_line(response)
                return WebhookResponse(int(response.status), first_line)
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            fault = _describe_fault(error)
            if not isinstance(error, CONNECT_ERRORS):
                break
    raise NotDeliveredError(f"The request failed: {fault}.")


def _describe_fault(error: Exception) -> str:
    unknown = f"it could not be sent ({type(error).__name__})"
    return next((text for kind, text in FAULTS if isinstance(error, kind)), unknown)


def _first_line(response: urllib3.BaseHTTPResponse) -> str:
    """The first line of what has arrived, without control and direction characters."""
    try:
        text = response.read1(MAX_READ_BYTES).decode(errors="replace")
    except (urllib3.exceptions.HTTPError, OSError, ValueError):
        return ""
    line = next(filter(None, map(str.strip, text.splitlines())), "")
    return "".join(c if c.isprintable() else "\ufffd" for c in line)[:MAX_FIRST_LINE]


def _parse_url(url: str) -> Target:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in {"http", "https"}:
        raise NotDeliveredError("The URL is invalid.")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, host, port or (443 if parts.scheme == "https" else 80), path)


def _allowed_addresses(target: Target, *, to_private: bool) -> list[str]:
    addresses = _resolve(target)
    if not addresses:
        raise NotDeliveredError("The host of the URL has no IP address.")
    if not to_private and not all(is_public(address) for address in addresses):
        raise NotDeliveredError("The host is in a private network; webhooks are not sent there.")
    return addresses


def _resolve(target: Target) -> list[str]:
    """Resolve the host with a timeout; the thread of a slow lookup is abandoned."""
    addresses: list[str] = []

    def resolve() -> None:
        with suppress(OSError, UnicodeError):
            entries = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
            addresses.extend(str(entry[4][0]) for entry in entries)

    thread = Thread(target=resolve, daemon=True)
    thread.start()
    thread.join(LOOKUP_SECONDS)
    return list(addresses)


def _host_header(target: Target) -> str:
    default_port = {"http": 80, "https": 443}[target.scheme]
    host = f"[{target.host}]" if ":" in target.host else target.host
    return host if target.port == default_port else f"{host}:{target.port}"


def _connection(target: Target, address: str, seconds: float) -> urllib3.HTTPConnectionPool:
    timeout = urllib3.Timeout(total=seconds, connect=CONNECT_SECONDS)
    if target.scheme == "http":
        return PlainPool(address, target.port, timeout=timeout)
    return SecurePool(
        address,
        target.port,
        timeout=timeout,
        cert_reqs="CERT_REQUIRED",
        server_hostname=target.host,
        assert_hostname=target.host,
    )
