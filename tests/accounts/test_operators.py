"""The operator's pages: who may come in, what they show, and what they can do."""

import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.admin.models import LogEntry
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.keys import manage
from accounts.models import Account, ApiKey, Session
from accounts.shared import rate_limits
from tests.accounts.signers import Signer

pytestmark = pytest.mark.django_db
WALLET = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
KEYS = "/admin/accounts/apikey/"
PASSWORD = "correct horse battery staple"  # noqa: S105


@pytest.fixture(autouse=True)
def _quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """A password's hash is to take long, and here it is made and checked again and again."""
    monkeypatch.setattr(PBKDF2PasswordHasher, "iterations", 1_000)


def superuser(monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", PASSWORD)
    call_command("createsuperuser", "--no-input", "--username", "keeper", stdout=StringIO())
    client = Client()
    answer = client.post("/admin/login/", {"username": "keeper", "password": PASSWORD})
    assert answer.status_code == 302
    return client


def wallet_operator(settings: LazySettings) -> Signer:
    signer = Signer()
    settings.OPERATORS = [signer.address]
    signer.sign_in(next="/admin/")
    return signer


def test_a_wallet_that_the_settings_name_comes_in_until_they_do_not(settings: LazySettings) -> None:
    operator = wallet_operator(settings)
    assert operator.client.get("/admin/").status_code == 200
    settings.OPERATORS = []
    assert operator.client.get("/admin/").status_code == 302


def test_a_disabled_operator_is_out(settings: LazySettings) -> None:
    operator = wallet_operator(settings)
    Account.objects.update(is_active=False)
    assert operator.client.get("/admin/").status_code == 302


def test_one_whom_createsuperuser_made_comes_in(monkeypatch: pytest.MonkeyPatch) -> None:
    assert superuser(monkeypatch).get("/admin/").status_code == 200


def test_a_short_password_is_refused() -> None:
    with pytest.raises(ValidationError, match="12 characters"):
        validate_password("kelp4-Stoat")
    validate_password("kelp4-Stoat!")


def test_a_new_password_ends_the_other_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    here = superuser(monkeypatch)
    elsewhere = Client()
    elsewhere.post("/admin/login/", {"username": "keeper", "password": PASSWORD})
    assert elsewhere.get("/admin/").status_code == 200
    new = "battery staple correct horse"
    form = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert here.post("/admin/password_change/", form).status_code == 302
    assert here.get("/admin/").status_code == 200
    assert elsewhere.get("/admin/").status_code == 302


def test_passwords_are_tried_so_often_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "PASSWORDS_OF_A_NETWORK", 2)
    client = Client(headers={"Accept": "text/html"})
    wrong = {"username": "keeper", "password": "wrong"}
    assert [client.post("/admin/login/", wrong).status_code for _ in range(3)] == [200, 200, 429]
    refused = client.post("/admin/login/", wrong)
    assert "Too many attempts" in refused.text
    assert 0 < int(refused["Retry-After"]) <= 600


def test_no_page_shows_a_secret_or_a_digest(settings: LazySettings) -> None:
    operator = wallet_operator(settings)
    key = manage.rotate(Account.objects.get(), ApiKey.objects.get().pk, 1, timedelta(days=1))
    text = str(manage.shown(key))
    for path in (
        "account/",
        f"account/{key.owner_id}/change/",
        "apikey/",
        f"apikey/{key.pk}/change/",
        f"apikey/{key.pk}/history/",
    ):
        answer = operator.client.get(f"/admin/accounts/{path}")
        assert answer.status_code == 200, path
        assert key.id in answer.text or "account" in path
        for secret in (text.rpartition("_")[2], key.digest, key.previous_digest):
            assert secret not in answer.text
        inline = r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=|javascript:"
        assert not re.search(inline, answer.text)


