"""API keys: shown again, found, renamed, rotated, revoked, and never in the database."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.keys import manage
from accounts.keys.manage import key_name
from accounts.models import Account, ApiKey
from accounts.shared.errors import Refusal
from accounts.sign_in.wallets import Wallet
from tests.accounts.concurrency import all_at_once
from tests.accounts.signers import Signer

pytestmark = pytest.mark.django_db
WALLET = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
HOUR = timedelta(hours=1)


def owner() -> Account:
    return Account.objects.of_wallet(Wallet(WALLET))[0]


def make_key(name: str = "Bridge") -> tuple[ApiKey, str]:
    key = manage.add_key(owner(), name)
    text = manage.shown(key)
    assert text is not None
    return key, text


def ask(text: str, **headers: str) -> Any:
    return Client().get("/api-key", headers={"api-key": text, **headers})


def test_no_column_of_the_database_holds_a_key_or_its_secret() -> None:
    key, text = make_key()
    held = " ".join(str(value) for value in ApiKey.objects.values().get().values())
    assert text not in held
    assert text.rpartition("_")[2] not in held
    assert key.id in held


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda _: "", "key_missing"),
        (lambda text: text[:-1], "key_unknown"),
        (lambda text: text + "a", "key_unknown"),
        (lambda text: text[:-1] + ("a" if text[-1] != "a" else "b"), "key_unknown"),
        (lambda text: text.upper(), "key_unknown"),
        (lambda text: "tct_" + 10 * "a" + text[14:], "key_unknown"),
        (lambda text: " " + text, "key_unknown"),
        (lambda text: text + "\u0000", "key_unknown"),
        (lambda text: text.replace("_", "-"), "key_unknown"),
        (lambda _: 100_000 * "x", "key_unknown"),
    ],
)
def test_another_text_is_no_key(change: Any, code: str) -> None:
    _, text = make_key()
    answer = Client().get("/api-key", {"apiKey": change(text)})
    told = answer.json()
    assert (answer.status_code, told["code"], told["retryable"]) == (401, code, False)
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert len(answer.content) < 500
    assert text not in answer.text


def test_rotated_with_grace_both_work_until_it_ends() -> None:
    key, old = make_key()
    new = manage.shown(manage.rotate(owner(), key.id, 1, HOUR))
    assert new is not None
    assert [ask(text).status_code for text in (old, new)] == [200, 200]
    ApiKey.objects.update(previous_until=datetime.now(UTC) - timedelta(seconds=1))
    assert [ask(text).status_code for text in (old, new)] == [401, 200]


def test_revoked_it_is_refused_at_once_with_both_secrets() -> None:
    key, old = make_key()
    new = manage.shown(manage.rotate(owner(), key.id, 1, HOUR))
    assert new is not None
    manage.revoke(owner(), key.id)
    assert ask(new).json()["code"] == "key_revoked"
    assert ask(old).json()["code"] == "key_unknown"


def test_an_account_has_so_many_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manage, "KEYS_OF_AN_ACCOUNT", 2)
    key, _ = make_key()
    make_key()
    with pytest.raises(Refusal, match="at most 2 keys"):
        make_key()
    manage.revoke(owner(), key.id)
    make_key()


def test_making_and_rotating_have_one_allowance_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manage, "CHANGES_AN_HOUR", 2)
    signer = Signer()
    signer.sign_in()
    first = ApiKey.objects.get()  # which sign-in made, and nobody asked for

    def post(path: str, **form: str) -> str:
        form["csrfmiddlewaretoken"] = signer.client.cookies["visit"].value
        return str(signer.client.post(path, form, follow=True).text)

    assert "is ready" in post("/keys", name="One")
    assert "has a new secret" in post(f"/keys/{first.pk}/rotate", version="1")
    refused = "An account may create or rotate 2 keys an hour. Try again in 60 minutes."
    assert refused in post("/keys", name="Two")
    assert refused in post(f"/keys/{first.pk}/rotate", version="2")
    assert "is revoked" in post(f"/keys/{first.pk}/revoke")  # which is never too much
    assert ApiKey.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_so_many_also_when_they_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manage, "KEYS_OF_AN_ACCOUNT", 5)
    account = owner()

    def make(_: int) -> bool:
        try:
            manage.add_key(account, "One of many")
        except Refusal:
            return False
        return True

    assert sum(all_at_once(make, 25)) == 5


@pytest.mark.django_db(transaction=True)
def test_rotated_many_times_at_once_it_is_rotated_once() -> None:
    key, _ = make_key()
    account = owner()

    def rotate(_: int) -> ApiKey | None:
        try:
            return manage.rotate(account, key.id, 1, HOUR)
        except Refusal:
            return None

    (rotated,) = filter(None, all_at_once(rotate, 20))
    key.refresh_from_db()
    assert (rotated.version, key.version) == (2, 2)
    assert (rotated.digest, rotated.previous_digest) == (key.digest, key.previous_digest)
    assert ask(str(manage.shown(key))).status_code == 200


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("  Two\n words\t", "Two words"),
        ("Cafe\u0301", "Caf\u00e9"),
        ("ab\u202ecd\u2066e\u200df", "abcdef"),
        ("\u202e\u200b", "Unnamed key"),
        ("", "Unnamed key"),
        ("w" * 59 + " ww", "w" * 59),
        ("नमस्ते", "नमस्ते"),
    ],
)
def test_a_name_neither_hides_nor_spoils_anything(typed: str, name: str) -> None:
    assert key_name(typed) == name
