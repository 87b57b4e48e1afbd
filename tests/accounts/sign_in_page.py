"""Someone at the sign-in page, for tests that ask for a `visit`."""

from dataclasses import dataclass

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.accounts.wallet import Wallet, install


@dataclass
class Visit:
    """Someone at the sign-in page."""

    page: Page
    site: str

    def open(self, *wallets: Wallet, query: str = "") -> None:
        install(self.page, *wallets)
        self.page.goto(f"{self.site}/sign-in{query}")

    def choose(self, wallet: Wallet) -> None:
        self.page.get_by_role("button", name=wallet.name).click()

    def reads(self, words: str) -> None:
        expect(self.page.locator(".status-text")).to_contain_text(words)

    def is_signed_in(self) -> None:
        expect(self.page.get_by_role("heading", name="Your first call")).to_be_visible()

    def was_signed_in(self) -> bool:
        asked = self.page.context.request.get(f"{self.site}/dashboard", max_redirects=0)
        return asked.status == 200

    def signs_in_after_all(self, wallet: Wallet) -> None:
        """Nothing broke: the next attempt in the same page works."""
        assert not self.was_signed_in()
        for oddities in (wallet.refuses, wallet.says, wallet.holds, wallet.then):
            oddities.clear()
        expect(self.page.locator("[aria-busy]")).to_have_count(0)
        self.choose(wallet)
        self.is_signed_in()


@pytest.fixture
def visit(page: Page, live_server: LiveServer) -> Visit:
    return Visit(page, live_server.url)
