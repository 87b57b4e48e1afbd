"""Signed-in browsers: kept so that their owner can see and end each, and a thief cannot use them.

The database holds a digest of the key in a browser's cookie, so a reader of it cannot sign in
with what he finds.
"""

import hashlib
import logging
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import SESSION_KEY as ACCOUNT
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions
from django.db import OperationalError
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from accounts.models import Account, Session
from accounts.shared.rate_limits import waiting_briefly

SEEN_EVERY = timedelta(minutes=5)
# Use extends a session, up to this long after the sign-in, so that a stolen one ends.
LONGEST = timedelta(days=90)
SESSIONS_OF_AN_ACCOUNT = 50
SIGNED_IN, BROWSER = "signed_in", "browser"

log = logging.getLogger("tacitus.accounts")


def stored_key(session_key: str | None) -> str:
    """What the database knows a session by."""
    return hashlib.blake2b((session_key or "").encode(), digest_size=20).hexdigest()


class SessionStore(DatabaseSessions):
    """Django's, with digests for keys and columns that the list of sessions shows."""

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    last_seen: datetime | None = None  # as the row has it, once it is loaded

    def load(self) -> dict[str, Any]:
        row = Session.objects.filter(
            pk=stored_key(self.session_key), expire_date__gt=timezone.now()
        ).first()
        if row is None:
            self._session_key = None
            return {}
        self.last_seen = row.last_seen
        return self.decode(row.session_data)

    def exists(self, session_key: str) -> bool:
        return super().exists(stored_key(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        row = super().create_model_instance(data)
        if not isinstance(row, Session):
            raise TypeError("these sessions are not ours")
        row.session_key = stored_key(row.session_key)
        row.account_id = int(data[ACCOUNT]) if ACCOUNT in data else None
        row.browser = data.get(BROWSER, "")
        row.signed_in = parse_datetime(data.get(SIGNED_IN, ""))
        row.last_seen = self.last_seen or row.signed_in
        if row.signed_in is not None:
            row.expire_date = min(row.expire_date, row.signed_in + LONGEST)
        return row

    def delete(self, session_key: str | None = None) -> None:
        held = session_key or self.session_key
        if held is not None:
            Session.objects.filter(pk=stored_key(held)).delete()


class SeenSessions:
    """Notes, now and then, that a signed-in browser is there, which also keeps it signed in."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        session = request.session
        # Not asked of every visitor, since asking makes an answer vary by cookie.
        if isinstance(session, SessionStore) and session.accessed and ACCOUNT in session:
            now = timezone.now()
            if SIGNED_IN not in session:
                session[SIGNED_IN] = now.isoformat()
                session[BROWSER] = browser_name(request.headers.get("User-Agent", ""))
            elif session.last_seen is None or session.last_seen <= now - SEEN_EVERY:
                _note_seen(session, now)
        return response


def _note_seen(session: SessionStore, now: datetime) -> None:
    """Best effort: if the database is busy, the request goes on without it."""
    signed_in = parse_datetime(session[SIGNED_IN]) or now
    ends = min(session.get_expiry_date(), signed_in + LONGEST)
    try:
        with waiting_briefly():
            Session.objects.filter(pk=stored_key(session.session_key)).update(
                last_seen=now, expire_date=ends
            )
    except OperationalError:
        log.warning("A session's last use could not be stored.")


def account_of(request: HttpRequest) -> Account:
    """Who is signed in, for views that only someone signed in comes to."""
    if not isinstance(request.user, Account):
        raise TypeError("a view for accounts alone lacks login_required")
    return request.user


def sessions_of(account: Account) -> list[Session]:
    living = account.sessions.filter(expire_date__gt=timezone.now())
    return list(living.order_by("-last_seen", "pk"))


def make_room(account: Account) -> None:
    """Make room for one more session: delete those not seen for the longest time."""
    newest_first = account.sessions.order_by(F("last_seen").desc(nulls_last=True), "pk")
    too_many = list(newest_first.values_list("pk", flat=True)[SESSIONS_OF_AN_ACCOUNT - 1 :])
    Session.objects.filter(pk__in=too_many).delete()


def forget_ended() -> None:
    Session.objects.filter(expire_date__lte=timezone.now()).delete()


# In this order: each of these browsers names those behind it as well.
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
