"""A signed-in user at the form of a new batch, without a browser."""

import re
from typing import Any

from django.test import Client

from accounts.models import Account
from accounts.wallets import Wallet
from tests.queries.api.served_api import SEPOLIA, WALLET

FORM_URL = "/dashboard/new-batch"
FORM: dict[str, Any] = {
    "destination": str(SEPOLIA),
    "source": str(SEPOLIA),
    "block": "5186021",
    "account": WALLET,
    "props": ["BALANCE"],
    "idempotency-key": "page-1",
}


def wallet_account(wallet: str = WALLET) -> Account:
    account, _ = Account.objects.get_or_create_for_wallet(Wallet(wallet))
    return account


def signed_in(wallet: str = WALLET, **options: Any) -> Client:
    client = Client(**options)
    client.force_login(wallet_account(wallet), backend="django.contrib.auth.backends.ModelBackend")
    return client


def form(client: Client, **changes: Any) -> dict[str, Any]:
    """`FORM` with the user's first key and `changes`; `__` in a name stands for a dash."""
    account = Account.objects.get(pk=client.session["_auth_user_id"])
    key = account.keys.filter(revoked_at=None).values_list("pk", flat=True).first() or ""
    return {**FORM, "key": key} | {
        name.replace("__", "-"): value for name, value in changes.items()
    }


def send(client: Client, do: str = "submit", **changes: Any) -> Any:
    return client.post(FORM_URL, form(client, do=do, **changes))


def check(client: Client, **changes: Any) -> Any:
    """Check the form as htmx does while the user types."""
    headers = {"HX-Request": "true"}
    return client.post(f"{FORM_URL}/check", form(client, **changes), headers=headers)


def field_error(response: Any, field: str) -> str:
    place = rf'<p class="field-error" id="error-{field}"[^>]*>(.*?)</p>'
    match = re.search(place, response.text, re.DOTALL)
    assert match, f"{field} has no place for an error"
    return re.sub("<[^>]*>", "", match[1]).strip()
