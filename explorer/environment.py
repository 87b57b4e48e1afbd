"""How a setting's text becomes a value, and what is said where it cannot.

A secret may also stand in the file that NAME_FILE names, as containers mount them. No refusal
repeats a secret.
"""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}


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
        raise ImproperlyConfigured(f"{name} is {value!r}; set it to 1 or 0.")

    def number(self, name: str, default: int, *, least: int = 0) -> int:
        value = self.text(name, str(default))
        if not (value.isascii() and value.isdigit()) or int(value) < least:
            raise ImproperlyConfigured(f"{name} is {value!r}; set it to a whole number >= {least}.")
        return int(value)

    def choice(self, name: str, default: str, choices: tuple[str, ...]) -> str:
        value = self.text(name, default).upper()
        if value not in choices:
            raise ImproperlyConfigured(f"{name} is {value!r}; set it to {', '.join(choices)}.")
        return value

    def names(self, name: str) -> list[str]:
        return [part for part in (part.strip() for part in self.text(name).split(",")) if part]

    def secret(self, name: str, default: str = "") -> str:
        path = self.text(f"{name}_FILE")
        if not path:
            return self.text(name, default)
        if self.text(name):
            raise ImproperlyConfigured(f"{name} and {name}_FILE are both set; keep one of them.")
        try:
            content = Path(path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
            raise ImproperlyConfigured(f"{name}_FILE: {path} cannot be read: {reason}.") from error
        if not content:
            raise ImproperlyConfigured(f"{name}_FILE: {path} is empty.")
        return content

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
            host, _ = parts.hostname, parts.port
        except ValueError:
            host = None
        if not host or value != f"{parts.scheme}://{parts.netloc}" or "@" in parts.netloc:
            raise ImproperlyConfigured(f"{name} is {value!r}; set it to scheme://host[:port].")
        if parts.scheme != "https" and (https or parts.scheme != "http"):
            raise ImproperlyConfigured(f"{name} is {value!r}; outside development it is https.")
        return value, f"[{host}]" if ":" in host else host
