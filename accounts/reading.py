"""Read models of the dashboard; pages read this app only through them."""

from dataclasses import dataclass
from datetime import UTC, datetime

from accounts.keys import manage
from accounts.models import Account, ApiKey
from accounts.shared.rate_limits import KeyUsage, usage_by_subject
from accounts.sign_in.sessions import active_sessions, session_digest


@dataclass(frozen=True, slots=True)
class KeyView:
    id: str
    name: str
    version: int
    key: str | None  # None if revoked or no longer derivable
    created_at: datetime
    last_used: datetime | None
    requests_this_minute: int
    requests_today: int
    requests_total: int
    previous_until: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class SessionView:
    id: str
    browser: str
    signed_in_at: datetime | None
    last_seen: datetime | None
    is_this: bool


@dataclass(frozen=True, slots=True)
class KeyChoice:
    """A working key in a list to choose from."""

    id: str
    name: str
    text: str | None  # None if no longer derivable


MAX_REVOKED_LISTED = 20


def key_choices(account: Account) -> tuple[KeyChoice, ...]:
    active = account.keys.filter(revoked_at=None).order_by("created_at", "pk")
    return tuple(KeyChoice(key.id, key.name, manage.reveal(key)) for key in active)


def key_views(account: Account) -> tuple[list[KeyView], list[KeyView]]:
    """The working keys, and those revoked last."""
    active = list(account.keys.filter(revoked_at=None).order_by("created_at", "pk"))
    newest_revoked = account.keys.exclude(revoked_at=None).order_by("-revoked_at")
    revoked = list(newest_revoked[:MAX_REVOKED_LISTED])
    usage = usage_by_subject([manage.usage_subject(key) for key in active + revoked])
    views = [_key_view(key, usage[manage.usage_subject(key)]) for key in active + revoked]
    return views[: len(active)], views[len(active) :]


def session_views(account: Account, session_key: str | None) -> list[SessionView]:
    """`session_key` is that of the requesting browser."""
    return [
        SessionView(
            row.session_key,
            row.browser or "A browser",
            row.signed_in_at,
            row.last_seen,
            row.session_key == session_digest(session_key),
        )
        for row in active_sessions(account)
    ]


def _key_view(key: ApiKey, usage: KeyUsage) -> KeyView:
    grace_ends = key.previous_until
    return KeyView(
        id=key.id,
        name=key.name,
        version=key.version,
        key=None if key.revoked_at else manage.reveal(key),
        created_at=key.created_at,
        last_used=None if usage.last is None else datetime.fromtimestamp(usage.last, UTC),
        requests_this_minute=usage.this_minute,
        requests_today=usage.today,
        requests_total=usage.total,
        previous_until=grace_ends if grace_ends and grace_ends > datetime.now(UTC) else None,
        revoked_at=key.revoked_at,
    )
