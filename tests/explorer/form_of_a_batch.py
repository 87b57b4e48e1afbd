"""Someone who is signed in at the form of a new batch, without a browser."""

import re
from typing import Any

from django.test import Client

from accounts.models import Account
from accounts.shared.wallets import Wallet
from tests.queries.api.served_api import SEPOLIA, WALLET

ADDRESS = "/dashboard/new-batch"
TYPED: dict[str, Any] = {
    "part": "0",
    "destination": str(SEPOLIA),
    "source-0": str(SEPOLIA),
    "block-0": "5186021",
    "account-0": WALLET,
    "props-0": ["BALANCE"],
    "idempotency-key": "page-1",
}


def account_of(wallet: str = WALLET) -> Account:
    account, _ = Account.objects.of_wallet(Wallet(wallet))
    return account


def signed_in(wallet: str = WALLET, **options: Any) -> Client:
    client = Client(**options)
    client.force_login(account_of(wallet), backend="django.contrib.auth.backends.ModelBackend")
    return client


def send(client: Client, do: str = "submit", **changes: Any) -> Any:
    """`TYPED`, changed; a dash in a field's name is written as two underscores."""
    changed = {name.replace("__", "-"): value for name, value in changes.items()}
    key = account_of().keys.filter(revoked_at=None).values_list("pk", flat=True).first() or ""
    return client.post(ADDRESS, {**TYPED, "key": key, "do": do} | changed)


def check(client: Client, **changes: Any) -> Any:
    changed = {name.replace("__", "-"): value for name, value in changes.items()}
    key = account_of().keys.values_list("pk", flat=True).first() or ""
    headers = {"HX-Request": "true"}
    return client.post(f"{ADDRESS}/check", {**TYPED, "key": key} | changed, headers=headers)


def fault_at(answer: Any, field: str) -> str:
    """What is said beside a field, without its marks."""
    found = re.search(rf'<p class="field-error" id="error-{field}"[^>]*>(.*?)</p>', answer.text)
    assert found, f"nothing is ever said beside {field}"
    return re.sub("<[^>]*>", "", found[1])
