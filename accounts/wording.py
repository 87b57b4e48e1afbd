"""Formats numbers, times and quoted texts for sentences."""

from collections.abc import Iterable
from datetime import UTC, datetime

MINUTE, HOUR, DAY = 60, 3_600, 86_400


def format_count(number: int, singular: str, plural: str = "") -> str:
    """Such as `1 block` and `2,048 blocks`."""
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"


def format_duration(seconds: int) -> str:
    """Such as `90 seconds` and `2 hours`."""
    for unit, length in (("day", DAY), ("hour", HOUR), ("minute", MINUTE)):
        if seconds >= 2 * length:
            return format_count(seconds // length, unit)
    return format_count(seconds, "second")


def excerpt(text: str) -> str:
    """Limit a node's or client's text to what a sentence quotes."""
    return text[:200]


MAX_TIMESTAMP = 253_402_300_799  # the last second of the year 9999


def datetime_from_unix(seconds: int) -> datetime | None:
    """None above the year 9999: a block may claim any number as its timestamp."""
    return datetime.fromtimestamp(seconds, UTC) if seconds <= MAX_TIMESTAMP else None


def format_utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def format_timestamp(seconds: int) -> str:
    """Format any block timestamp, such as 2026-11-20 07:41:03 UTC."""
    moment = datetime_from_unix(seconds)
    return format_utc(moment) if moment else f"second {seconds}"


MAX_QUOTED_LENGTH = 70  # a whole 32-byte word in hex has 66
_ELLIPSIS = "…"


def truncate_middle(text: str, max_length: int = MAX_QUOTED_LENGTH) -> str:
    """Keep both ends of a long text, because they distinguish addresses and hashes."""
    if len(text) <= max_length:
        return text
    end = (max_length - len(_ELLIPSIS)) // 2
    return f"{text[:-end][: max_length - len(_ELLIPSIS) - end]}{_ELLIPSIS}{text[-end:]}"


def escape_unprintable(text: str) -> str:
    """Shorten a text and escape its unprintable characters."""
    letters = (
        letter if letter.isprintable() else f"\\u{ord(letter):04x}"
        for letter in truncate_middle(text)
    )
    return truncate_middle("".join(letters))


def quote_text(text: str) -> str:
    return f'"{escape_unprintable(text)}"'


def join_names(names: Iterable[object]) -> str:
    *first, last = map(str, names)
    return f"{', '.join(first)} and {last}" if first else last


def json_kind(value: object) -> str:
    """Name the kind of a JSON value, for sentences about an unexpected one."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    kinds: dict[type, str] = {dict: "an object", list: "a list", str: "text"}
    return kinds.get(type(value), "a number")
