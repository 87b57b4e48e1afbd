"""A moment as programs read it, and seconds as people do."""

from datetime import UTC, datetime

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
