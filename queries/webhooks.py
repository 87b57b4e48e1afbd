"""One POST to an address that a client chose.

The address is a stranger's. So it is looked up once, every address that comes out must be one of
the public internet, the connection goes to the very address that was looked at, and nothing it
answers is followed or kept but its status.
"""

import hashlib
import hmac
import socket
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address
from threading import Thread
from urllib.parse import urlsplit

import urllib3

from queries.chain.bounded_http import PlainPool, SecurePool

# Seconds to look up an address's name, to connect, and in all from connecting on.
LOOKUP, CONNECT, WHOLE = 4.0, 3.0, 8.0
# Kept for protocols (RFC 6890). Clouds answer their machines there, and older Pythons call most of
# it global.
OF_PROTOCOLS = IPv4Network("192.0.0.0/24")
# Of all IPv6 addresses only these are given to anyone. Beside them lie loopback, site-local ones
# and several spellings of IPv4 (RFC 4291, RFC 2765), private or not, which Python calls global.
GIVEN = IPv6Network("2000::/3")
DOCUMENTATION = IPv6Network("3fff::/20")  # newer than some of the Pythons that this runs on
NAT64 = IPv6Network("64:ff9b::/96")  # of the public internet: the last four bytes are IPv4


class NotDelivered(Exception):  # noqa: N818
    """The address could not be reached, or must not be."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a webhook goes, taken apart."""

    scheme: str
    host: str
    port: int
    path: str


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """What `Tacitus-Signature` says: the receiver makes the same of its copy and compares."""
    signed = str(timestamp).encode() + b"." + body
    return f"t={timestamp},v1={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}"


def post(url: str, headers: dict[str, str], body: bytes, *, to_private: bool = False) -> int:
    """The status that was answered."""
    target = _target(url)
    address = _address(target, to_private=to_private)
    sent = urllib3.HTTPHeaderDict(headers)  # capitals make no difference in a header's name
    sent.update({"Host": _host_header(target), "User-Agent": "Tacitus", "Connection": "close"})
    try:
        with (
            _connection(target, address) as pool,
            pool.urlopen(
                "POST",
                target.path,
                body=body,
                headers=sent,
                redirect=False,
                retries=False,
                preload_content=False,
            ) as answer,
        ):
            return int(answer.status)
    except (urllib3.exceptions.HTTPError, OSError, ValueError) as fault:
        raise NotDelivered(f"The address does not answer ({type(fault).__name__}).") from None


def _target(url: str) -> Target:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in {"http", "https"}:
        raise NotDelivered("The address is none.")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, host, port or (443 if parts.scheme == "https" else 80), path)


def _address(target: Target, *, to_private: bool) -> str:
    addresses = _looked_up(target)
    if not addresses:
        raise NotDelivered("The address's host is not found.")
    if not to_private and not all(is_public(address) for address in addresses):
        raise NotDelivered("The address lies in a private network, where no webhook is sent.")
    return addresses[0]


def _looked_up(target: Target) -> list[str]:
    """Its owner's name server may keep us waiting; whoever looked then ends unheard."""
    found: list[str] = []

    def look() -> None:
        with suppress(OSError, UnicodeError):
            entries = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
            found.extend(str(entry[4][0]) for entry in entries)

    looking = Thread(target=look, daemon=True)
    looking.start()
    looking.join(LOOKUP)
    return list(found)


def is_public(text: str) -> bool:
    """Whether an address is of the public internet, also where it hides one that is not."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv4Address):
        return address.is_global and not address.is_multicast and address not in OF_PROTOCOLS
    if address in NAT64:
        return is_public(str(IPv4Address(address.packed[12:])))
    if address not in GIVEN or address in DOCUMENTATION or address.teredo is not None:
        return False
    return address.is_global and (address.sixtofour is None or is_public(str(address.sixtofour)))


def _host_header(target: Target) -> str:
    usual = {"http": 80, "https": 443}[target.scheme]
    host = f"[{target.host}]" if ":" in target.host else target.host
    return host if target.port == usual else f"{host}:{target.port}"


def _connection(target: Target, address: str) -> urllib3.HTTPConnectionPool:
    timeout = urllib3.Timeout(total=WHOLE, connect=CONNECT)
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
