"""Numbers and moments in words."""

from datetime import UTC, datetime


def counted(number: int, one: str, many: str = "") -> str:
    """Such as `1 block` and `2,048 blocks`; `many` where an s does not make it."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


LATEST = 253_402_300_799  # seconds: the last ones of the year 9999


def iso(moment: datetime | int | None) -> str | None:
    """In UTC and whole seconds, such as 2026-11-20T07:41:03Z."""
    if moment is None:
        return None
    if isinstance(moment, int):
        moment = datetime.fromtimestamp(moment, UTC)
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def spoken(seconds: int) -> str:
    """Such as 2026-11-20 07:41:03 UTC, of any number that a block may have for its time."""
    if seconds > LATEST:
        return f"second {seconds}"
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
