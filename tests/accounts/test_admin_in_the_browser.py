"""The admin pages in a real browser, under the Content Security Policy."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.keys import manage
from accounts.models import Account
from accounts.wallets import Wallet
from tests.browser import Pictures

pytestmark = [pytest.mark.browser, pytest.mark.either_database]
WALLET = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
PASSWORD = "correct horse battery staple"


def _sign_in(page: Page, live_server: LiveServer) -> None:
    Account.objects.create_superuser("keeper", PASSWORD)
    page.goto(f"{live_server.url}/admin/")
    page.get_by_label("Username").fill("keeper")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.locator("#user-tools strong")).to_have_text("keeper")


def test_every_admin_page_fits_the_window(
    page: Page, live_server: LiveServer, pictures: Pictures
) -> None:
    page.goto(f"{live_server.url}/admin/")
    pictures.check_fit(page, "admin-login")
    _sign_in(page, live_server)
    owner, _ = Account.objects.get_or_create_for_wallet(Wallet(WALLET, 10))
    key = manage.add_key(owner, "a-name-without-any-space-that-goes-on-and-on-and-on-to-60")
    keeper = Account.objects.get(username="keeper")
    paths = {
        "index": "",
        "app": "accounts/",
        "accounts": "accounts/account/",
        "account": f"accounts/account/{owner.pk}/change/",
        "own-account": f"accounts/account/{keeper.pk}/change/",
        "keys": "accounts/apikey/",
        "key": f"accounts/apikey/{key.pk}/change/",
        "history": f"accounts/apikey/{key.pk}/history/",
        "password": "password_change/",
    }
    for name, path in paths.items():
        page.goto(f"{live_server.url}/admin/{path}")
        pictures.check_fit(page, f"admin-{name}")


def test_an_operator_revokes_a_key_in_the_list(page: Page, live_server: LiveServer) -> None:
    _sign_in(page, live_server)
    owner, _ = Account.objects.get_or_create_for_wallet(Wallet(WALLET))
    manage.add_key(owner, "Bridge")
    page.get_by_role("link", name="API keys").click()
    page.locator(".action-select").check()
    page.get_by_label("Action:").select_option("Revoke")
    page.get_by_role("button", name="Go", exact=True).click()
    expect(page.locator(".messagelist")).to_have_text("Revoked: 1.")
    expect(page.locator(".field-revoked_at")).not_to_have_text("-")
    page.goto(f"{live_server.url}/admin/")
    expect(page.locator("#recent-actions-module li")).to_have_count(1)
