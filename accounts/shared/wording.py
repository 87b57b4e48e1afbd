"""Numbers, moments and quoted texts in sentences for people."""

from collections.abc import Iterable
from datetime import UTC, datetime


def counted(number: int, one: str, many: str = "") -> str:
    """Such as `1 block` and `2,048 blocks`; `many` where an s does not make it."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def beginning(text: str) -> str:
    """As much of what others wrote as one of our sentences quotes."""
    return text[:200]


LATEST = 253_402_300_799  # seconds: the last ones of the year 9999


def moment_of(seconds: int) -> datetime | None:
    """None where no calendar has it: a block may claim any number for its time."""
    return datetime.fromtimestamp(seconds, UTC) if seconds <= LATEST else None


def utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def spoken(seconds: int) -> str:
    """Such as 2026-11-20 07:41:03 UTC, of any number that a block may have for its time."""
    moment = moment_of(seconds)
    return utc(moment) if moment else f"second {seconds}"


MOST_QUOTED = 70  # a whole 32-byte word in hex has 66
_BOUNDARY = "…"


def shortened(text: str, most: int = MOST_QUOTED) -> str:
    """Both ends of a long text: they distinguish addresses and hashes."""
    if len(text) <= most:
        return text
    end = (most - len(_BOUNDARY)) // 2
    return f"{text[:-end][: most - len(_BOUNDARY) - end]}{_BOUNDARY}{text[-end:]}"


def legible(text: str) -> str:
    """A short form of any text, its unseen characters written as escapes."""
    seen = (
        letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in shortened(text)
    )
    return shortened("".join(seen))


def quoted(text: str) -> str:
    return f'"{legible(text)}"'


def listed(names: Iterable[object]) -> str:
    *first, last = map(str, names)
    return f"{', '.join(first)} and {last}" if first else last


def kind_of(value: object) -> str:
    """What a JSON value is called where another kind was expected."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    kinds: dict[type, str] = {dict: "an object", list: "a list", str: "text"}
    return kinds.get(type(value), "a number")
