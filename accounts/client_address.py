"""Whose network a request comes from, for limits."""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

# What one subscriber has at least, so that nobody gets a new allowance with each address of it.
IPV6_NETWORK = 64
Address = IPv4Address | IPv6Address


def client_network(request: HttpRequest) -> str:
    """The client's IPv4 address or IPv6 network, and `unknown` where none can be read."""
    told = str(request.META.get("REMOTE_ADDR", ""))
    address = _forwarded_for(request) or _read(told)
    if address is None:
        return "unknown"
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return str(ip_network((int(address), IPV6_NETWORK), strict=False))
    return str(address)


def _forwarded_for(request: HttpRequest) -> Address | None:
    """Behind a proxy, the last address that was added: those before it are the client's word."""
    if not settings.BEHIND_PROXY:
        return None
    return _read(request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip())


def _read(text: str) -> Address | None:
    """An address as proxies write it: alone, with a port, or in brackets."""
    match = re.fullmatch(r"\[(?P<six>[^]]*)\](?::\d+)?|(?P<four>[\d.]+):\d+", text)
    try:
        return ip_address((match["six"] or match["four"]) if match else text)
    except ValueError:
        return None
