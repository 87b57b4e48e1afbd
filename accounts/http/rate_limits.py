"""Rate limits that are exact across processes and machines.

A subject, such as a key, has a number of uses in a window of time, which begins with a use. One SQL
statement checks the limit and counts the use, so concurrent requests cannot both take the last one.
The time is the database's, because the clocks of workers differ.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from django.conf import settings
from django.db import connection
from django.http import HttpRequest

from accounts.http.errors import ErrorCode, RefusalError
from accounts.models import UsageCounter
from accounts.wording import DAY, MINUTE, format_count

LOCK_TIMEOUT = 5  # seconds


@contextmanager
def short_lock_timeout() -> Iterator[None]:
    """Wait at most LOCK_TIMEOUT for SQLite's lock; then the answer is 503.

    Every request is counted, so waiting 20 seconds, as usual, would block all threads.
    """
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    _set_lock_timeout(LOCK_TIMEOUT)
    try:
        yield
    finally:
        _set_lock_timeout(connection.settings_dict["OPTIONS"].get("timeout", 5))


def _set_lock_timeout(seconds: float) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {int(seconds * 1_000)}")


CLOCK = {
    "sqlite": "CAST(strftime('%%s', 'now') AS INTEGER)",
    "postgresql": "CAST(FLOOR(EXTRACT(EPOCH FROM CLOCK_TIMESTAMP())) AS BIGINT)",
}
# A window that begins in the future has ended too: the clock was set back.
WINDOW_ENDED = "(excluded.window_start - stored.window_start NOT BETWEEN 0 AND %(seconds)s - 1)"
COUNT_USE = f"""
    INSERT INTO accounts_usagecounter AS stored
        (subject, window_start, window_count, day, day_count, total_count, last_used)
    SELECT %(subject)s, now, %(weight)s, now / {DAY}, 1, 1, now
    FROM (SELECT {{clock}} AS now) AS clock
    WHERE %(weight)s <= %(limit)s
    ON CONFLICT (subject) DO UPDATE SET
        window_start =
            CASE WHEN {WINDOW_ENDED} THEN excluded.window_start ELSE stored.window_start END,
        window_count = %(weight)s + CASE WHEN {WINDOW_ENDED} THEN 0 ELSE stored.window_count END,
        day = excluded.day,
        day_count = CASE WHEN stored.day = excluded.day THEN stored.day_count + 1 ELSE 1 END,
        total_count = stored.total_count + 1,
        last_used = excluded.last_used
    WHERE {WINDOW_ENDED} OR stored.window_count + %(weight)s <= %(limit)s
    RETURNING window_count, window_start, last_used, total_count
"""  # noqa: S608  (of constants alone)


@dataclass(frozen=True, slots=True)
class Quota:
    """Whether a use was allowed, and how many are left in its window."""

    is_allowed: bool
    limit: int
    remaining: int
    seconds_left: int

    @property
    def used_count(self) -> int:
        return self.limit - self.remaining

    @property
    def headers(self) -> Mapping[str, str]:
        headers = {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(self.seconds_left),
        }
        return headers if self.is_allowed else headers | {"Retry-After": str(self.seconds_left)}


def use_quota(subject: str, limit: int, seconds: int, weight: int = 1) -> Quota:
    """Take `weight` of the `limit` uses that `subject` has in a window, if that many are left."""
    parameters: dict[str, str | int] = {
        "subject": subject,
        "limit": limit,
        "seconds": seconds,
        "weight": weight,
    }
    with short_lock_timeout(), connection.cursor() as cursor:
        cursor.execute(COUNT_USE.format(clock=CLOCK[connection.vendor]), parameters)
        row = cursor.fetchone()
    if row is None:
        seconds_left = read_quota(subject, limit, seconds).seconds_left
        return Quota(is_allowed=False, limit=limit, remaining=0, seconds_left=seconds_left)
    window_count, start, now, total_count = row
    if total_count == 1:
        _delete_unused(now)
    remaining, seconds_left = limit - window_count, start + seconds - now
    return Quota(is_allowed=True, limit=limit, remaining=remaining, seconds_left=seconds_left)


def refuse_over_quota(quota: Quota, code: ErrorCode, sentence: str) -> None:
    """Refuse the request if its use was not allowed, and say when to try again."""
    if not quota.is_allowed:
        seconds = quota.seconds_left
        minutes = -(-seconds // MINUTE)
        wait = format_count(minutes, "minute") if minutes > 1 else format_count(seconds, "second")
        raise RefusalError(
            code, f"{sentence} Try again in {wait}.", headers={"Retry-After": str(seconds)}
        )


def database_now() -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {CLOCK[connection.vendor]}", {})
        (now,) = cursor.fetchone()
    return int(now)


def _delete_unused(now: int) -> None:
    """Delete rows not used for a day, except those of keys, whose last use is shown on pages."""
    unused_rows = UsageCounter.objects.filter(last_used__lt=now - DAY)
    unused_rows.exclude(subject__startswith=KEY_SUBJECT_PREFIX).delete()


KEY_SUBJECT_PREFIX = "key "


@dataclass(frozen=True, slots=True)
class KeyUsage:
    this_minute: int
    today: int
    total: int
    last: datetime | None


def usage_by_subject(subjects: list[str]) -> dict[str, KeyUsage]:
    rows, now = UsageCounter.objects.in_bulk(subjects), database_now()
    return {
        subject: KeyUsage(
            row.window_count if 0 <= now - row.window_start < MINUTE else 0,
            row.day_count if row.day == now // DAY else 0,
            row.total_count,
            datetime.fromtimestamp(row.last_used, UTC),
        )
        if (row := rows.get(subject))
        else KeyUsage(0, 0, 0, None)
        for subject in subjects
    }


def read_quota(subject: str, limit: int, seconds: int) -> Quota:
    """Read what is left of a limit without using it; all of it, if the window has ended."""
    row, now = UsageCounter.objects.filter(pk=subject).first(), database_now()
    seconds_left = row.window_start + seconds - now if row else 0
    if row is None or not 0 < seconds_left <= seconds:
        return Quota(is_allowed=True, limit=limit, remaining=limit, seconds_left=seconds)
    remaining = max(limit - row.window_count, 0)
    return Quota(
        is_allowed=remaining > 0, limit=limit, remaining=remaining, seconds_left=seconds_left
    )


# A subscriber has at least a /64, whose addresses share one allowance.
IPV6_PREFIX = 64
IpAddress = IPv4Address | IPv6Address


def client_network(request: HttpRequest) -> str:
    """The client's IPv4 address or IPv6 network, or `unknown` if it cannot be read."""
    peer = str(request.META.get("REMOTE_ADDR", ""))
    address = _forwarded_for(request) or _parse_address(peer)
    if address is None:
        return "unknown"
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return str(ip_network((int(address), IPV6_PREFIX), strict=False))
    return str(address)


def _forwarded_for(request: HttpRequest) -> IpAddress | None:
    """The last address, which the operator's proxy added: a client can forge the others."""
    if not settings.BEHIND_PROXY:
        return None
    return _parse_address(request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip())


def _parse_address(text: str) -> IpAddress | None:
    """Parse an address as proxies write it: alone, with a port, or in brackets."""
    match = re.fullmatch(r"\[(?P<six>[^]]*)\](?::\d+)?|(?P<four>[\d.]+):\d+", text)
    try:
        return ip_address((match["six"] or match["four"]) if match else text)
    except ValueError:
        return None
