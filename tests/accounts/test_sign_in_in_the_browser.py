"""Signing in with a wallet in a real browser."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, Response, expect

from accounts.models import Account
from tests.accounts.sign_in_page import Visit
from tests.accounts.wallet import Wallet, install
from tests.browser import Pictures

pytestmark = [pytest.mark.browser, pytest.mark.either_database]

OTHER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


@pytest.fixture
def documents(page: Page) -> Iterator[list[str]]:
    """Collect the documents that the page loads."""
    loaded: list[str] = []

    def note(response: Response) -> None:
        if response.request.is_navigation_request():
            loaded.append(f"{response.status} {response.url}")

    page.on("response", note)
    yield loaded
    page.remove_listener("response", note)


def test_signing_in_from_the_start_page_loads_three_documents(
    visit: Visit, wallet: Wallet, documents: list[str]
) -> None:
    install(visit.page, wallet)
    visit.page.goto(visit.site)
    visit.page.get_by_role("link", name="Sign in").click()
    visit.choose(wallet)
    visit.expect_signed_in()
    assert documents == [
        f"200 {visit.site}/",
        f"200 {visit.site}/sign-in",
        f"200 {visit.site}/dashboard",
    ]
    assert wallet.requests == [
        "eth_requestAccounts",
        "eth_chainId",
        "personal_sign",
        "eth_accounts",
        "eth_chainId",
    ]
    assert Account.objects.get().address.lower() == wallet.accounts[0].lower()  # type: ignore[union-attr]


def test_signing_in_leads_to_the_requested_page(visit: Visit, wallet: Wallet) -> None:
    visit.open(wallet, query="?next=/%23trust")
    visit.choose(wallet)
    visit.page.wait_for_url(f"{visit.site}/#trust")
    visit.page.go_back()
    assert "/sign-in" not in visit.page.url  # "back" skips the sign-in page


def test_the_keyboard_suffices(visit: Visit, wallet: Wallet) -> None:
    visit.open(wallet)
    expect(visit.page.get_by_role("button", name=wallet.name)).to_be_visible()
    for _ in range(20):
        visit.page.keyboard.press("Tab")
        if visit.page.evaluate("document.activeElement.matches('.wallet')"):
            break
    visit.page.keyboard.press("Enter")
    visit.expect_signed_in()


def test_a_double_click_sends_one_request(visit: Visit, wallet: Wallet) -> None:
    wallet.holds = {"eth_requestAccounts"}
    visit.open(wallet)
    visit.page.get_by_role("button", name=wallet.name).dblclick()
    visit.expect_text("choose the account")
    assert wallet.requests == ["eth_requestAccounts"]


def _switch_account(wallet: Wallet) -> None:
    wallet.accounts = [OTHER]


def _switch_network(wallet: Wallet) -> None:
    wallet.chain = "0x1"


CHANGES = [
    (
        _switch_account,
        ("accountsChanged", [OTHER]),
        "The wallet changed from 0xf39f…2266 to 0x7099",
    ),
    (_switch_network, ("chainChanged", "0x1"), "The wallet changed to another network"),
    (_switch_account, ("accountsChanged", []), "shows no account. Unlock it"),
]


@pytest.mark.parametrize(("change", "event", "sentence"), CHANGES)
def test_a_change_in_the_wallet_ends_the_attempt_at_once(
    visit: Visit,
    wallet: Wallet,
    change: Callable[[Wallet], None],
    event: tuple[str, object],
    sentence: str,
) -> None:
    wallet.holds = {"personal_sign"}
    visit.open(wallet)
    visit.choose(wallet)
    visit.expect_text("sign the message")
    change(wallet)
    wallet.emit(*event)
    visit.expect_text(sentence)
    wallet.release()
    assert wallet.in_page("listeners()") == 0
    visit.expect_retry_works(wallet)


def test_every_state_of_the_page_fits_the_window(
    visit: Visit, two_wallets: tuple[Wallet, Wallet], pictures: Pictures
) -> None:
    wallet, other_wallet = two_wallets
    wallet.refuses = {"personal_sign": (4001, "")}
    other_wallet.holds = {"personal_sign"}
    visit.open(wallet, other_wallet)
    for name, act, sentence in (
        ("two", lambda: None, "No wallet receives a request"),
        ("waiting", lambda: visit.choose(other_wallet), "sign the message"),
        ("declined", lambda: visit.choose(wallet), "You declined"),
    ):
        act()
        visit.expect_text(sentence)
        pictures.check_fit(visit.page, f"sign-in-{name}", (360, 1200, 1920))
