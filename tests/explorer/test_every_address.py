"""What holds of each address of a page, those to come too: forms, sessions and caches."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import Account, ApiKey, Session
from accounts.shared.wallets import Wallet
from accounts.views import is_for_accounts
from queries.models import Batch
from tests.accounts.signers import Signer
from tests.explorer.addresses import addresses_of_pages

pytestmark = pytest.mark.django_db
# What a visitor may send: to sign in, or to end what has ended.
FOR_VISITORS = {"/sign-in", "/sign-in/message", "/sign-out", "/admin/login/", "/admin/logout/"}
OF_ACCOUNTS = {"/dashboard", "/dashboard/batches", "/dashboard/webhooks", "/dashboard/new-batch"}


def test_no_form_is_taken_without_its_token() -> None:
    """From somebody who is signed in, and may do everything here."""
    operator = Client(enforce_csrf_checks=True, headers={"Accept": "text/html"})
    operator.force_login(_operator())
    taken = [
        address
        for address in addresses_of_pages()
        if "This form could not be trusted" not in operator.post(address, {"do": "submit"}).text
    ]
    assert taken == []


def test_only_a_living_session_changes_something() -> None:
    person = Signer()
    person.sign_in()
    before = _kept()
    Session.objects.all().delete()
    form = {"csrfmiddlewaretoken": person.client.cookies["visit"].value, "do": "submit"}
    key = ApiKey.objects.get().pk
    taken = []
    for address in set(addresses_of_pages()) - FOR_VISITORS:
        answer = person.client.post(address.replace("/keys/x/", f"/keys/{key}/"), form)
        only_read = answer.status_code == 405
        if not (only_read or _leads_to_sign_in(answer) or "signed out" in answer.text):
            taken.append(address)
    assert taken == []
    assert _kept() == before


def test_what_is_somebodys_is_for_them_alone_and_kept_in_no_cache() -> None:
    visitor, operator = Client(), Client()
    operator.force_login(_operator())
    private = {each for each in addresses_of_pages() if _leads_to_sign_in(visitor.get(each))}
    assert {each for each in private if not each.startswith("/admin/")} == OF_ACCOUNTS
    for address in addresses_of_pages():
        asked_of_accounts = is_for_accounts(address) or address.startswith("/admin/")
        if address not in private | FOR_VISITORS and asked_of_accounts:
            assert visitor.get(address).status_code in {302, 405}, address
    for address in private:
        answer: Any = operator.get(address)
        assert answer.status_code == 405 or "no-store" in answer["Cache-Control"], address


def _operator() -> Account:
    account, _ = Account.objects.of_wallet(Wallet(f"0x{40 * 'a'}"))
    account.is_operator = True
    account.save()
    return account


def _leads_to_sign_in(answer: Any) -> bool:
    place: str = answer.get("Location", "")
    return place.startswith(("/sign-in?", "/admin/login/?"))


def _kept() -> list[Any]:
    return [list(ApiKey.objects.values()), list(Account.objects.values()), Batch.objects.count()]
