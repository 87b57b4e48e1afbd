"""API keys: shown again, found, renamed, rotated, revoked, and never in the database."""

import re
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from accounts import api_keys
from accounts.api_keys import LONGEST_NAME, UNNAMED, key_name
from accounts.errors import Refusal
from accounts.key_text import KEY, KEY_PREFIX
from accounts.models import Account, Allowance, ApiKey
from accounts.wallets import Wallet
from tests.accounts.concurrency import all_at_once
from tests.accounts.signers import Signer

pytestmark = pytest.mark.django_db
WALLET = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
HOUR = timedelta(hours=1)


def owner() -> Account:
    return Account.objects.of_wallet(Wallet(WALLET))[0]


def make_key(name: str = "Bridge") -> tuple[ApiKey, str]:
    key = api_keys.add_key(owner(), name)
    text = api_keys.shown(key)
    assert text is not None
    return key, text


def ask(text: str, **headers: str) -> Any:
    return Client().get("/api-key", headers={"api-key": text, **headers})


def test_a_key_can_be_recognised() -> None:
    _, text = make_key()
    assert re.fullmatch("tct_[a-z2-7]{10}_[a-z2-7]{32}", text)
    assert KEY.fullmatch(text)
    assert text.startswith(KEY_PREFIX)


def test_no_column_of_the_database_holds_a_key_or_its_secret() -> None:
    key, text = make_key()
    held = " ".join(str(value) for value in ApiKey.objects.values().get().values())
    assert text not in held
    assert text.rpartition("_")[2] not in held
    assert key.id in held


def test_the_same_key_is_shown_again_and_another_server_cannot_show_it(
    settings: LazySettings,
) -> None:
    key, text = make_key()
    assert api_keys.shown(ApiKey.objects.get()) == text
    first = settings.SECRET_KEY
    settings.SECRET_KEY = "another-server" * 5
    assert api_keys.shown(key) is None
    assert ask(text).status_code == 200  # it works, for its digest is known
    settings.SECRET_KEY_FALLBACKS = ["not this one", first]
    assert api_keys.shown(key) == text


def test_it_is_told_what_it_is() -> None:
    key, text = make_key()
    answer = ask(text)
    told = answer.json()
    assert answer.status_code == 200
    assert answer["Cache-Control"].startswith("max-age=0")
    assert told == {
        "id": key.id,
        "name": "Bridge",
        "owner": WALLET,
        "ownerChainId": None,
        "created": key.created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "limits": {"requests": 600, "seconds": 60},
        "use": {"today": 1, "total": 1, "last": told["use"]["last"]},
    }
    last = datetime.fromisoformat(told["use"]["last"])
    assert abs(last - datetime.now(UTC)) < timedelta(seconds=10)
    assert ask(text).json()["use"]["total"] == 2


def test_the_key_comes_in_the_header_or_the_url_and_the_header_decides() -> None:
    key, text = make_key()
    _, other = make_key("Other")
    assert Client().get("/api-key", {"apiKey": text}).json()["id"] == key.id
    both = Client().get("/api-key", {"apiKey": other}, headers={"api-key": text})
    assert both.json()["id"] == key.id
    wrong = Client().get("/api-key", {"apiKey": text}, headers={"api-key": "nonsense"})
    assert wrong.json()["code"] == "key_unknown"
    assert wrong.json()["path"] == "api-key"
    assert Client().get("/api-key", {"apiKey": "nonsense"}).json()["path"] == "apiKey"
    assert Client().get("/api-key").json()["path"] == "api-key"
    assert "api-key" in both["Vary"]


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


def test_rotated_at_once_the_old_secret_is_refused() -> None:
    key, old = make_key()
    rotated = api_keys.rotate(owner(), key.id, 1, timedelta(0))
    new = api_keys.shown(rotated)
    assert new is not None
    assert new != old
    assert new[:14] == old[:14]
    assert ask(old).json()["code"] == "key_unknown"
    assert ask(new).status_code == 200


def test_rotated_with_grace_both_work_until_it_ends() -> None:
    key, old = make_key()
    new = api_keys.shown(api_keys.rotate(owner(), key.id, 1, HOUR))
    assert new is not None
    assert [ask(text).status_code for text in (old, new)] == [200, 200]
    ApiKey.objects.update(previous_until=datetime.now(UTC) - timedelta(seconds=1))
    assert [ask(text).status_code for text in (old, new)] == [401, 200]


