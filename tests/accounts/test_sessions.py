"""Sessions: listed, expired, limited, and useless to a reader of the database."""

from datetime import UTC, datetime, timedelta
from http.cookies import SimpleCookie

import pytest
from django.test import Client

from accounts.models import Account, Session
from accounts.sign_in import sessions
from accounts.sign_in.sessions import active_sessions, delete_expired, session_digest
from tests.accounts.signers import Signer

pytestmark = pytest.mark.django_db
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"


def two_browsers() -> tuple[Signer, Signer]:
    first = Signer()
    second = Signer(
        key=first.key, client=Client(enforce_csrf_checks=True, headers={"User-Agent": FIREFOX})
    )
    for signer in (first, second):
        assert signer.sign_in().status_code == 200
    return first, second


def post(signer: Signer, path: str) -> str:
    token = signer.client.cookies["visit"].value
    return str(signer.client.post(path, {"csrfmiddlewaretoken": token})["Location"])


def is_signed_in(signer: Signer) -> bool:
    return signer.client.get("/dashboard").status_code == 200


def test_sessions_are_listed_by_browser() -> None:
    _, second = two_browsers()
    listed = {row.browser: row for row in active_sessions(Account.objects.get())}
    assert set(listed) == {"An unknown browser", "Firefox on Linux"}
    row = listed["Firefox on Linux"]
    assert row.session_key == session_digest(second.client.cookies["session"].value)
    assert row.signed_in_at is not None
    assert row.last_seen is not None
    assert abs(datetime.now(UTC) - row.signed_in_at) < timedelta(seconds=10)


def test_the_database_does_not_contain_the_session_key_of_the_cookie() -> None:
    signer, _ = two_browsers()
    cookie = signer.client.cookies["session"].value
    stored = " ".join(str(value) for row in Session.objects.values() for value in row.values())
    assert cookie not in stored
    thief = Client()
    for row in Session.objects.all():
        thief.cookies = SimpleCookie({"session": row.session_key})
        assert thief.get("/dashboard").status_code == 302


def test_only_its_owner_can_end_a_session() -> None:
    first, _ = two_browsers()
    stranger = Signer()
    stranger.sign_in()
    post(stranger, f"/sessions/{session_digest(first.client.cookies['session'].value)}/end")
    assert is_signed_in(first)


def test_an_expired_session_is_signed_out_and_deleted() -> None:
    first, second = two_browsers()
    key = session_digest(first.client.cookies["session"].value)
    Session.objects.filter(pk=key).update(expire_date=datetime.now(UTC) - timedelta(seconds=1))
    assert (is_signed_in(first), is_signed_in(second)) == (False, True)
    delete_expired()
    assert not Session.objects.filter(pk=key).exists()
    assert is_signed_in(second)


def test_use_extends_a_session_to_at_most_90_days_after_the_sign_in() -> None:
    first, _ = two_browsers()
    key = session_digest(first.client.cookies["session"].value)
    store = first.client.session
    store["signed_in"] = (datetime.now(UTC) - timedelta(days=85)).isoformat()
    store.save()
    Session.objects.filter(pk=key).update(last_seen=datetime.now(UTC) - timedelta(minutes=6))
    assert is_signed_in(first)
    remaining = Session.objects.get(pk=key).expire_date - datetime.now(UTC)
    assert timedelta(days=4, hours=23) < remaining <= timedelta(days=5)
    store["signed_in"] = (datetime.now(UTC) - timedelta(days=91)).isoformat()
    store.save()
    assert not is_signed_in(first)


def test_signing_in_above_the_limit_ends_the_stalest_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "MAX_SESSIONS_PER_ACCOUNT", 2)
    first, second = two_browsers()
    stranger = Signer()
    stranger.sign_in()
    key = session_digest(first.client.cookies["session"].value)
    Session.objects.filter(pk=key).update(last_seen=datetime.now(UTC) - timedelta(days=1))
    third = Signer(key=first.key)
    third.sign_in()
    assert not is_signed_in(first)
    assert all(is_signed_in(signer) for signer in (second, third, stranger))


@pytest.mark.parametrize(
    "path", ["/keys", "/keys/aaaaaaaaaa/revoke", "/sessions/x/end", "/sign-out-everywhere"]
)
def test_a_form_of_an_ended_session_changes_nothing_and_says_so(path: str) -> None:
    first, _ = two_browsers()
    Session.objects.all().delete()
    assert post(first, path) == "/sign-in?next=/dashboard"
    page = first.client.get("/sign-in?next=/dashboard").text
    assert "Nothing was changed: you had been signed out." in page
