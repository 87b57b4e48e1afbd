"""Read models of the dashboard; pages read this app only through them."""

from dataclasses import dataclass, replace

from accounts.http.rate_limits import KeyUsage, usage_by_subject
from accounts.keys import manage
from accounts.models import Account, ApiKey, Session
from accounts.sign_in.sessions import active_sessions, session_digest

MAX_REVOKED_LISTED = 20


@dataclass(frozen=True, slots=True)
class KeyView:
    row: ApiKey
    text: str | None  # None if revoked or no longer derivable
    usage: KeyUsage | None = None  # only on pages that show it


def active_keys(account: Account) -> list[KeyView]:
    rows = account.keys.filter(revoked_at=None).order_by("created_at", "pk")
    return [KeyView(row, manage.reveal(row)) for row in rows]


def key_views(account: Account) -> tuple[list[KeyView], list[KeyView]]:
    """The working keys, and those revoked last, with their usage."""
    newest_revoked = account.keys.exclude(revoked_at=None).order_by("-revoked_at")
    active_views = active_keys(account)
    revoked_views = [KeyView(row, None) for row in newest_revoked[:MAX_REVOKED_LISTED]]
    subjects = [manage.usage_subject(view.row) for view in active_views + revoked_views]
    usage = usage_by_subject(subjects)
    views = [
        replace(view, usage=usage[subject])
        for view, subject in zip(active_views + revoked_views, subjects, strict=True)
    ]
    return views[: len(active_views)], views[len(active_views) :]


def session_views(account: Account, session_key: str | None) -> list[tuple[Session, bool]]:
    """The sessions, and whether each is that of the requesting browser, by its `session_key`."""
    own = session_digest(session_key)
    return [(row, row.session_key == own) for row in active_sessions(account)]
