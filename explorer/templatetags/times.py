"""Moments as people speak of them, with the exact one at hand."""

from datetime import UTC, datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()

MINUTE, HOUR, DAY = 60, 3600, 86_400
UNITS = ((365 * DAY, "year"), (30 * DAY, "month"), (DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"))


@register.simple_tag
def ago(moment: datetime) -> SafeString:
    """`3 minutes ago` or `in 2 hours`; the exact time in UTC where it is pointed at."""
    exact = moment.astimezone(UTC)
    return format_html(
        '<time class="moment" datetime="{}" tabindex="0">'
        '{}<span class="exact">{} UTC</span></time>',
        exact.strftime("%Y-%m-%dT%H:%M:%SZ"),
        in_words((timezone.now() - moment).total_seconds()),
        exact.strftime("%Y-%m-%d %H:%M:%S"),
    )


def in_words(seconds: float) -> str:
    """How long ago that many seconds are, or how soon where they are negative."""
    far = int(abs(seconds))
    if far < 1:
        return "now"
    length, unit = next(((length, unit) for length, unit in UNITS if far >= length), (1, "second"))
    count = far // length
    words = f"{count} {unit}{'' if count == 1 else 's'}"
    return f"{words} ago" if seconds > 0 else f"in {words}"


@register.filter
def utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


@register.filter
def moment_of(seconds: int) -> datetime | None:
    """A block's timestamp as a moment; none that a calendar has where a chain claims nonsense."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


@register.filter
def clock(moment: datetime | None) -> str:
    """The time of day, which is enough beside a date; empty where there is none."""
    return f"{moment.astimezone(UTC):%H:%M:%S}" if moment else ""


@register.filter
def since(moment: datetime, before: datetime) -> str:
    """`0.6 s`, `12 s` or `3 min 20 s`."""
    seconds = max((moment - before).total_seconds(), 0)
    if seconds < 10:  # noqa: PLR2004
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
