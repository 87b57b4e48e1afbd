"""Limits that hold however many processes and machines ask at once.

A subject, such as a key, may do so much in a window of time; the window begins with its first use
after the last one ended. A single SQL statement both checks the limit and counts the use,
so two concurrent requests cannot both take the last one; if the database does not answer,
nothing is allowed. Time is the database's, because the clocks of workers differ.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from django.conf import settings
from django.db import connection
from django.http import HttpRequest

from accounts.models import Allowance
from accounts.shared.errors import TOO_MANY_ATTEMPTS, Code, Refusal
from accounts.shared.wording import counted
from accounts.sign_in.siwe import browser_digest
from accounts.sign_in.wallets import Wallet

WAIT_SECONDS = 2


@contextmanager
def waiting_briefly() -> Iterator[None]:
    """Every request is counted, so each one blocks a thread while SQLite's lock is held.

    If all waited for 20 seconds, the server would answer nothing, not even a probe. So after
    a short wait the answer is 503.
    """
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    _wait(WAIT_SECONDS)
    try:
        yield
    finally:
        _wait(connection.settings_dict["OPTIONS"].get("timeout", 5))


def _wait(seconds: float) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {int(seconds * 1_000)}")


DAY = 86_400

CLOCK = {
    "sqlite": "CAST(strftime('%%s', 'now') AS INTEGER)",
    "postgresql": "CAST(FLOOR(EXTRACT(EPOCH FROM CLOCK_TIMESTAMP())) AS BIGINT)",
}
# A window that begins in the future has ended too: the clock was set back since.
ENDED = "(excluded.window_began - held.window_began NOT BETWEEN 0 AND %(seconds)s - 1)"
SPEND = f"""
    INSERT INTO accounts_allowance AS held
        (subject, window_began, window_used, day, day_used, used, last_used)
    SELECT %(subject)s, now, %(weight)s, now / {DAY}, 1, 1, now
    FROM (SELECT {{clock}} AS now) AS clock
    WHERE %(weight)s <= %(most)s
    ON CONFLICT (subject) DO UPDATE SET
        window_began = CASE WHEN {ENDED} THEN excluded.window_began ELSE held.window_began END,
        window_used = %(weight)s + CASE WHEN {ENDED} THEN 0 ELSE held.window_used END,
        day = excluded.day,
        day_used = CASE WHEN held.day = excluded.day THEN held.day_used + 1 ELSE 1 END,
        used = held.used + 1,
        last_used = excluded.last_used
    WHERE {ENDED} OR held.window_used + %(weight)s <= %(most)s
    RETURNING window_used, window_began, last_used, used
