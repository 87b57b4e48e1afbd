"""Sessions of signed-in browsers, which their owner can list and end.

The database holds digests of the cookies' keys, so read access to it is not enough to sign in.
"""

import hashlib
import logging
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any

from django.contrib.auth import SESSION_KEY as ACCOUNT_KEY
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions
from django.db import OperationalError
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from accounts.http.rate_limits import short_lock_timeout
from accounts.models import Account, Session

SEEN_INTERVAL = timedelta(minutes=5)
# Use extends a session, up to this long after the sign-in, so that a stolen one ends.
MAX_AGE = timedelta(days=90)
MAX_SESSIONS_PER_ACCOUNT = 50
SIGNED_IN, BROWSER = "signed_in", "browser"  # keys in the session's data

log = logging.getLogger("tacitus.accounts")


def session_digest(session_key: str | None) -> str:
    """The digest that the database stores in place of the cookie's key."""
    return hashlib.blake2b((session_key or "").encode(), digest_size=20).hexdigest()


class SessionStore(DatabaseSessions):
    """Django's sessions, stored under digests of their keys, with what the list of them shows."""

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    last_seen: datetime | None = None  # of the row, once it is loaded

    def load(self) -> dict[str, Any]:
        row = Session.objects.filter(
            pk=session_digest(self.session_key), expire_date__gt=timezone.now()
        ).first()
        if row is None:
            self._session_key = None
            return {}
        self.last_seen = row.last_seen
        return self.decode(row.session_data)

    def exists(self, session_key: str) -> bool:
        return super().exists(session_digest(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        row = super().create_model_instance(data)
        if not isinstance(row, Session):
            raise TypeError("SESSION_ENGINE names another module")
        row.session_key = session_digest(row.session_key)
        row.account_id = int(data[ACCOUNT_KEY]) if ACCOUNT_KEY in data else None
        row.browser = data.get(BROWSER, "")
        row.signed_in_at = parse_datetime(data.get(SIGNED_IN, ""))
        row.last_seen = self.last_seen or row.signed_in_at
        if row.signed_in_at is not None:
            row.expire_date = min(row.expire_date, row.signed_in_at + MAX_AGE)
        return row

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key is not None:
            Session.objects.filter(pk=session_digest(key)).delete()


class SessionActivity:
    """Middleware that records the use of a session, at most every five minutes, and extends it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        session = request.session
        if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return response  # the database may have failed
        # Check `accessed` first: reading the session makes the response vary by cookie.
        if isinstance(session, SessionStore) and session.accessed and ACCOUNT_KEY in session:
            now = timezone.now()
            if SIGNED_IN not in session:
                session[SIGNED_IN] = now.isoformat()
                session[BROWSER] = browser_name(request.headers.get("User-Agent", ""))
            elif session.last_seen is None or session.last_seen <= now - SEEN_INTERVAL:
                _store_last_seen(session, now)
        return response


def _store_last_seen(session: SessionStore, now: datetime) -> None:
    """Store the time, unless the database is busy: the request must not fail for it."""
    signed_in = parse_datetime(session[SIGNED_IN]) or now
    expire_date = min(session.get_expiry_date(), signed_in + MAX_AGE)
    try:
        with short_lock_timeout():
            Session.objects.filter(pk=session_digest(session.session_key)).update(
                last_seen=now, expire_date=expire_date
            )
    except OperationalError:
        log.warning("A session's last use could not be stored.")


def signed_in_account(request: HttpRequest) -> Account:
    """The signed-in account; for views that require one."""
    if not isinstance(request.user, Account):
        raise TypeError("the view needs login_required")
    return request.user


def active_sessions(account: Account) -> list[Session]:
    active = account.sessions.filter(expire_date__gt=timezone.now())
    return list(active.order_by("-last_seen", "pk"))


def delete_surplus_sessions(account: Account) -> None:
    """Delete the least recently used sessions, so that one more fits."""
    newest_first = account.sessions.order_by(F("last_seen").desc(nulls_last=True), "pk")
    surplus = list(newest_first.values_list("pk", flat=True)[MAX_SESSIONS_PER_ACCOUNT - 1 :])
    Session.objects.filter(pk__in=surplus).delete()


def delete_expired() -> None:
    Session.objects.filter(expire_date__lte=timezone.now()).delete()


# In this order, because a browser also names those listed after it.
BROWSERS = {
    "Edg": "Edge", "OPR": "Opera", "Firefox": "Firefox", "HeadlessChrome": "Chromium",
    "Chrome": "Chrome", "Safari": "Safari",
}  # fmt: skip
SYSTEMS = {
    "Android": "Android", "iPhone": "iPhone", "iPad": "iPad", "Windows": "Windows",
    "Mac OS X": "macOS", "Linux": "Linux",
}  # fmt: skip


def browser_name(user_agent: str) -> str:
    browser = next((BROWSERS[name] for name in BROWSERS if f"{name}/" in user_agent), "")
    system = next((SYSTEMS[name] for name in SYSTEMS if name in user_agent), "")
    if browser:
        return f"{browser} on {system}" if system else browser
    # A program rather than a browser, such as curl/8.1.
    program = re.match(r"[\w.-]{1,30}", user_agent)
    return program[0] if program else "An unknown browser"
