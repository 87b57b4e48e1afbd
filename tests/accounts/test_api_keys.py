"""API keys: refused, rotated, revoked, limited, and never readable in the database."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.http.errors import RefusalError
from accounts.keys import manage
from accounts.keys.manage import clean_name
from accounts.models import ApiKey
from tests.accounts.api_keys import make_key, owner, request_with
from tests.accounts.concurrency import all_at_once
from tests.accounts.signers import Signer

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def test_the_database_does_not_contain_the_secret() -> None:
    key, text = make_key()
    stored = " ".join(str(value) for value in ApiKey.objects.values().get().values())
    assert key.id in stored
    assert text.rpartition("_")[2] not in stored


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
def test_unknown_and_malformed_keys_are_refused(change: Any, code: str) -> None:
    _, text = make_key()
    response = Client().get("/api-key", {"apiKey": change(text)})
    error = response.json()
    assert (response.status_code, error["code"], error["retryable"]) == (401, code, False)
    assert response["WWW-Authenticate"].startswith("Bearer")
    assert len(response.content) < 500
    assert text not in response.text


def test_a_rotated_keys_old_secret_works_until_the_grace_period_ends() -> None:
    key, old = make_key()
    new = str(manage.reveal(manage.rotate(owner(), key.id, 1, HOUR)))
    assert [request_with(text).status_code for text in (old, new)] == [200, 200]
    ApiKey.objects.update(previous_until=datetime.now(UTC) - timedelta(seconds=1))
    assert [request_with(text).status_code for text in (old, new)] == [401, 200]
    manage.revoke(owner(), key.id)
    assert [request_with(text).json()["code"] for text in (old, new)] == [
        "key_unknown",
        "key_revoked",
    ]


def test_creating_and_rotating_keys_share_an_hourly_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manage, "MAX_CHANGES_PER_HOUR", 2)
    signer = Signer()
    signer.sign_in()
    first = ApiKey.objects.get()  # created at sign-in, which does not count

    def post(path: str, **form: str) -> str:
        form["csrfmiddlewaretoken"] = signer.client.cookies["visit"].value
        return str(signer.client.post(path, form, follow=True).text)

    assert "is ready" in post("/keys", name="One")
    assert "has a new secret" in post(f"/keys/{first.pk}/rotate", version="1")
    refusal = "An account may create or rotate 2 keys an hour. Try again in 60 minutes."
    assert refusal in post("/keys", name="Two")
    assert refusal in post(f"/keys/{first.pk}/rotate", version="2")
    assert "is revoked" in post(f"/keys/{first.pk}/revoke")  # has no limit
    assert ApiKey.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_concurrent_requests_cannot_exceed_the_key_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manage, "MAX_KEYS_PER_ACCOUNT", 5)
    account = owner()

    def create(_: int) -> ApiKey | str:
        try:
            return manage.add_key(account, "Bridge")
        except RefusalError as refusal:
            return refusal.sentence

    results = all_at_once(create, 25)
    keys = [key for key in results if isinstance(key, ApiKey)]
    assert len(keys) == 5
    assert {text for text in results if isinstance(text, str)} == {
        "An account has at most 5 keys. Revoke one that is not used."
    }
    manage.revoke(account, keys[0].id)
    manage.add_key(account, "Bridge")


@pytest.mark.django_db(transaction=True)
def test_concurrent_rotations_rotate_a_key_once() -> None:
    key, _ = make_key()
    account = owner()

    def rotate(_: int) -> ApiKey | None:
        try:
            return manage.rotate(account, key.id, 1, HOUR)
        except RefusalError:
            return None

    (rotated,) = filter(None, all_at_once(rotate, 20))
    key.refresh_from_db()
    assert (rotated.version, key.version) == (2, 2)
    assert (rotated.digest, rotated.previous_digest) == (key.digest, key.previous_digest)
    assert request_with(str(manage.reveal(key))).status_code == 200


@pytest.mark.parametrize(
    ("text", "name"),
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
def test_key_names_are_normalized_to_visible_characters(text: str, name: str) -> None:
    assert clean_name(text) == name
