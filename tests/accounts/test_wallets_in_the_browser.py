"""Discovery of wallets: several, legacy, none, and hostile ones."""

import json

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.accounts.wallet import ICON, Wallet, install
from tests.browser import Pictures, assert_fits

pytestmark = [pytest.mark.browser, pytest.mark.either_database]

NONE = "No wallet was found in this browser."


def _open(page: Page, live_server: LiveServer, *wallets: Wallet) -> None:
    install(page, *wallets)
    page.goto(f"{live_server.url}/sign-in")


def _names(page: Page) -> list[str]:
    return page.locator(".wallet .name").all_inner_texts()


def _announce(page: Page, info: str, provider: str = "{request: async () => []}") -> None:
    """Announce a wallet with arbitrary JavaScript."""
    detail = f"{{info: {info}, provider: {provider}}}"
    page.evaluate(
        f"window.dispatchEvent(new CustomEvent('eip6963:announceProvider', {{detail: {detail}}}))"
    )


def test_wallets_are_offered_by_name_and_icon(
    page: Page, live_server: LiveServer, two_wallets: tuple[Wallet, Wallet]
) -> None:
    wallet, other_wallet = two_wallets
    _open(page, live_server, wallet, other_wallet)
    expect(page.locator(".wallet")).to_have_count(2)
    assert _names(page) == [wallet.name, other_wallet.name]
    for shown in two_wallets:
        picture = page.get_by_role("button", name=shown.name).locator("img")
        expect(picture).to_be_visible()
        assert picture.get_attribute("src") == ICON.format(shown.colour)
        assert picture.evaluate("picture => picture.naturalWidth") > 0
    expect(page.get_by_text(NONE)).to_be_hidden()


def test_without_a_wallet_the_page_says_what_to_do(
    page: Page, live_server: LiveServer, pictures: Pictures
) -> None:
    page.goto(f"{live_server.url}/sign-in")
    expect(page.get_by_text(NONE)).to_be_visible()
    expect(page.get_by_text("install a wallet extension")).to_be_visible()
    expect(page.get_by_text("open this page in the browser inside")).to_be_visible()
    pictures.check_fit(page, "sign-in-none")


def test_a_legacy_wallet_in_window_ethereum_signs_in(
    page: Page, live_server: LiveServer, wallet: Wallet
) -> None:
    wallet.place = "window.ethereum"
    _open(page, live_server, wallet)
    page.get_by_role("button", name="Browser wallet").click()
    expect(page.get_by_role("heading", name="Your first call")).to_be_visible()


NAMES = {
    "<img src=x onerror='document.title=1'>": "<img src=x onerror='document.title=1'>",
    "  Two\n\u200b lines\u202e ": "Two lines",
    "W" * 5_000: "W" * 39 + "…",
    "\u200b": "Unnamed wallet",
    "🦊" * 50: "🦊" * 39 + "…",
}


def test_a_hostile_name_is_only_text(page: Page, live_server: LiveServer) -> None:
    page.goto(f"{live_server.url}/sign-in")
    for uuid, name in enumerate(NAMES):
        _announce(page, json.dumps({"uuid": str(uuid), "name": name, "icon": "", "rdns": "a.b"}))
    assert _names(page) == list(NAMES.values())
    assert page.locator(".wallet img").count() == len(NAMES)
    assert page.title() == "Sign in · Tacitus"
    assert_fits(page, 360)


ICONS = [
    "javascript:alert(1)",
    "https://tracker.example/pixel.png",
    "//tracker.example/pixel.png",
    "data:text/html,<script>alert(1)</script>",
    " data:image/png;base64,AAAA",
    "data:image/png;base64,AAAA",
    "data:image/svg+xml," + "x" * 300_000,
    7,
    None,
]


def test_a_hostile_or_broken_icon_is_a_letter(page: Page, live_server: LiveServer) -> None:
    requests: list[str] = []
    page.goto(f"{live_server.url}/sign-in")
    page.on("request", lambda request: requests.append(request.url))
    page.on("dialog", lambda dialog: requests.append(dialog.message))
    for uuid, icon in enumerate(ICONS):
        info = {"uuid": str(uuid), "name": f"walnut {uuid}", "icon": icon, "rdns": "a.b"}
        _announce(page, json.dumps(info))
    page.wait_for_timeout(200)
    expect(page.locator(".wallet img:visible")).to_have_count(0)
    assert page.locator(".wallet .letter").all_inner_texts() == ["W"] * len(ICONS)
    assert all(url.startswith(("data:image/", live_server.url)) for url in requests)


def test_malformed_announcements_are_ignored(page: Page, live_server: LiveServer) -> None:
    page.goto(f"{live_server.url}/sign-in")
    provider = "{request: async () => []}"
    _announce(page, "null", provider)
    _announce(page, "{uuid: '1', name: {}, rdns: 'a.b'}", provider)
    _announce(page, "{uuid: '1', name: 'a', rdns: 'a.b'}", "null")
    _announce(page, "{uuid: '1', name: 'a', rdns: 'a.b'}", "{}")
    _announce(page, "{get name() { throw new Error('a trap') }}", provider)
    _announce(page, "{name: 'a'}", "{get request() { throw new Error('a trap') }}")
    expect(page.get_by_text(NONE)).to_be_visible()
    assert _names(page) == []


def test_the_number_of_wallets_is_limited(page: Page, live_server: LiveServer) -> None:
    page.goto(f"{live_server.url}/sign-in")
    for number in range(40):
        _announce(page, json.dumps({"uuid": str(number), "name": f"Wallet {number}", "rdns": ""}))
    assert len(_names(page)) == 12


def test_without_scripts_the_page_says_that_they_are_needed(
    page: Page, live_server: LiveServer
) -> None:
    page.goto(f"{live_server.url}/sign-in")
    assert "Signing in needs JavaScript" in page.locator("noscript").inner_html()