def _act(operator: Signer, page: str, action: str, row: Any) -> str:
    form = {
        "action": action,
        "_selected_action": row,
        "csrfmiddlewaretoken": operator.client.cookies["visit"].value,
    }
    answer = operator.client.post(f"/admin/accounts/{page}/", form, follow=True)
    assert answer.status_code == 200
    return str(answer.text)


def _save(client: Client, account: Account, **form: str) -> None:
    """The form of an account's page, without the tick at `enabled`."""
    token = client.cookies["visit"].value if "visit" in client.cookies else ""
    path = f"/admin/accounts/account/{account.pk}/change/"
    answer = client.post(path, {**form, "csrfmiddlewaretoken": token}, follow=True)
    assert answer.status_code == 200


def test_nobody_disables_himself_in_either_place(settings: LazySettings) -> None:
    operator = wallet_operator(settings)
    own = Account.objects.get(address=operator.address)
    page = _act(operator, "account", "disable", own.pk)
    assert "Disabled: 0." in page
    assert "Unchanged: 1. You cannot disable or enable your own account" in page
    _save(operator.client, own)
    assert Account.objects.get().is_active


def test_what_an_operator_does_is_written_down(settings: LazySettings) -> None:
    operator, person = wallet_operator(settings), Signer()
    person.sign_in()
    account = Account.objects.get(address=person.address)
    key = account.keys.get()
    _act(operator, "account", "disable", account.pk)
    _act(operator, "account", "enable", account.pk)
    _act(operator, "apikey", "revoke", key.pk)
    _act(operator, "apikey", "revoke", key.pk)
    by = Account.objects.get(address=operator.address)
    done = LogEntry.objects.filter(user=by).order_by("pk")
    assert [(each.object_id, each.change_message) for each in done] == [
        (str(account.pk), "Disabled."),
        (str(account.pk), "Enabled."),
        (key.pk, "Revoked."),
    ]


def test_nothing_is_added_or_deleted_by_hand(settings: LazySettings) -> None:
    operator = wallet_operator(settings)
    account = Account.objects.get()
    for page in ("account/add/", "apikey/add/", f"account/{account.pk}/delete/"):
        assert operator.client.get(f"/admin/accounts/{page}").status_code == 403
    assert Session.objects.count() == 1


def _create(*arguments: str) -> str:
    out = StringIO()
    call_command("create_api_key", *arguments, stdout=out)
    return out.getvalue()


def test_a_key_is_made_without_a_browser(client: Client) -> None:
    text = _create("--owner", WALLET.lower(), "--name", "Relay")
    assert re.fullmatch(r"tct_\S+\n", text)
    told = client.get("/api-key", headers={"api-key": text.strip()}).json()
    assert (told["owner"], told["name"]) == (WALLET, "Relay")
    _create("--owner", WALLET)
    assert Account.objects.count() == 1
    assert set(ApiKey.objects.values_list("name", flat=True)) == {"Relay", "Command line"}


def test_a_contract_wallet_is_named_with_its_chain(client: Client) -> None:
    text = _create("--owner", WALLET, "--chain", "10")
    told = client.get("/api-key", headers={"api-key": text.strip()}).json()
    assert (told["owner"], told["ownerChainId"]) == (WALLET, "10")
    _create("--owner", WALLET)
    assert [str(each) for each in Account.objects.order_by("pk")] == [
        f"{WALLET} on chain 10",
        WALLET,
    ]


def test_its_owner_finds_it_after_signing_in() -> None:
    signer = Signer()
    _create("--owner", signer.address)
    signer.sign_in()
    assert [key.name for key in Account.objects.get().keys.all()] == ["Command line"]


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("vitalik.eth", "An account's address is 0x and 40 hex digits"),
        (WALLET.replace("d8dA", "D8dA"), "An account's address is 0x and 40 hex digits"),
    ],
)
def test_an_address_that_is_none_makes_no_key(address: str, sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence):
        _create("--owner", address)
    assert not Account.objects.exists()
