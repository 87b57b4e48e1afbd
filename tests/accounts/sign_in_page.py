"""The fixture `visit`: a visitor at the sign-in page."""

from dataclasses import dataclass

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.accounts.wallet import Wallet, install


@dataclass
class Visit:
    page: Page
    site: str

    def open(self, *wallets: Wallet, query: str = "") -> None:
        install(self.page, *wallets)
        self.page.goto(f"{self.site}/sign-in{query}")

    def choose(self, wallet: Wallet) -> None:
        self.page.get_by_role("button", name=wallet.name).click()

    def expect_text(self, sentence: str) -> None:
        expect(self.page.locator(".status-text")).to_contain_text(sentence)

    def expect_signed_in(self) -> None:
        expect(self.page.get_by_role("heading", name="Your first call")).to_be_visible()

    def is_signed_in(self) -> bool:
        dashboard = self.page.context.request.get(f"{self.site}/dashboard", max_redirects=0)
        return dashboard.status == 200

    def expect_retry_works(self, wallet: Wallet) -> None:
        """Expect that the next attempt on the same page works."""
        assert not self.is_signed_in()
        wallet.refuses.clear()
        wallet.holds.clear()
        expect(self.page.locator("[aria-busy]")).to_have_count(0)
        self.choose(wallet)
        self.expect_signed_in()


@pytest.fixture
def visit(page: Page, live_server: LiveServer) -> Visit:
    return Visit(page, live_server.url)
