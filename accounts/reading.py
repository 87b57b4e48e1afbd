"""What the dashboard shows of an account: the only way pages read this app."""

from dataclasses import dataclass
from datetime import UTC, datetime

from accounts.keys import manage
from accounts.models import Account, ApiKey
from accounts.shared.rate_limits import Use, uses
from accounts.sign_in.sessions import sessions_of, stored_key


@dataclass(frozen=True, slots=True)
class KeyView:
    """A key as its owner sees it."""

    id: str
    name: str
    version: int
    key: str | None  # whole, or None where it cannot be shown any more
    created: datetime
    last_used: datetime | None
    requests_today: int
    requests_total: int
    previous_until: datetime | None
    revoked: datetime | None


@dataclass(frozen=True, slots=True)
class SessionView:
    """A browser that is signed in."""

    id: str
    browser: str
    signed_in: datetime | None
    last_seen: datetime | None
    is_this: bool


@dataclass(frozen=True, slots=True)
class KeyChoice:
    """A key that works, where one is to be chosen."""

    id: str
    name: str
    text: str | None  # whole, or None where it cannot be shown any more


REVOKED_SHOWN = 20


def keys_to_choose(account: Account) -> tuple[KeyChoice, ...]:
    """In one statement."""
    living = account.keys.filter(revoked=None).order_by("created", "pk")
    return tuple(KeyChoice(key.id, key.name, manage.shown(key)) for key in living)


def keys_of(account: Account) -> tuple[list[KeyView], list[KeyView]]:
    """Those that work, and those that were revoked last."""
    living = list(account.keys.filter(revoked=None).order_by("created", "pk"))
    revoked = list(account.keys.exclude(revoked=None).order_by("-revoked")[:REVOKED_SHOWN])
    used = uses([manage.subject(key) for key in living + revoked])
    views = [_key(key, used[manage.subject(key)]) for key in living + revoked]
    return views[: len(living)], views[len(living) :]


def sessions_shown(account: Account, session_key: str | None) -> list[SessionView]:
    """`session_key`: of the browser that asks."""
    return [
        SessionView(
            row.session_key,
            row.browser or "A browser",
            row.signed_in,
            row.last_seen,
            row.session_key == stored_key(session_key),
        )
        for row in sessions_of(account)
    ]


def _key(key: ApiKey, use: Use) -> KeyView:
    until = key.previous_until
    return KeyView(
        id=key.id,
        name=key.name,
        version=key.version,
        key=None if key.revoked else manage.shown(key),
        created=key.created,
        last_used=None if use.last is None else datetime.fromtimestamp(use.last, UTC),
        requests_today=use.today,
        requests_total=use.total,
        previous_until=until if until and until > datetime.now(UTC) else None,
        revoked=key.revoked,
    )
