"""Addresses of the public internet and of private networks."""

from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address
from urllib.parse import urlsplit

# Not for the public internet, although Python calls them global, the first in older versions.
RESERVED = (
    IPv4Network("192.0.0.0/24"),  # protocol assignments (RFC 6890); metadata services of clouds
    IPv4Network("192.88.99.0/24"),  # former relays of 6to4 (RFC 7526)
)

# The only IPv6 range for the public internet. Python also calls some other ranges global, such as
# site-local ones and several spellings of IPv4, private or not (RFC 4291, RFC 2765).
GLOBAL_UNICAST = IPv6Network("2000::/3")

DOCUMENTATION = IPv6Network("3fff::/20")  # unknown to older Python versions

NAT64 = IPv6Network("64:ff9b::/96")  # of the public internet: the last four bytes are IPv4


def is_private(url: str) -> bool:
    """Whether the host is a private address or `localhost`. Other names are resolved on sending."""
    host = (urlsplit(url).hostname or "").rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return not is_public(host)
    except ValueError:
        return False


def is_public(text: str) -> bool:
    """Whether an IP address, and any IPv4 address embedded in it, is public."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv4Address):
        is_reserved = any(address in network for network in RESERVED)
        return address.is_global and not address.is_multicast and not is_reserved
    if address in NAT64:
        return is_public(str(IPv4Address(address.packed[12:])))
    if address not in GLOBAL_UNICAST or address in DOCUMENTATION or address.teredo is not None:
        return False
    return address.is_global and (address.sixtofour is None or is_public(str(address.sixtofour)))
