"""Formats numbers, times and quoted texts for sentences."""

from collections.abc import Iterable
from datetime import UTC, datetime


def counted(number: int, singular: str, plural: str = "") -> str:
    """Such as `1 block` and `2,048 blocks`."""
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"


def beginning(text: str) -> str:
    """Limit a node's or client's text to what a sentence quotes."""
    return text[:200]


MAX_TIMESTAMP = 253_402_300_799  # the last second of the year 9999


def moment_of(seconds: int) -> datetime | None:
    """None above the year 9999: a block may claim any number as its timestamp."""
    return datetime.fromtimestamp(seconds, UTC) if seconds <= MAX_TIMESTAMP else None


def utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def spoken(seconds: int) -> str:
    """Format any block timestamp, such as 2026-11-20 07:41:03 UTC."""
    moment = moment_of(seconds)
    return utc(moment) if moment else f"second {seconds}"


MAX_QUOTED = 70  # a whole 32-byte word in hex has 66
_ELLIPSIS = "…"


def shortened(text: str, max_length: int = MAX_QUOTED) -> str:
    """Keep both ends of a long text, because they distinguish addresses and hashes."""
    if len(text) <= max_length:
        return text
    end = (max_length - len(_ELLIPSIS)) // 2
    return f"{text[:-end][: max_length - len(_ELLIPSIS) - end]}{_ELLIPSIS}{text[-end:]}"


def legible(text: str) -> str:
    """Shorten a text and escape its unprintable characters."""
    escaped = (
        letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in shortened(text)
    )
    return shortened("".join(escaped))


def quoted(text: str) -> str:
    return f'"{legible(text)}"'


def listed(names: Iterable[object]) -> str:
    *first, last = map(str, names)
    return f"{', '.join(first)} and {last}" if first else last


def kind_of(value: object) -> str:
    """Name the kind of a JSON value, for sentences about an unexpected one."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    kinds: dict[type, str] = {dict: "an object", list: "a list", str: "text"}
    return kinds.get(type(value), "a number")
