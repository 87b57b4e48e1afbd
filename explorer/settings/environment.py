"""Parses settings, and refuses in a sentence what cannot be parsed.

A secret may also stand in the file that NAME_FILE names, as containers mount them. No refusal
repeats what may be a secret: not a value that holds an `@`, and not what NAME_FILE is set to, which
may be the secret itself by mistake. Refusals are raised `from None`.
"""

import re
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from eth_utils.address import is_checksum_address

from accounts.shared.wallets import GREATEST_CHAIN_ID

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}
GREATEST = 2**31 - 1
BROKERS = {"amqp", "amqps", "redis", "rediss"}
LOCAL_NODE = re.compile(r"http://127\.0\.0\.1:[0-9]{1,5}", re.ASCII)
OWN_PORTS = {"http": 80, "https": 443}


class Environment:
    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables

    def text(self, name: str, default: str = "") -> str:
        """An empty variable counts as unset: compose files and CI set them so."""
        return self._variables.get(name, "").strip() or default

    def flag(self, name: str, *, default: bool = False) -> bool:
        value = self.text(name, "1" if default else "0").lower()
        if value in TRUE:
            return True
        if value in FALSE:
            return False
        raise _refusal(name, value, "set it to 1 or 0")

    def number(self, name: str, default: int, *, least: int = 0, most: int = GREATEST) -> int:
        value = self.text(name, str(default))
        digits = value.isascii() and value.isdigit() and len(value) <= len(str(GREATEST))
        if not digits or not least <= int(value) <= most:
            raise _refusal(name, value, f"set it to a whole number from {least} to {most}")
        return int(value)

    def choice(self, name: str, default: str, choices: tuple[str, ...]) -> str:
        value = self.text(name, default).upper()
        if value not in choices:
            raise _refusal(name, value, f"set it to one of {', '.join(choices)}")
        return value

    def hosts(self, name: str) -> list[str]:
        return [self._host(name, part) for part in self._parts(name)]

    def wallets(self, name: str) -> list[str]:
        """Checksummed addresses; in another spelling a mistyped one would go unnoticed.

        One of a contract wallet begins with its chain's id and a colon.
        """
        wallets = self._parts(name)
        for each in wallets:
            chain, colon, address = each.rpartition(":")
            if not is_checksum_address(address) or (
                colon
                and (not re.fullmatch("[1-9][0-9]{0,18}", chain) or int(chain) > GREATEST_CHAIN_ID)
            ):
                raise _refusal(
                    name,
                    each,
                    "set it to addresses with their checksums (EIP-55), those of contract wallets "
                    "with their chain before them, such as 1:0x…",
                )
        return wallets

    def _parts(self, name: str) -> list[str]:
        return [part.strip() for part in self.text(name).split(",") if part.strip()]

    def secret(self, name: str, default: str = "") -> str:
        path = self.text(f"{name}_FILE")
        if not path:
            return self.text(name, default)
        if self.text(name):
            raise ImproperlyConfigured(f"{name} and {name}_FILE are both set; keep one of them.")
        file = f"The file that {name}_FILE names"
        try:
            content = Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{file} cannot be read: {error.strerror}.") from None
        except UnicodeDecodeError:
            raise ImproperlyConfigured(f"{file} is not UTF-8 text.") from None
        if not content:
            raise ImproperlyConfigured(f"{file} is empty.")
        return content

    def local_node(self, name: str, *, allowed: bool) -> str:
        """A node of this machine; its accounts are worth nothing elsewhere."""
        value = self.text(name)
        if not value:
            return ""
        if not allowed:
            raise ImproperlyConfigured(
                f"{name} lets everyone here sign in as one account. Unset it; it is for the demo."
            )
        if not LOCAL_NODE.fullmatch(value):
            raise _refusal(name, value, "set it to http://127.0.0.1:port")
        return value

    def origin(self, name: str, default: str, *, https: bool) -> tuple[str, str]:
        """The (origin, host) of an address such as https://proofs.example.org."""
        value = self.text(name, default).rstrip("/")
        if not value:
            raise ImproperlyConfigured(
                f"{name} is not set. Set it to the address people reach this service at, "
                "for example https://proofs.example.org."
            )
        try:
            parts = urlsplit(value)
            named, port = parts.hostname, parts.port
        except ValueError:
            named, port = None, None
        beside = value.lower().removeprefix(f"{parts.scheme}://") if named else ""
        if not named or beside != parts.netloc.lower() or "@" in value:
            raise _refusal(name, value, "set it to scheme://host[:port]")
        if parts.scheme != "https" and (https or parts.scheme != "http"):
            raise _refusal(name, value, "begin it with https:// (http:// needs DEVELOPMENT=1)")
        host = self._host(name, named)
        # Browsers leave out a scheme's default port; with it, our origin would not equal theirs.
        beyond = "" if port in {None, OWN_PORTS[parts.scheme]} else f":{port}"
        return f"{parts.scheme}://{host}{beyond}", host

    def _host(self, name: str, text: str) -> str:
        try:
            return host_name(text)
        except ValueError as error:
            raise _refusal(name, text, str(error)) from None


def is_broker(address: str) -> bool:
    """Whether Celery can parse it: Celery's error for any other address would repeat it."""
    try:
        parts = urlsplit(address)
        return parts.scheme in BROKERS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _refusal(name: str, value: str, wanted: str) -> ImproperlyConfigured:
    said = "is not understood" if "@" in value else f"is {value!r}"
    return ImproperlyConfigured(f"{name} {said}; {wanted}.")


NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")


def host_name(text: str) -> str:
    """The host in the form that requests carry. Raises a ValueError that says what is wrong."""
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
