"""Times that visitors type."""

import re
from datetime import UTC, datetime

_TIME = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[t ]+(\d{2}:\d{2}(?::\d{2})?))? *(?:z|utc)?", re.ASCII)


def parse_utc(text: str) -> int | None:
    """Parse a time in UTC to Unix seconds; None if it is none. A date alone means its midnight.

    Such as 2026-11-25, 2026-11-25 17:04 and 2026-11-25T17:04:17Z.
    """
    match = _TIME.fullmatch(text.strip().lower())
    if match is None:
        return None
    try:
        moment = datetime.fromisoformat(f"{match[1]}T{match[2] or '00:00:00'}")
    except ValueError:
        return None
    return int(moment.replace(tzinfo=UTC).timestamp())
