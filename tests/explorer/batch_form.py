"""A signed-in user at the forms of a new batch and a new feed, without a browser."""

import json
import re
from html import unescape
from typing import Any

from django.conf import settings
from django.test import Client
from playwright.sync_api import Page

from accounts.models import Account
from accounts.wallets import Wallet
from tests.queries.api.served_api import SEPOLIA, WALLET

FORM_URL, FEED_URL = "/dashboard/new-batch", "/dashboard/feeds/new"
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


def sign_in_browser(page: Page, site: str) -> None:
    name = settings.SESSION_COOKIE_NAME
    page.context.add_cookies(
        [{"name": name, "value": signed_in().cookies[name].value, "url": site}]
    )


def form(client: Client, **changes: Any) -> dict[str, Any]:
    """`FORM` with the user's first key and `changes`; `__` in a name stands for a dash."""
    account = Account.objects.get(pk=client.session["_auth_user_id"])
    key = account.keys.filter(revoked_at=None).values_list("pk", flat=True).first() or ""
    return {**FORM, "key": key} | {
        name.replace("__", "-"): value for name, value in changes.items()
    }


def send(client: Client, do: str = "submit", url: str = FORM_URL, **changes: Any) -> Any:
    return client.post(url, form(client, do=do, **changes))


def check(client: Client, url: str = FORM_URL, **changes: Any) -> Any:
    """Check the form as htmx does while the user types."""
    headers = {"HX-Request": "true"}
    return client.post(f"{url}/check", form(client, **changes), headers=headers)


def request_json(answer: Any) -> Any:
    """The JSON that a page shows beside the form."""
    match = re.search(r'<code id="request-json"[^>]*>(.*?)</code>', answer.text, re.DOTALL)
    assert match
    return json.loads(unescape(match[1]))


def field_error(response: Any, field: str) -> str:
    place = rf'<p class="field-error" id="error-{field}"[^>]*>(.*?)</p>'
    match = re.search(place, response.text, re.DOTALL)
    assert match, f"{field} has no place for an error"
    return re.sub("<[^>]*>", "", match[1]).strip()
