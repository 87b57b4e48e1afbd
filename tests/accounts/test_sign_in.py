"""Signing in as a server sees it: once for a nonce, a new session, never somewhere else."""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client, RequestFactory

from accounts.models import Account, Session, SignInNonce
from accounts.shared import rate_limits
from accounts.shared.errors import Refusal
from accounts.sign_in import siwe
from accounts.sign_in.siwe import spend_nonce
from tests.accounts.concurrency import all_at_once
from tests.accounts.signers import Signer


@pytest.mark.django_db
def test_the_same_wallet_is_the_same_account_with_the_same_key() -> None:
    signer = Signer()
    signer.sign_in()
    again = Signer(key=signer.key)
    assert again.sign_in().status_code == 200
    assert Account.objects.count() == 1
    assert Account.objects.get().keys.count() == 1
    assert Session.objects.count() == 2


@pytest.mark.django_db
def test_the_session_and_the_token_change_at_sign_in() -> None:
    signer = Signer()
    signer.sign_in()
    first = {name: signer.client.cookies[name].value for name in ("session", "visit")}
    assert signer.sign_in().status_code == 200
    for name, value in first.items():
        assert signer.client.cookies[name].value != value


@pytest.mark.django_db
def test_a_session_that_someone_planted_is_not_the_one_signed_in() -> None:
    signer = Signer()
    signer.client.cookies["session"] = "planted" * 5
    assert signer.sign_in().status_code == 200
    assert signer.client.cookies["session"].value != "planted" * 5
    thief = Client()
    thief.cookies["session"] = "planted" * 5
    assert thief.get("/dashboard").status_code == 302


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("wanted", "reached"),
    [
        ("/admin/", "/admin/"),
        ("/dashboard?a=b", "/dashboard?a=b"),
        ("https://evil.example/", "/dashboard"),
        ("//evil.example/", "/dashboard"),
        ("/\\evil.example", "/dashboard"),
        ("///evil.example", "/dashboard"),
        ("javascript:alert(1)", "/dashboard"),
        ("dashboard", "/dashboard"),
        ("", "/dashboard"),
        (7, "/dashboard"),
    ],
)
def test_it_leads_to_a_page_of_ours(wanted: object, reached: str) -> None:
    assert Signer().sign_in(next=wanted).json() == {"next": reached}


@pytest.mark.django_db
def test_a_disabled_account_cannot_sign_in_and_its_browsers_are_out() -> None:
    signer = Signer()
    signer.sign_in()
    Account.objects.update(is_active=False)
    assert signer.client.get("/dashboard").status_code == 302
    answer = signer.sign_in()
    assert (answer.status_code, answer.json()["code"]) == (403, "account_disabled")
    assert SignInNonce.objects.count() == 2
    assert not SignInNonce.objects.filter(spent=None).exists()


@pytest.mark.django_db
def test_a_message_is_good_for_five_minutes_and_its_nonce_cannot_be_guessed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of its characters is the system's random number."""
    chosen: list[str] = []

    def choose(of: str) -> str:
        chosen.append(secrets.choice(of))
        return chosen[-1]

    monkeypatch.setattr(siwe, "secrets", SimpleNamespace(choice=choose))
    signer = Signer()
    messages = [signer.message() for _ in range(3)]
    fields = [
        dict(re.findall("^([A-Z][A-Za-z ]+): (.*)$", each, re.MULTILINE)) for each in messages
    ]
    for each in fields:
        issued, until = (
            datetime.fromisoformat(each[name]) for name in ("Issued At", "Expiration Time")
        )
        assert until - issued == timedelta(minutes=5)
        assert re.fullmatch("[A-Za-z0-9]{16}", each["Nonce"])
    assert [each["Nonce"] for each in fields] == [
        "".join(chosen[start : start + 16]) for start in (0, 16, 32)
    ]


@pytest.mark.django_db
def test_only_the_browser_that_asked_spends_its_nonce() -> None:
    """Also where what was checked before would have let another one through."""
    signer = Signer()
    signer.message()
    nonce = SignInNonce.objects.get().nonce
    with pytest.raises(Refusal, match="another browser"):
        spend_nonce(RequestFactory().post("/sign-in"), nonce)
    assert SignInNonce.objects.get().spent is None


@pytest.mark.django_db
def test_nobody_can_lock_out_a_strangers_wallet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "OF_A_WALLET", 2)
    signer = Signer()
    for _ in range(5):
        stranger = Signer()
        message = stranger.message(address=signer.address)
        refused = stranger.show(message, stranger.sign(message))
        assert refused.json()["code"] == "signature_refused"
    assert signer.sign_in().status_code == 200
    assert signer.sign_in().status_code == 200
    assert signer.sign_in().json()["code"] == "too_many_attempts"  # by its own hand


@pytest.mark.django_db(transaction=True)
def test_a_hundred_sign_ins_with_one_nonce_are_one_session() -> None:
    signer = Signer()
    message = signer.message()
    signature = signer.sign(message)

    def show(_: int) -> Any:
        twin = Signer(key=signer.key)
        twin.client.cookies["visit"] = signer.client.cookies["visit"].value
        return twin.show(message, signature)

    with limits_out_of_the_way():
        answers = all_at_once(show, 100)
    assert sorted(answer.status_code for answer in answers) == [200] + 99 * [400]
    assert {answer.json().get("code") for answer in answers} == {None, "message_refused"}
    assert Session.objects.count() == 1
    assert Account.objects.count() == 1
    assert Account.objects.get().keys.count() == 1


@pytest.mark.django_db(transaction=True)
def test_first_sign_ins_of_one_wallet_at_once_make_one_account_with_one_key() -> None:
    signer = Signer()

    def sign_in(_: int) -> Any:
        return Signer(key=signer.key).sign_in()

    with limits_out_of_the_way():
        answers = all_at_once(sign_in, 20)
    assert {answer.status_code for answer in answers} == {200}
    assert Account.objects.get().keys.count() == 1
    assert Session.objects.count() == 20


@contextmanager
def limits_out_of_the_way() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        for name in ("OF_A_NETWORK", "OF_A_BROWSER", "OF_A_WALLET"):
            patched.setattr(rate_limits, name, 1_000)
        patched.setattr(rate_limits, "WAIT_SECONDS", 60)  # a hundred threads on one machine wait
        yield
