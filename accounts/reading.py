"""Read models of the dashboard; pages read this app only through them."""

from dataclasses import dataclass

from accounts.keys import manage
from accounts.models import Account, ApiKey, Session
from accounts.shared.rate_limits import KeyUsage, usage_by_subject
from accounts.sign_in.sessions import active_sessions, session_digest


@dataclass(frozen=True, slots=True)
class KeyView:
    row: ApiKey
    text: str | None  # None if revoked or no longer derivable
    usage: KeyUsage


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
    keys = active + list(newest_revoked[:MAX_REVOKED_LISTED])
    usage = usage_by_subject([manage.usage_subject(key) for key in keys])
    views = [
        KeyView(
            key, None if key.revoked_at else manage.reveal(key), usage[manage.usage_subject(key)]
        )
        for key in keys
    ]
    return views[: len(active)], views[len(active) :]


def session_views(account: Account, session_key: str | None) -> list[tuple[Session, bool]]:
    """The sessions, and whether each is that of the requesting browser, by its `session_key`."""
    own = session_digest(session_key)
    return [(row, row.session_key == own) for row in active_sessions(account)]
