"""Numbers and moments in words."""

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