def test_rotated_again_only_the_last_secret_before_has_grace() -> None:
    key, first = make_key()
    second = api_keys.shown(api_keys.rotate(owner(), key.id, 1, HOUR))
    third = api_keys.shown(api_keys.rotate(owner(), key.id, 2, HOUR))
    assert second is not None
    assert third is not None
    assert [ask(text).status_code for text in (first, second, third)] == [401, 200, 200]


def test_revoked_it_is_refused_at_once_with_both_secrets() -> None:
    key, old = make_key()
    new = api_keys.shown(api_keys.rotate(owner(), key.id, 1, HOUR))
    assert new is not None
    api_keys.revoke(owner(), key.id)
    assert ask(new).json()["code"] == "key_revoked"
    assert ask(old).json()["code"] == "key_unknown"


def test_a_disabled_owners_key_is_refused() -> None:
    _, text = make_key()
    Account.objects.update(is_active=False)
    answer = ask(text)
    assert (answer.status_code, answer.json()["code"]) == (401, "account_disabled")


def test_a_strangers_key_cannot_be_touched() -> None:
    key, text = make_key()
    stranger = Signer()
    stranger.sign_in()
    for path, form in (
        ("rename", {"name": "mine"}),
        ("rotate", {"grace": "0", "version": "1"}),
        ("revoke", {}),
    ):
        token = stranger.client.cookies["visit"].value
        answer = stranger.client.post(
            f"/keys/{key.id}/{path}", {**form, "csrfmiddlewaretoken": token}, follow=True
        )
        assert "There is no such key" in answer.text
    assert ask(text).json()["name"] == "Bridge"


def test_the_forms_of_the_dashboard() -> None:
    signer = Signer()
    signer.sign_in()

    def post(path: str, **form: str) -> str:
        token = signer.client.cookies["visit"].value
        answer = signer.client.post(path, {**form, "csrfmiddlewaretoken": token}, follow=True)
        assert answer.redirect_chain == [("/dashboard", 302)]
        return str(answer.text)

    assert "The key “Bridge &lt;b&gt;” is ready." in post("/keys", name="  Bridge \u0000 <b> ")
    key = ApiKey.objects.get(name="Bridge <b>")
    assert "called “Relay” now" in post(f"/keys/{key.id}/rename", name="Relay")
    first = api_keys.shown(key)
    assert first is not None
    assert "The old one ends after 1 day." in post(
        f"/keys/{key.id}/rotate", grace="86400", version="1"
    )
    assert ask(first).status_code == 200
    assert "The old one ends at once." in post(
        f"/keys/{key.id}/rotate", grace="nonsense", version="2"
    )
    assert ask(first).status_code == 401
    assert "“Relay” is revoked" in post(f"/keys/{key.id}/revoke")
    assert "There is no such key" in post(f"/keys/{key.id}/revoke")
    assert "Unnamed key" in post("/keys", name=" \n ")


def test_an_account_has_so_many_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_keys, "KEYS_OF_AN_ACCOUNT", 2)
    key, _ = make_key()
    make_key()
    with pytest.raises(Refusal, match="at most 2 keys"):
        make_key()
    api_keys.revoke(owner(), key.id)
    make_key()


def test_making_and_rotating_have_one_allowance_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_keys, "CHANGES_AN_HOUR", 2)
    signer = Signer()
    signer.sign_in()
    first = ApiKey.objects.get()  # which sign-in made, and nobody asked for

    def post(path: str, **form: str) -> str:
        form["csrfmiddlewaretoken"] = signer.client.cookies["visit"].value
        return str(signer.client.post(path, form, follow=True).text)

    assert "is ready" in post("/keys", name="One")
    assert "has a new secret" in post(f"/keys/{first.pk}/rotate", version="1")
    refused = "An account makes or rotates 2 keys an hour. Try again in 60 minutes."
    assert refused in post("/keys", name="Two")
    assert refused in post(f"/keys/{first.pk}/rotate", version="2")
    assert "is revoked" in post(f"/keys/{first.pk}/revoke")  # which is never too much
    assert ApiKey.objects.count() == 2


