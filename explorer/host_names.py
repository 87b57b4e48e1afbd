"""A host as an operator may name one: what a browser sends, and nothing that means several."""

import re
from ipaddress import ip_address

NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")


def host_name(text: str) -> str:
    """The host in the form that requests carry; ValueError says what is wrong with another."""
    host = text.lower()
    try:
        address = ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        pass
    else:
        return f"[{address}]" if address.version == 6 else str(address)  # noqa: PLR2004
    if not host.isascii():
        raise ValueError(f"a host is written in ASCII: {_ascii_form(host)}")
    if not NAME.fullmatch(host) or ".." in host:
        raise ValueError("a host is letters, digits, hyphens and dots, or an IP address")
    return host


def _ascii_form(host: str) -> str:
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return "its xn-- form"
