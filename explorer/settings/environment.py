"""Parses environment variables. Raises ImproperlyConfigured, with a sentence, if one is invalid.

A secret may also be in the file that NAME_FILE names, as containers mount them. No error repeats
what may be a secret: a value that contains an `@`, or the value of NAME_FILE, which may be the
secret itself by mistake. So errors are raised `from None`.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from eth_utils.address import is_checksum_address

from accounts.secret_files import read_secret_file
from accounts.wallets import MAX_CHAIN_ID

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}
MAX_NUMBER = 2**31 - 1
BROKERS = {"amqp", "amqps", "redis", "rediss"}
LOCAL_NODE = re.compile(r"http://127\.0\.0\.1:[0-9]{1,5}", re.ASCII)
HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]{2,39}\]")
DEFAULT_PORTS = {"http": 80, "https": 443}


class Environment:
    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables

    def text(self, name: str, default: str = "") -> str:
        """An empty variable counts as unset, because compose files and CI set empty ones."""
        return self._variables.get(name, "").strip() or default

    def flag(self, name: str, *, default: bool = False) -> bool:
        value = self.text(name, "1" if default else "0").lower()
        if value in TRUE:
            return True
        if value in FALSE:
            return False
        raise _invalid_setting(name, value, "set it to 1 or 0")

    def number(
        self, name: str, default: int, *, minimum: int = 0, maximum: int = MAX_NUMBER
    ) -> int:
        value = self.text(name, str(default))
        digits = value.isascii() and value.isdigit() and len(value) <= len(str(MAX_NUMBER))
        if not digits or not minimum <= int(value) <= maximum:
            raise _invalid_setting(
                name, value, f"set it to a whole number from {minimum} to {maximum}"
            )
        return int(value)

    def choice(self, name: str, default: str, choices: tuple[str, ...]) -> str:
        value = self.text(name, default).upper()
        if value not in choices:
            raise _invalid_setting(name, value, f"set it to one of {', '.join(choices)}")
        return value

    def hosts(self, name: str) -> list[str]:
        return [self._host(name, part) for part in self._parts(name)]

    def wallets(self, name: str) -> list[str]:
        """Addresses with a checksum, which catches typing errors; 1:0x… is a contract wallet."""
        wallets = self._parts(name)
        for wallet in wallets:
            chain, colon, address = wallet.rpartition(":")
            is_chain = re.fullmatch("[1-9][0-9]{0,18}", chain) and int(chain) <= MAX_CHAIN_ID
            if not is_checksum_address(address) or (colon and not is_chain):
                raise _invalid_setting(
                    name,
                    wallet,
                    "set it to addresses with their checksums (EIP-55); put the chain before a "
                    "contract wallet's address, such as 1:0x…",
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
        try:
            return read_secret_file(Path(path))
        except ValueError as error:
            raise ImproperlyConfigured(f"The file that {name}_FILE names {error}.") from None

    def local_node(self, name: str, *, is_allowed: bool) -> str:
        """The URL of a node on this machine."""
        value = self.text(name)
        if not value:
            return ""
        if not is_allowed:
            raise ImproperlyConfigured(
                f"{name} is only for the demo: it lets everyone sign in as one account. Unset it."
            )
        if not LOCAL_NODE.fullmatch(value):
            raise _invalid_setting(name, value, "set it to http://127.0.0.1:port")
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
            host, port = parts.hostname, parts.port
        except ValueError:
            raise _invalid_setting(name, value, "set it to scheme://host[:port]") from None
        is_origin = value.lower() == f"{parts.scheme}://{parts.netloc}".lower()
        if not host or not is_origin or "@" in value:
            raise _invalid_setting(name, value, "set it to scheme://host[:port]")
        if parts.scheme != "https" and (https or parts.scheme != "http"):
            raise _invalid_setting(
                name, value, "begin it with https:// (http:// needs DEVELOPMENT=1)"
            )
        host = self._host(name, f"[{host}]" if ":" in host else host)
        # Browsers omit the scheme's default port from origins.
        suffix = "" if port in {None, DEFAULT_PORTS[parts.scheme]} else f":{port}"
        return f"{parts.scheme}://{host}{suffix}", host

    def link(self, name: str, schemes: tuple[str, ...]) -> str:
        """An absolute URL for pages; empty if it is not set."""
        value = self.text(name)
        is_link = value.startswith(tuple(f"{scheme}:" for scheme in schemes))
        if value and not (is_link and value.isascii() and value.isprintable() and " " not in value):
            raise _invalid_setting(
                name, value, f"set it to one address that begins with {' or '.join(schemes)}:"
            )
        return value

    def _host(self, name: str, text: str) -> str:
        """A host as requests name it."""
        host = text.lower()
        if not HOST.fullmatch(host) or ".." in host:
            raise _invalid_setting(
                name,
                text,
                "a host is letters, digits, hyphens and dots, or an IP address; IPv6 is written in "
                "brackets, and other alphabets as xn--…",
            )
        return host


def is_broker(address: str) -> bool:
    """Check that Celery can parse the address; Celery's own error would repeat its password."""
    try:
        parts = urlsplit(address)
        return parts.scheme in BROKERS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _invalid_setting(name: str, value: str, advice: str) -> ImproperlyConfigured:
    problem = "is not understood" if "@" in value else f"is {value!r}"
    return ImproperlyConfigured(f"{name} {problem}; {advice}.")
