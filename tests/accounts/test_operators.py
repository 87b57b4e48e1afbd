"""The operators' admin pages and commands: access, content and actions."""

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
from accounts.sign_in import attempts
from tests.accounts.signers import Signer

pytestmark = pytest.mark.django_db
WALLET = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
KEYS = "/admin/accounts/apikey/"
PASSWORD = "correct horse battery staple"


@pytest.fixture(autouse=True)
def _quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashing is slow on purpose."""
    monkeypatch.setattr(PBKDF2PasswordHasher, "iterations", 1_000)


def superuser(monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", PASSWORD)
    call_command("createsuperuser", "--no-input", "--username", "keeper", stdout=StringIO())
    client = Client()
    response = client.post("/admin/login/", {"username": "keeper", "password": PASSWORD})
    assert response.status_code == 302
    return client


def wallet_operator(settings: LazySettings) -> Signer:
    signer = Signer()
    settings.OPERATORS = [signer.address]
    signer.sign_in(next="/admin/")
    return signer


def test_wallets_in_the_setting_have_access_unless_removed_or_disabled(
    settings: LazySettings,
) -> None:
    operator = wallet_operator(settings)
    assert operator.client.get("/admin/").status_code == 200
    settings.OPERATORS = []
    assert operator.client.get("/admin/").status_code == 302
    settings.OPERATORS = [operator.address]
    Account.objects.update(is_active=False)
    assert operator.client.get("/admin/").status_code == 302


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


def test_password_attempts_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "PASSWORDS_PER_NETWORK", 2)
    client = Client(headers={"Accept": "text/html"})
    wrong = {"username": "keeper", "password": "wrong"}
    assert [client.post("/admin/login/", wrong).status_code for _ in range(3)] == [200, 200, 429]
    refusal = client.post("/admin/login/", wrong)
    assert "Too many attempts" in refusal.text
    assert 0 < int(refusal["Retry-After"]) <= 600


def test_no_page_shows_a_secret_or_a_digest(settings: LazySettings) -> None:
    operator = wallet_operator(settings)
    key = manage.rotate(Account.objects.get(), ApiKey.objects.get().pk, 1, timedelta(days=1))
    text = str(manage.reveal(key))
    for path in (
        "account/",
        f"account/{key.owner_id}/change/",
        "apikey/",
        f"apikey/{key.pk}/change/",
        f"apikey/{key.pk}/history/",
    ):
        response = operator.client.get(f"/admin/accounts/{path}")
        assert response.status_code == 200, path
        assert key.id in response.text or "account" in path
        for secret in (text.rpartition("_")[2], key.digest, key.previous_digest):
            assert secret not in response.text
        inline = r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=|javascript:"
        assert not re.search(inline, response.text)


def _run_action(operator: Signer, page: str, action: str, row: Any) -> str:
    form = {
        "action": action,
        "_selected_action": row,
        "csrfmiddlewaretoken": operator.client.cookies["visit"].value,
    }
    response = operator.client.post(f"/admin/accounts/{page}/", form, follow=True)
    assert response.status_code == 200
    return str(response.text)


def test_operators_cannot_disable_themselves(settings: LazySettings) -> None:
    operator = wallet_operator(settings)
    own = Account.objects.get(address=operator.address)
    page = _run_action(operator, "account", "disable", own.pk)
    assert "Disabled: 0." in page
    assert "Unchanged: 1. You cannot disable or enable your own account" in page
    change = operator.client.post(
        f"/admin/accounts/account/{own.pk}/change/",
        {"csrfmiddlewaretoken": operator.client.cookies["visit"].value},
    )
    assert change.status_code == 403
    assert Account.objects.get().is_active


def test_operators_actions_are_logged(settings: LazySettings) -> None:
    operator, user = wallet_operator(settings), Signer()
    user.sign_in()
    account = Account.objects.get(address=user.address)
    key = account.keys.get()
    _run_action(operator, "account", "disable", account.pk)
    _run_action(operator, "account", "enable", account.pk)
    _run_action(operator, "apikey", "revoke", key.pk)
    _run_action(operator, "apikey", "revoke", key.pk)
    own = Account.objects.get(address=operator.address)
    entries = LogEntry.objects.filter(user=own).order_by("pk")
    assert [(entry.object_id, entry.change_message) for entry in entries] == [
        (str(account.pk), "Disabled."),
        (str(account.pk), "Enabled."),
        (key.pk, "Revoked."),
    ]


def test_operators_cannot_add_or_delete_rows(settings: LazySettings) -> None:
    operator = wallet_operator(settings)
    account = Account.objects.get()
    for page in ("account/add/", "apikey/add/", f"account/{account.pk}/delete/"):
        assert operator.client.get(f"/admin/accounts/{page}").status_code == 403
    assert Session.objects.count() == 1


def _create(*arguments: str) -> str:
    out = StringIO()
    call_command("create_api_key", *arguments, stdout=out)
    return out.getvalue()


def test_create_api_key_prints_a_working_key(client: Client) -> None:
    text = _create("--owner", WALLET.lower(), "--name", "Relay")
    assert re.fullmatch(r"tct_\S+\n", text)
    answer = client.get("/api-key", headers={"api-key": text.strip()}).json()
    assert (answer["owner"], answer["name"]) == (WALLET, "Relay")
    _create("--owner", WALLET)
    assert Account.objects.count() == 1
    assert set(ApiKey.objects.values_list("name", flat=True)) == {"Relay", "Command line"}


def test_create_api_key_takes_a_contract_wallets_chain(client: Client) -> None:
    text = _create("--owner", WALLET, "--chain", "10")
    answer = client.get("/api-key", headers={"api-key": text.strip()}).json()
    assert (answer["owner"], answer["ownerChainId"]) == (WALLET, "10")
    _create("--owner", WALLET)
    names = [str(account) for account in Account.objects.order_by("pk")]
    assert names == [f"{WALLET} on chain 10", WALLET]


@pytest.mark.parametrize("address", ["vitalik.eth", WALLET.replace("d8dA", "D8dA")])
def test_create_api_key_refuses_a_malformed_address(address: str) -> None:
    with pytest.raises(CommandError, match="An account's address is 0x and 40 hex digits"):
        _create("--owner", address)
    assert not Account.objects.exists()
