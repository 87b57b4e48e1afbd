"""Read the operator's TOML file strictly; each error is a sentence that names the place.

No sentence repeats a node's address or the name of a secret file, which may be a secret by mistake.
"""

import re
import tomllib
from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

from eth_utils.address import is_checksum_address

MAX_NAME_LENGTH = 50


class RoutesFileError(Exception):
    """The routes file is missing or wrong; the sentence says where."""


def parse_toml(path: Path) -> object:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except OSError as error:
        where = (
            "Set it to the file that names the chains."
            if path.is_absolute()
            else "The path is relative to the working directory; use an absolute path."
        )
        raise RoutesFileError(f"ROUTES_FILE cannot be read: {error.strerror}. {where}") from None
    except tomllib.TOMLDecodeError as error:
        # Only the position, because the parser's message may quote the file.
        place = re.search(r"line \d+, column \d+", str(error))
        where = place[0] if place else "its end"
        raise RoutesFileError(f"ROUTES_FILE is not TOML: look at {where}.") from None
    except RecursionError:
        raise RoutesFileError("ROUTES_FILE is nested too deeply.") from None
    except UnicodeDecodeError:
        raise RoutesFileError("ROUTES_FILE is not UTF-8 text.") from None
    except ValueError:
        raise RoutesFileError("ROUTES_FILE holds a number that is too long.") from None


def read_name(place: str, name: object) -> str:
    if (
        not isinstance(name, str)
        or not name.isprintable()
        or name != name.strip()
        or not 0 < len(name) <= MAX_NAME_LENGTH
    ):
        refuse(place, f'it must be a text of 1 to {MAX_NAME_LENGTH} characters, such as "Ethereum"')
    return name


def read_node_address(place: str, entry: object, folder: Path) -> str:
    if isinstance(entry, dict):
        check_keys(place, entry, {"file"})
        entry = _read_secret(place, entry.get("file"), folder)
    if not isinstance(entry, str):
        refuse(place, 'it must be an address, or { file = "…" } that names a file with one')
    try:
        parts = urlsplit(entry)
        is_complete = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_complete = False
    if not is_complete or not re.fullmatch("[!-~]+", entry) or parts.fragment:
        refuse(place, "it is not an http or https address")
    return entry


def _read_secret(place: str, name: object, folder: Path) -> str:
    if not isinstance(name, str) or not name or "\0" in name:
        refuse(place, "file must name a file")
    try:
        content = (folder / name).read_text(encoding="utf-8").strip()
    except OSError as error:
        refuse(place, f"the file it names cannot be read: {error.strerror}")
    except UnicodeDecodeError:
        refuse(place, "the file it names is not UTF-8 text")
    if not content:
        refuse(place, "the file it names is empty")
    return content


def read_whole_number(place: str, value: object, max_value: int, min_value: int = 0) -> int:
    if type(value) is not int or not min_value <= value <= max_value:
        refuse(place, f"it must be a whole number from {min_value} to {max_value}")
    return value


def read_time(place: str, value: object) -> int:
    """A day or a time in TOML, such as 2027-12-31T00:00:00Z, or a number of seconds."""
    if type(value) is date:
        value = datetime.combine(value, time(), UTC)
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = int(value.timestamp())
    if type(value) is not int or value <= 0:
        refuse(place, "it must be a day, or a time with its zone, such as 2027-12-31T00:00:00Z")
    return value


def read_flag(place: str, value: object) -> bool:
    if not isinstance(value, bool):
        refuse(place, "it must be true or false")
    return value


def read_texts(place: str, value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        refuse(place, "it must be a list of texts")
    return value


def read_contract_address(place: str, value: object) -> str:
    """Read a checksummed address, so that a mistyped one is noticed."""
    if not isinstance(value, str) or not is_checksum_address(value):
        refuse(place, "it must be an address with its checksum (EIP-55)")
    return value


def read_site_address(place: str, value: object) -> str:
    """Read an address for links, without a slash at its end."""
    if not isinstance(value, str) or not re.fullmatch("https?://[A-Za-z0-9.:/_~-]+", value):
        refuse(place, "it must be an http or https address, such as https://etherscan.io")
    return value.rstrip("/")


def read_table(place: str, content: object) -> dict[str, Any]:
    if not isinstance(content, dict):
        refuse(place, "it must be a table")
    return content


def check_keys(place: str, table: Mapping[str, object], allowed: Collection[str]) -> None:
    for key in table:
        if key not in allowed:
            keys = ", ".join(sorted(allowed))
            refuse(place, f"{redact_key(key)} is unknown; the keys are {keys}")


def redact_key(key: str) -> str:
    """Hide a key that could be a node's address."""
    return key if re.fullmatch("[A-Za-z0-9_-]{1,24}", key) else "a key there"


def refuse(place: str, sentence: str) -> NoReturn:
    raise RoutesFileError(f"ROUTES_FILE, {place}: {sentence}.") from None
