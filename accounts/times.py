"""A moment as programs read it."""

from datetime import UTC, datetime


def iso(moment: datetime | int | None) -> str | None:
    """In UTC and whole seconds, such as 2026-11-20T07:41:03Z."""
    if moment is None:
        return None
    if isinstance(moment, int):
        moment = datetime.fromtimestamp(moment, UTC)
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
