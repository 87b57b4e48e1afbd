"""Signing in: single-use nonces, fresh sessions, safe redirects, limits, concurrency."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.http import rate_limits
from accounts.models import Account, Session, SignInNonce
from accounts.sign_in import attempts
from tests.accounts.concurrency import all_at_once
from tests.accounts.signers import Signer


@pytest.mark.django_db
def test_signing_in_renews_the_session_and_the_csrf_token() -> None:
    signer = Signer()
    signer.sign_in()
    old = {name: signer.client.cookies[name].value for name in ("session", "visit")}
    assert signer.sign_in().status_code == 200
    for name, value in old.items():
        assert signer.client.cookies[name].value != value


@pytest.mark.django_db
def test_a_session_cookie_that_was_set_before_sign_in_does_not_become_valid() -> None:
    signer = Signer()
    signer.client.cookies["session"] = "planted" * 5
    assert signer.sign_in().status_code == 200
    assert signer.client.cookies["session"].value != "planted" * 5
    thief = Client()
    thief.cookies["session"] = "planted" * 5
    assert thief.get("/dashboard").status_code == 302


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("next_url", "target"),
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
def test_signing_in_redirects_only_within_the_site(next_url: object, target: str) -> None:
    assert Signer().sign_in(next=next_url).json() == {"next": target}


@pytest.mark.django_db
def test_a_disabled_account_is_signed_out_and_cannot_sign_in() -> None:
    signer = Signer()
    signer.sign_in()
    Account.objects.update(is_active=False)
    assert signer.client.get("/dashboard").status_code == 302
    answer = signer.sign_in()
    assert (answer.status_code, answer.json()["code"]) == (403, "account_disabled")
    assert SignInNonce.objects.count() == 2
    assert not SignInNonce.objects.filter(spent_at=None).exists()


@pytest.mark.django_db
def test_a_message_is_valid_for_five_minutes_and_has_a_nonce_of_its_own() -> None:
    signer, nonces = Signer(), set[str]()
    for _ in range(3):
        fields = dict(re.findall("^([A-Z][A-Za-z ]+): (.*)$", signer.message(), re.MULTILINE))
        issued, expires = (
            datetime.fromisoformat(fields[name]) for name in ("Issued At", "Expiration Time")
        )
        assert expires - issued == timedelta(minutes=5)
        assert re.fullmatch("[A-Za-z0-9]{16}", fields["Nonce"])
        nonces.add(fields["Nonce"])
    assert len(nonces) == 3


@pytest.mark.django_db
def test_wrong_signatures_do_not_lock_out_the_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "ATTEMPTS_PER_WALLET", 2)
    signer = Signer()
    for _ in range(5):
        stranger = Signer()
        message = stranger.message(address=signer.address)
        response = stranger.send_signature(message, stranger.sign(message))
        assert response.json()["code"] == "signature_refused"
    assert signer.sign_in().status_code == 200
    assert signer.sign_in().status_code == 200
    assert signer.sign_in().json()["code"] == "too_many_attempts"


@pytest.mark.django_db(transaction=True)
def test_concurrent_sign_ins_with_one_nonce_create_one_session() -> None:
    signer = Signer()
    message = signer.message()
    signature = signer.sign(message)

    def sign_in(_: int) -> Any:
        twin = Signer(key=signer.key)
        twin.client.cookies["visit"] = signer.client.cookies["visit"].value
        return twin.send_signature(message, signature)

    with without_limits():
        answers = all_at_once(sign_in, 100)
    assert sorted(answer.status_code for answer in answers) == [200] + 99 * [400]
    assert {answer.json().get("code") for answer in answers} == {None, "message_refused"}
    assert Session.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_concurrent_first_sign_ins_of_a_wallet_create_one_account_with_one_key() -> None:
    signer = Signer()

    def sign_in(_: int) -> Any:
        return Signer(key=signer.key).sign_in()

    with without_limits():
        answers = all_at_once(sign_in, 20)
    assert {answer.status_code for answer in answers} == {200}
    assert Account.objects.get().keys.count() == 1
    assert Session.objects.count() == 20


@contextmanager
def without_limits() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        for name in ("ATTEMPTS_PER_NETWORK", "ATTEMPTS_PER_BROWSER", "ATTEMPTS_PER_WALLET"):
            patched.setattr(attempts, name, 1_000)
        patched.setattr(rate_limits, "LOCK_TIMEOUT", 60)  # a hundred threads on one machine wait
        yield
