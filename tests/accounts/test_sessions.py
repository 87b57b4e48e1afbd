"""Signed-in browsers: seen by their owner, ended one by one or all, useless to who reads them."""

from datetime import UTC, datetime, timedelta
from http.cookies import SimpleCookie
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client

from accounts import sessions
from accounts.models import Account, Session
from accounts.sessions import browser_name, forget_ended, sessions_of, stored_key
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


def test_signing_out_ends_this_one() -> None:
    first, second = two_browsers()
    copied = first.client.cookies["session"].value
    assert post(first, "/sign-out") == "/"
    assert (is_in(first), is_in(second)) == (False, True)
    thief = Client()
    thief.cookies["session"] = copied
    assert thief.get("/dashboard").status_code == 302


def test_one_can_end_another_of_ones_own() -> None:
    first, second = two_browsers()
    row = stored_key(second.client.cookies["session"].value)
    assert post(first, f"/sessions/{row}/end") == "/dashboard"
    assert (is_in(first), is_in(second)) == (True, False)


def test_nobody_can_end_a_strangers() -> None:
    first, _ = two_browsers()
    stranger = Signer()
    stranger.sign_in()
    post(stranger, f"/sessions/{stored_key(first.client.cookies['session'].value)}/end")
    assert is_in(first)


def test_signing_out_everywhere_ends_all_and_nobody_elses() -> None:
    first, second = two_browsers()
    stranger = Signer()
    stranger.sign_in()
    assert post(first, "/sign-out-everywhere") == "/"
    assert (is_in(first), is_in(second), is_in(stranger)) == (False, False, True)


def test_a_link_of_another_site_signs_nobody_out() -> None:
    first, _ = two_browsers()
    assert first.client.get("/sign-out").status_code == 405
    assert first.client.post("/sign-out").status_code == 403
    assert is_in(first)


def test_being_seen_is_noted_now_and_then_and_keeps_the_session() -> None:
    first, _ = two_browsers()
    key = stored_key(first.client.cookies["session"].value)
    before = Session.objects.get(pk=key)
    assert is_in(first)
    assert Session.objects.get(pk=key).last_seen == before.last_seen
    now = datetime.now(UTC)
    Session.objects.filter(pk=key).update(
        last_seen=now - timedelta(minutes=6), expire_date=now + timedelta(minutes=1)
    )
    assert is_in(first)
    row = Session.objects.get(pk=key)
    assert row.last_seen is not None
    assert datetime.now(UTC) - row.last_seen < timedelta(seconds=10)
    assert row.expire_date > datetime.now(UTC) + timedelta(days=13)
    assert row.signed_in == before.signed_in


def test_one_that_has_ended_is_out_and_forgotten() -> None:
    first, second = two_browsers()
    key = stored_key(first.client.cookies["session"].value)
    Session.objects.filter(pk=key).update(expire_date=datetime.now(UTC) - timedelta(seconds=1))
    assert (is_in(first), is_in(second)) == (False, True)
    forget_ended()
    assert not Session.objects.filter(pk=key).exists()
    assert is_in(second)


def test_a_request_on_its_way_does_not_bring_an_ended_one_back() -> None:
    first, _ = two_browsers()
    store = first.client.session
    store["last_seen"] = ""
    Session.objects.all().delete()
    assert not is_in(first)
    assert not Session.objects.exists()


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


def test_one_that_has_ended_is_not_listed_and_a_sign_in_forgets_it() -> None:
    first, _ = two_browsers()
    key = stored_key(first.client.cookies["session"].value)
    Session.objects.filter(pk=key).update(expire_date=datetime.now(UTC) - timedelta(seconds=1))
    assert key not in {row.session_key for row in sessions_of(Account.objects.get())}
    Signer().sign_in()
    assert not Session.objects.filter(pk=key).exists()


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


def test_an_address_that_takes_forms_has_a_page_of_ours() -> None:
    first, _ = two_browsers()
    for path in ("/keys", "/sign-out", "/keys/aaaaaaaaaa/rotate", "/sign-in/message"):
        page = first.client.get(path, headers={"Accept": "text/html"})
        assert (page.status_code, page["Allow"]) == (405, "POST")
        assert "Nothing opens at this address" in page.text
        told = first.client.get(path, headers={"Accept": "application/json"})
        assert (told.status_code, told.json()["code"]) == (405, "method_not_allowed")


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (FIREFOX, "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/5 Chrome/1 Safari/5 Edg/1", "Edge on Windows"),
        ("Mozilla/5.0 (Linux; Android 14) Chrome/129.0 Mobile Safari/537.36", "Chrome on Android"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 17 like Mac OS X) Safari/6", "Safari on iPhone"),
        ("Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/156.0 Safari/537.36", "Chromium on Linux"),
        ("curl/8.5.0", "curl"),
        ("", "An unknown browser"),
        ("<script>alert(1)</script>", "An unknown browser"),
        ("x" * 5_000, "x" * 30),
    ],
)  # fmt: skip
def test_a_browser_has_a_name(user_agent: str, name: str) -> None:
    assert browser_name(user_agent) == name


def test_another_window_is_told_that_one_has_signed_out() -> None:
    """Its form is no longer trusted, because signing out renewed the browser."""
    first, _ = two_browsers()
    token = first.client.cookies["visit"].value
    post(first, "/sign-out")
    for path in ("/keys", "/sessions/x/end", "/sign-out-everywhere"):
        answer = first.client.post(path, {"csrfmiddlewaretoken": token})
        assert answer["Location"] == "/sign-in?next=/dashboard"
    assert "you had been signed out" in first.client.get("/sign-in").text


@pytest.mark.django_db(transaction=True)
def test_a_note_that_cannot_be_made_keeps_nobody_waiting() -> None:
    signer = Signer()
    signer.sign_in()
    Session.objects.update(last_seen=datetime.now(UTC) - timedelta(minutes=6))

    def fail(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("UPDATE"):
            raise OperationalError("database is locked")
        return execute(sql, *rest)

    with connection.execute_wrapper(fail):
        assert is_in(signer)
    assert is_in(signer)
    seen = Session.objects.get().last_seen
    assert seen is not None
    assert datetime.now(UTC) - seen < timedelta(seconds=10)
