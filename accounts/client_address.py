"""Whose network a request comes from, for limits."""

from ipaddress import IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

# What one subscriber has at least, so that nobody gets a new allowance with each address of it.
IPV6_NETWORK = 64


def client_network(request: HttpRequest) -> str:
    """The client's IPv4 address or IPv6 network, and `unknown` where none can be read."""
    try:
        address = ip_address(_address(request))
    except ValueError:
        return "unknown"
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return str(ip_network((int(address), IPV6_NETWORK), strict=False))
    return str(address)


def _address(request: HttpRequest) -> str:
    """Behind a proxy, the last address that was added: those before it are the client's word."""
    forwarded = request.headers.get("X-Forwarded-For", "") if settings.BEHIND_PROXY else ""
    return forwarded.rpartition(",")[2].strip() or str(request.META.get("REMOTE_ADDR", ""))