"""  # noqa: S608  (of constants alone)


@dataclass(frozen=True, slots=True)
class Spent:
    """What became of one use, and what is left in its window."""

    allowed: bool
    most: int
    remaining: int
    seconds_left: int

    @property
    def headers(self) -> Mapping[str, str]:
        headers = {
            "RateLimit-Limit": str(self.most),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(self.seconds_left),
        }
        return headers if self.allowed else headers | {"Retry-After": str(self.seconds_left)}


def spend(subject: str, most: int, seconds: int, weight: int = 1) -> Spent:
    """Take `weight` of the `most` uses that `subject` has in a window, if so many are left."""
    parameters: dict[str, str | int] = {"subject": subject, "most": most, "seconds": seconds}
    parameters["weight"] = weight
    with waiting_briefly(), connection.cursor() as cursor:
        cursor.execute(SPEND.format(clock=CLOCK[connection.vendor]), parameters)
        row = cursor.fetchone()
    if row is None:
        return Spent(allowed=False, most=most, remaining=0, seconds_left=_left(subject, seconds))
    window_used, began, now, used = row
    if used == 1:
        _forget_the_idle(now)
    return Spent(
        allowed=True, most=most, remaining=most - window_used, seconds_left=began + seconds - now
    )


def refuse_above(spent: Spent, kind: Code, said: str) -> None:
    """Refuse the use if it is one too many, and say when to try again."""
    if not spent.allowed:
        raise Refusal(
            kind,
            f"{said} Try again in {counted(spent.seconds_left, 'second')}.",
            headers={"Retry-After": str(spent.seconds_left)},
        )


def _left(subject: str, seconds: int) -> int:
    held = Allowance.objects.values_list("window_began", flat=True)
    began = held.filter(subject=subject).first()
    if began is None:  # `weight` is above `most`: no row was stored
        return seconds
    return int(min(max(began + seconds - database_now(), 1), seconds))


def database_now() -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {CLOCK[connection.vendor]}", {})
        (now,) = cursor.fetchone()
    return int(now)


def _forget_the_idle(now: int) -> None:
    """Delete rows not used for a day, whenever a new subject is counted.

    Rows of keys stay, because pages show when a key was last used.
    """
    idle = Allowance.objects.filter(last_used__lt=now - DAY)
    idle.exclude(subject__startswith=KEY_SUBJECT).delete()


KEY_SUBJECT = "key "


@dataclass(frozen=True, slots=True)
class Use:
    """How much a key was used so far."""

    today: int
    total: int
    last: int | None  # unix seconds


def uses(subjects: list[str]) -> dict[str, Use]:
    """The use of each of these subjects."""
    held = Allowance.objects.in_bulk(subjects)
    today = database_now() // DAY
    return {
        subject: Use(row.day_used if row.day == today else 0, row.used, row.last_used)
        if (row := held.get(subject))
        else Use(0, 0, None)
        for subject in subjects
    }


# A subscriber has at least such a network; each address of it shares one allowance.
IPV6_NETWORK = 64
Address = IPv4Address | IPv6Address


def client_network(request: HttpRequest) -> str:
    """The client's IPv4 address or IPv6 network, and `unknown` where none can be read."""
    peer = str(request.META.get("REMOTE_ADDR", ""))
    address = _forwarded_for(request) or _read(peer)
    if address is None:
        return "unknown"
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return str(ip_network((int(address), IPV6_NETWORK), strict=False))
    return str(address)


def _forwarded_for(request: HttpRequest) -> Address | None:
    """Behind a proxy, the last address, which the proxy added: a client can forge the others."""
    if not settings.BEHIND_PROXY:
        return None
    return _read(request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip())


def _read(text: str) -> Address | None:
    """An address as proxies write it: alone, with a port, or in brackets."""
    match = re.fullmatch(r"\[(?P<six>[^]]*)\](?::\d+)?|(?P<four>[\d.]+):\d+", text)
    try:
        return ip_address((match["six"] or match["four"]) if match else text)
    except ValueError:
        return None


WINDOW = 600  # seconds
OF_A_NETWORK, OF_A_BROWSER, OF_A_WALLET = 200, 30, 30
QUESTIONS_OF_A_NETWORK, PASSWORDS_OF_A_NETWORK = 20, 30
FROM_HERE = "from this IP address"  # or IPv6 /64; "network" would read as the wallet's chain


def count_attempt(request: HttpRequest) -> None:
    _count(f"sign-in from {client_network(request)}", OF_A_NETWORK, FROM_HERE)
    if browser := browser_digest(request):
        _count(f"sign-in by {browser}", OF_A_BROWSER, "in this browser")


def count_message(request: HttpRequest) -> None:
    _count(f"message to {client_network(request)}", OF_A_NETWORK, FROM_HERE)


def count_password(request: HttpRequest) -> None:
    most = PASSWORDS_OF_A_NETWORK
    _count(f"password from {client_network(request)}", most, FROM_HERE)


def count_question(request: HttpRequest) -> None:
    most, whose = QUESTIONS_OF_A_NETWORK, f"with contract wallets {FROM_HERE}"
    _count(f"question from {client_network(request)}", most, whose)


def count_signed(wallet: Wallet) -> None:
    _count(f"sign-in as {wallet}", OF_A_WALLET, "with this wallet")


def _count(subject: str, most: int, whose: str) -> None:
    said = f"There were {most} attempts {whose} in ten minutes."
    refuse_above(spend(subject, most, WINDOW), TOO_MANY_ATTEMPTS, said)
