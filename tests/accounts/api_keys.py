"""An account with API keys, and requests with them."""

from typing import Any

from django.test import Client

from accounts.keys import manage
from accounts.models import Account, ApiKey
from accounts.wallets import Wallet

WALLET = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"


def owner() -> Account:
    return Account.objects.get_or_create_for_wallet(Wallet(WALLET))[0]


def make_key() -> tuple[ApiKey, str]:
    key = manage.add_key(owner(), "Bridge")
    return key, str(manage.reveal(key))


def request_with(text: str) -> Any:
    return Client().get("/api-key", headers={"api-key": text})
