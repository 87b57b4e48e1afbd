"""Signing in: a real browser, a wallet that really signs, and all that may go wrong between."""

from collections.abc import Callable, Iterator
from itertools import product

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
    """Every document that the page loads."""
    loaded: list[str] = []

    def note(response: Response) -> None:
        if response.request.is_navigation_request():
            loaded.append(f"{response.status} {response.url}")

    page.on("response", note)
    yield loaded
    page.remove_listener("response", note)


def test_from_the_start_page_to_the_key_in_one_load_after_the_signature(
    visit: Visit, wallet: Wallet, documents: list[str]
) -> None:
    install(visit.page, wallet)
    visit.page.goto(visit.site)
    visit.page.get_by_role("link", name="Sign in").click()
    visit.choose(wallet)
    visit.is_signed_in()
    assert documents == [
        f"200 {visit.site}/",
        f"200 {visit.site}/sign-in",
        f"200 {visit.site}/dashboard",
    ]
    assert wallet.asked == [
        "eth_requestAccounts",
        "eth_chainId",
        "personal_sign",
        "eth_accounts",
        "eth_chainId",
    ]
    assert Account.objects.get().address.lower() == wallet.accounts[0].lower()  # type: ignore[union-attr]


def test_it_goes_on_where_the_visitor_wanted_to_go(visit: Visit, wallet: Wallet) -> None:
    visit.open(wallet, query="?next=/%23trust")
    visit.choose(wallet)
    visit.page.wait_for_url(f"{visit.site}/#trust")
    visit.page.go_back()
    assert "/sign-in" not in visit.page.url  # a sign-in that is over is nowhere to go back to


def test_with_the_keyboard_alone(visit: Visit, wallet: Wallet) -> None:
    visit.open(wallet)
    expect(visit.page.get_by_role("button", name=wallet.name)).to_be_visible()
    for _ in range(20):
        visit.page.keyboard.press("Tab")
        if visit.page.evaluate("document.activeElement.matches('.wallet')"):
            break
    visit.page.keyboard.press("Enter")
    visit.is_signed_in()


def test_a_second_click_asks_the_wallet_nothing_twice(visit: Visit, wallet: Wallet) -> None:
    wallet.holds = {"eth_requestAccounts"}
    visit.open(wallet)
    visit.page.get_by_role("button", name=wallet.name).dblclick()
    visit.reads("choose the account")
    assert wallet.asked == ["eth_requestAccounts"]


def _another_account(wallet: Wallet) -> None:
    wallet.accounts = [OTHER]


def _another_network(wallet: Wallet) -> None:
    wallet.chain = "0x1"


CHANGES = [
    (
        _another_account,
        ("accountsChanged", [OTHER]),
        "The wallet changed from 0xf39f…2266 to 0x7099",
    ),
    (_another_network, ("chainChanged", "0x1"), "The wallet changed to another network"),
    (_another_account, ("accountsChanged", []), "shows no account. Unlock it"),
]


@pytest.mark.parametrize(("change", "told", "said"), CHANGES)
def test_a_change_in_the_wallet_ends_the_attempt_at_once(
    visit: Visit,
    wallet: Wallet,
    change: Callable[[Wallet], None],
    told: tuple[str, object],
    said: str,
) -> None:
    wallet.holds = {"personal_sign"}
    visit.open(wallet)
    visit.choose(wallet)
    visit.reads("sign the message")
    change(wallet)
    wallet.tells(*told)
    visit.reads(said)
    wallet.goes_on()
    assert wallet.in_page("listeners()") == 0
    visit.signs_in_after_all(wallet)


def test_the_page_fits_whatever_it_says(
    visit: Visit, two_wallets: tuple[Wallet, Wallet], pictures: Pictures
) -> None:
    wallet, other_wallet = two_wallets
    wallet.refuses = {"personal_sign": (4001, "")}
    other_wallet.holds = {"personal_sign"}
    visit.open(wallet, other_wallet)
    for name, act, said in (
        ("two", lambda: None, "No wallet receives a request"),
        ("waiting", lambda: visit.choose(other_wallet), "sign the message"),
        ("declined", lambda: visit.choose(wallet), "You declined"),
    ):
        act()
        visit.reads(said)
        for scheme, width in product(("light", "dark"), (360, 1200, 1920)):
            visit.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            visit.page.set_viewport_size({"width": width, "height": 800})
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
            pictures.take(visit.page, f"sign-in-{name}-{scheme}-{width}")
