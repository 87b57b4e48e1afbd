"""Rules for all pages, present and future: CSRF tokens, sessions and caches."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import Account, ApiKey, Session
from accounts.views import needs_account
from accounts.wallets import Wallet
from queries.models import Batch
from tests.accounts.signers import Signer
from tests.explorer.addresses import page_paths

pytestmark = [pytest.mark.django_db, pytest.mark.either_database]
# Forms that work without a session.
VISITOR_FORMS = {"/sign-in", "/sign-in/message", "/sign-out", "/admin/login/", "/admin/logout/"}
SECTIONS = (
    "", "/batches", "/feeds", "/feeds/new", "/keys", "/webhooks", "/usage", "/sessions",
    "/new-batch",
)  # fmt: skip
ACCOUNT_PAGES = {f"/dashboard{section}" for section in SECTIONS}


def test_every_form_needs_a_csrf_token() -> None:
    operator = Client(enforce_csrf_checks=True, headers={"Accept": "text/html"})
    operator.force_login(_operator())
    accepted = [
        path
        for path in page_paths()
        if "This form could not be trusted" not in operator.post(path, {"do": "submit"}).text
    ]
    assert accepted == []


def test_a_form_without_a_session_changes_nothing() -> None:
    person = Signer()
    person.sign_in()
    before = _rows()
    Session.objects.all().delete()
    form = {"csrfmiddlewaretoken": person.client.cookies["visit"].value, "do": "submit"}
    key = ApiKey.objects.get().pk
    accepted = []
    for path in set(page_paths()) - VISITOR_FORMS:
        answer = person.client.post(path.replace("/keys/x/", f"/keys/{key}/"), form)
        is_get_only = answer.status_code == 405
        if not (is_get_only or _leads_to_sign_in(answer) or "signed out" in answer.text):
            accepted.append(path)
    assert accepted == []
    assert _rows() == before


def test_private_pages_need_a_session_and_are_not_cached() -> None:
    visitor, operator = Client(), Client()
    operator.force_login(_operator())
    private = {path for path in page_paths() if _leads_to_sign_in(visitor.get(path))}
    assert {path for path in private if not path.startswith("/admin/")} == ACCOUNT_PAGES
    for path in set(page_paths()) - private - VISITOR_FORMS:
        if needs_account(path) or path.startswith("/admin/"):
            assert visitor.get(path).status_code in {302, 405}, path
    for path in private:
        answer: Any = operator.get(path)
        assert answer.status_code == 405 or "no-store" in answer["Cache-Control"], path


def _operator() -> Account:
    account, _ = Account.objects.get_or_create_for_wallet(Wallet(f"0x{40 * 'a'}"))
    account.is_operator = True
    account.save()
    return account


def _leads_to_sign_in(answer: Any) -> bool:
    location: str = answer.get("Location", "")
    return location.startswith(("/sign-in?", "/admin/login/?"))


def _rows() -> list[Any]:
    return [list(ApiKey.objects.values()), list(Account.objects.values()), Batch.objects.count()]
