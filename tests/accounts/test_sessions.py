"""Signed-in browsers: seen by their owner, ended one by one or all, useless to who reads them."""

from datetime import UTC, datetime, timedelta
from http.cookies import SimpleCookie

import pytest
from django.test import Client

from accounts.models import Account, Session
from accounts.sign_in import sessions
from accounts.sign_in.sessions import forget_ended, sessions_of, stored_key
from tests.accounts.signers import Signer

pytestmark = pytest.mark.django_db
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"


def two_browsers() -> tuple[Signer, Signer]:
    first = Signer()
    second = Signer(
        key=first.key, client=Client(enforce_csrf_checks=True, headers={"User-Agent": FIREFOX})
    )
    for each in (first, second):
        assert each.sign_in().status_code == 200
    return first, second


def post(signer: Signer, path: str) -> str:
    token = signer.client.cookies["visit"].value
    return str(signer.client.post(path, {"csrfmiddlewaretoken": token})["Location"])


def is_in(signer: Signer) -> bool:
    return signer.client.get("/dashboard").status_code == 200


def test_they_are_listed() -> None:
    _, second = two_browsers()
    listed = {row.browser: row for row in sessions_of(Account.objects.get())}
    assert set(listed) == {"An unknown browser", "Firefox on Linux"}
    row = listed["Firefox on Linux"]
    assert row.session_key == stored_key(second.client.cookies["session"].value)
    assert row.signed_in is not None
    assert row.last_seen is not None
    assert abs(datetime.now(UTC) - row.signed_in) < timedelta(seconds=10)


def test_the_database_does_not_hold_what_the_cookie_does() -> None:
    signer, _ = two_browsers()
    cookie = signer.client.cookies["session"].value
    held = " ".join(str(value) for row in Session.objects.values() for value in row.values())
    assert cookie not in held
    thief = Client()
    for row in Session.objects.all():
        thief.cookies = SimpleCookie({"session": row.session_key})
        assert thief.get("/dashboard").status_code == 302


def test_nobody_can_end_a_strangers() -> None:
    first, _ = two_browsers()
    stranger = Signer()
    stranger.sign_in()
    post(stranger, f"/sessions/{stored_key(first.client.cookies['session'].value)}/end")
    assert is_in(first)


def test_one_that_has_ended_is_out_and_forgotten() -> None:
    first, second = two_browsers()
    key = stored_key(first.client.cookies["session"].value)
    Session.objects.filter(pk=key).update(expire_date=datetime.now(UTC) - timedelta(seconds=1))
    assert (is_in(first), is_in(second)) == (False, True)
    forget_ended()
    assert not Session.objects.filter(pk=key).exists()
    assert is_in(second)


def test_being_seen_keeps_a_session_for_90_days_after_the_sign_in_and_no_longer() -> None:
    first, _ = two_browsers()
    key = stored_key(first.client.cookies["session"].value)
    store = first.client.session
    store["signed_in"] = (datetime.now(UTC) - timedelta(days=85)).isoformat()
    store.save()
    Session.objects.filter(pk=key).update(last_seen=datetime.now(UTC) - timedelta(minutes=6))
    assert is_in(first)
    left = Session.objects.get(pk=key).expire_date - datetime.now(UTC)
    assert timedelta(days=4, hours=23) < left <= timedelta(days=5)
    store["signed_in"] = (datetime.now(UTC) - timedelta(days=91)).isoformat()
    store.save()
    assert not is_in(first)


def test_of_too_many_the_oldest_go_at_sign_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "SESSIONS_OF_AN_ACCOUNT", 2)
    first, second = two_browsers()
    stranger = Signer()
    stranger.sign_in()
    key = stored_key(first.client.cookies["session"].value)
    Session.objects.filter(pk=key).update(last_seen=datetime.now(UTC) - timedelta(days=1))
    third = Signer(key=first.key)
    third.sign_in()
    assert [is_in(each) for each in (first, second, third, stranger)] == [False, True, True, True]


@pytest.mark.parametrize(
    "path", ["/keys", "/keys/aaaaaaaaaa/revoke", "/sessions/x/end", "/sign-out-everywhere"]
)
def test_a_form_whose_session_has_ended_says_that_nothing_was_changed(path: str) -> None:
    first, _ = two_browsers()
    Session.objects.all().delete()
    assert post(first, path) == "/sign-in?next=/dashboard"
    page = first.client.get("/sign-in?next=/dashboard").text
    assert "Nothing was changed: you had been signed out." in page