def test_of_revoked_keys_the_newest_are_kept_with_their_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(api_keys, "REVOKED_KEPT", 2)
    made = [make_key(str(number)) for number in range(4)]
    other = api_keys.add_key(Account.objects.of_wallet(Wallet(WALLET, 10))[0], "Another's")
    api_keys.revoke(Account.objects.get(chain_id=10), other.pk)
    for key, text in made:
        ask(text)
        api_keys.revoke(owner(), key.pk)
    kept = {made[2][0].pk, made[3][0].pk}
    assert set(ApiKey.objects.values_list("pk", flat=True)) == kept | {other.pk}
    used = Allowance.objects.values_list("subject", flat=True)
    assert set(used) == {f"key {pk}" for pk in kept}


@pytest.mark.django_db(transaction=True)
def test_so_many_also_when_they_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_keys, "KEYS_OF_AN_ACCOUNT", 5)
    account = owner()

    def make(_: int) -> bool:
        try:
            api_keys.add_key(account, "One of many")
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
            return api_keys.rotate(account, key.id, 1, HOUR)
        except Refusal:
            return None

    (rotated,) = filter(None, all_at_once(rotate, 20))
    key.refresh_from_db()
    assert (rotated.version, key.version) == (2, 2)
    assert (rotated.digest, rotated.previous_digest) == (key.digest, key.previous_digest)
    assert ask(str(api_keys.shown(key))).status_code == 200


def test_a_second_click_or_window_does_not_end_what_was_promised_a_grace() -> None:
    """Both forms were made for the same version, and the second finds another."""
    signer = Signer()
    signer.sign_in()
    key = ApiKey.objects.get()
    first = str(api_keys.shown(key))

    def post(path: str, **form: str) -> str:
        token = signer.client.cookies["visit"].value
        form["csrfmiddlewaretoken"] = token
        return str(signer.client.post(f"/keys/{key.id}/{path}", form, follow=True).text)

    assert "has a new secret" in post("rotate", grace="86400", version="1")
    for late in ({"version": "1"}, {"version": "3"}, {"version": "x"}, {"version": "²"}, {}):
        assert "changed in another window" in post("rotate", grace="0", **late)
        assert "changed in another window" in post("end-grace", **late)
    key.refresh_from_db()
    assert (key.version, ask(first).status_code) == (2, 200)
    assert "with its newest secret alone" in post("end-grace", version="2")
    assert ask(first).status_code == 401
    assert ask(str(api_keys.shown(key))).status_code == 200


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("  Two\n words\t", "Two words"),
        ("Cafe\u0301", "Caf\u00e9"),
        ("a" + 40 * "\u0335" + "b", "a\u0335\u0335b"),
        ("ab\u202ecd\u2066e\u200df", "abcdef"),
        ("\u202e\u200b", "Unnamed key"),
        ("", "Unnamed key"),
        ("w" * 59 + " ww", "w" * 59),
        ("नमस्ते", "नमस्ते"),
    ],
)
def test_a_name_neither_hides_nor_spoils_anything(typed: str, name: str) -> None:
    assert key_name(typed) == name


@pytest.mark.parametrize(
    "typed", ["\u3164", "\u2800", "\u115f\u1160", "\ufe0f", "\U000e0100", "\u0300", "\u200b \n"]
)
def test_a_name_that_nobody_sees_is_none(typed: str) -> None:
    assert key_name(typed) == UNNAMED


def test_a_name_of_a_million_marks_is_read_at_once() -> None:
    """To compose them takes time that grows with their square, and stops the whole process."""
    begin = time.monotonic()
    assert len(key_name("a" + 1_000_000 * "\u0300\u0316")) <= LONGEST_NAME
    assert time.monotonic() - begin < 0.5


@pytest.mark.parametrize("name", ["rename-key", "rotate-key", "revoke-key", "end-session"])
def test_an_address_that_no_database_could_look_up_is_none(name: str) -> None:
    """PostgreSQL takes no NUL."""
    there = reverse(name, args=["one"])
    assert Client().post(there).status_code != 404
    assert Client().post(there.replace("one", "%00")).status_code == 404
