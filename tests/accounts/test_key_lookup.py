"""How a key that someone shows is compared with those that are held."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils.crypto import constant_time_compare

from accounts import api_keys, key_lookup
from accounts.key_text import key_digest
from accounts.models import Account
from accounts.wallets import Wallet

pytestmark = pytest.mark.django_db


def _status(text: str) -> int:
    return Client().get("/api-key", headers={"api-key": text}).status_code


def test_how_much_of_a_secret_is_right_does_not_show_in_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both digests are compared to their ends each time, and nothing but that lets anyone in."""
    owner, _ = Account.objects.of_wallet(Wallet("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"))
    key = api_keys.add_key(owner, "Bridge")
    old = api_keys.shown(key) or ""
    new = api_keys.shown(api_keys.rotate(owner, key.id, 1, timedelta(hours=1))) or ""
    compared: list[tuple[str, str]] = []

    def see(given: str, held: str) -> bool:
        compared.append((given, held))
        return constant_time_compare(given, held)

    monkeypatch.setattr(key_lookup, "constant_time_compare", see)
    wrong = new[:-1] + ("a" if new[-1] != "a" else "b")
    for text, status in ((new, 200), (old, 200), (wrong, 401)):
        compared.clear()
        assert _status(text) == status
        assert compared == [(key_digest(text), key_digest(each)) for each in (new, old)]
    monkeypatch.setattr(key_lookup, "constant_time_compare", lambda *_: False)
    assert (_status(new), _status(old)) == (401, 401)
