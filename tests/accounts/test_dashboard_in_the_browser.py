"""The dashboard in a real browser."""

import re
from datetime import timedelta

import pytest
import requests
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import Account, ApiKey
from tests.accounts.wallet import Wallet, install
from tests.browser import Pictures

pytestmark = [pytest.mark.browser, pytest.mark.either_database]


def _sign_in(page: Page, live_server: LiveServer, wallet: Wallet) -> None:
    install(page, wallet)
    page.goto(f"{live_server.url}/sign-in")
    page.get_by_role("button", name=wallet.name).click()
    # The first sign-in of a server is slow.
    expect(page.get_by_role("heading", level=1)).to_have_text("Dashboard", timeout=20_000)


def _shown_key(page: Page) -> str:
    """The first key, which is hidden until it is asked for."""
    key = page.locator("[id^=key-]").first
    expect(key).not_to_be_visible()
    page.locator(".rows summary").filter(has_text="Show").first.click()
    expect(key).to_be_visible()
    return key.inner_text()


def _copied(page: Page) -> str:
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def test_three_clicks_from_the_start_page_to_a_call_that_works(
    page: Page, live_server: LiveServer, wallet: Wallet
) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=live_server.url)
    page.set_viewport_size({"width": 1200, "height": 800})
    install(page, wallet)
    page.goto(live_server.url)
    page.get_by_role("link", name="Sign in").click()
    page.get_by_role("button", name=wallet.name).click()
    page.get_by_role("button", name="Copy the first call").click()
    expect(page.get_by_role("button", name="Copied the first call")).to_be_focused()
    expect(page.locator("p.unseen[role=status]")).to_have_text("Copied.")
    call = _copied(page)
    parts = re.fullmatch(r"echo '(api-key): (tct_\S+)' \| curl -H @- (http\S+)", call)
    assert parts, call
    name, key, address = parts.groups()
    answer = requests.get(address, headers={name: key}, timeout=10)
    assert answer.status_code == 200
    assert answer.json()["owner"].lower() == wallet.accounts[0].lower()
    expect(page.get_by_role("button", name="Copy the first call")).to_be_visible()  # again
    expect(page.get_by_text(key)).not_to_be_visible()
    page.get_by_text("Show the key").click()
    expect(page.get_by_text(key)).to_be_visible()


def test_without_clipboard_access_the_text_is_selected(
    page: Page, live_server: LiveServer, wallet: Wallet
) -> None:
    page.add_init_script(
        "Object.defineProperty(Navigator.prototype, 'clipboard', {value: undefined})"
    )
    _sign_in(page, live_server, wallet)
    page.goto(f"{live_server.url}/dashboard/keys")
    page.get_by_role("button", name="Copy the key").click()
    expect(page.get_by_role("button", name="Selected the key")).to_be_visible()
    expect(page.locator("p.unseen[role=status]")).to_contain_text("Copy it with the keyboard")
    key = page.locator("[id^=key-]").first
    expect(key).to_be_visible()
    assert page.evaluate("getSelection().toString()") == key.inner_text()
    page.goto(f"{live_server.url}/dashboard")
    page.get_by_role("button", name="Copy your address").click()
    selected = page.evaluate("getSelection().toString()")
    assert selected == str(Account.objects.get())


def _create_keys_of_every_kind(owner: Account) -> None:
    """Create one in its grace period that cannot be shown, and two revoked ones."""
    now = timezone.now()
    ApiKey.objects.create(
        id="a" * 10,
        owner=owner,
        name="a-name-without-any-space-that-goes-on-and-on-and-on-to-sixty",
        digest="0" * 64,
        previous_digest="1" * 64,
        previous_until=now + timedelta(hours=1),
        created_at=now - timedelta(days=40),
    )
    for number in range(2):
        ApiKey.objects.create(
            id="b" * 9 + "cd"[number],
            owner=owner,
            name="leaked",
            digest=str(number + 2) * 64,
            revoked_at=now - timedelta(days=number),
        )


def test_the_dashboard_fits_the_window(
    page: Page, live_server: LiveServer, wallet: Wallet, pictures: Pictures
) -> None:
    _sign_in(page, live_server, wallet)
    account = Account.objects.get()
    for name in ("fresh", "several", "empty"):
        if name == "several":
            _create_keys_of_every_kind(account)
            then = timezone.now() - timedelta(minutes=59)
            account.sessions.update(signed_in_at=then - timedelta(days=330), last_seen=then)
        if name == "empty":
            account.keys.all().delete()
        for section in ("", "/keys", "/webhooks", "/usage", "/sessions"):
            page.goto(f"{live_server.url}/dashboard{section}")
            for folded in page.locator("main details").all():
                folded.locator("summary").click()
            for width in (320, 360, 768, 1200, 1920):
                pictures.check_fit(page, f"dashboard-{name}{section.replace('/', '-')}", (width,))
        for width, height in ((360, 250), (1200, 90), (1920, 90)):  # one line, or few
            page.set_viewport_size({"width": width, "height": 900})
            row = page.locator(".sessions > li").first.bounding_box()
            assert row
            assert row["height"] < height


def test_without_scripts_everything_but_copying_works(
    page: Page, plain_page: Page, live_server: LiveServer, wallet: Wallet
) -> None:
    _sign_in(page, live_server, wallet)
    plain_page.context.add_cookies(page.context.cookies())  # type: ignore[arg-type]
    plain_page.goto(f"{live_server.url}/dashboard/keys")
    assert plain_page.get_by_role("button", name=re.compile("^Copy")).count() == 0
    before = _shown_key(plain_page)
    plain_page.get_by_text("Rename, rotate or revoke").click()
    plain_page.get_by_label("I will give the new key").check()
    plain_page.get_by_role("button", name="Rotate").click()
    expect(plain_page.locator(".message.success")).to_be_visible()
    assert _shown_key(plain_page) != before
