"""The form of a new feed in a browser: by keyboard alone, without scripts, and while one types."""

import re
import time

import pytest
from playwright.sync_api import Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from queries.planning import on_request
from tests.accessibility import assert_accessible
from tests.browser import assert_fits
from tests.explorer.batch_form import FEED_URL, sign_in_browser
from tests.explorer.feed_form import CONTRACT, FEEDS, FeedCase
from tests.queries.api.served_api import (
    HERE,
    OPTIMISM,
    OTHER_WALLET,
    SEPOLIA,
    WALLET,
    ask,
    make_key,
    record_head,
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.either_database,
    pytest.mark.urls(HERE),
    pytest.mark.django_db(transaction=True),
]
MAX_TABS = 90  # more than the page has stops


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """The user's key. The chains have a head, and their nodes do not exist."""
    monkeypatch.setattr(on_request, "ESTIMATE_SECONDS", 0.0)
    for chain in (SEPOLIA, OPTIMISM):
        record_head(chain, number=5_186_021, timestamp=int(time.time()))
    return make_key()


def _focus(page: Page, selector: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(MAX_TABS):
        if page.locator(f"{selector}:focus").count():
            return
        page.keyboard.press("Tab")
    pytest.fail(f"Tab does not reach {selector}")


def _enter(page: Page, field: str, value: str) -> None:
    """Type a value, or choose it with the arrows."""
    _focus(page, f"#{field}")
    element = page.locator(f"#{field}")
    if element.evaluate("element => element.localName") != "select":
        element.press("ControlOrMeta+A")
        page.keyboard.type(value)
        return
    options = element.evaluate("element => [...element.options].map(option => option.value)")
    page.keyboard.press("Home")
    for _ in range(options.index(value)):
        page.keyboard.press("ArrowDown")
    expect(element).to_have_value(value)


def _hold_redraws(page: Page) -> list[Route]:
    """Requests for the form wait in the list until the test continues them."""
    held = list[Route]()

    def hold(route: Route) -> None:
        held.append(route)

    page.route(f"**{FEED_URL}", hold)
    return held


def _fill_in(page: Page, case: FeedCase) -> None:
    _focus(page, ".skip")
    page.keyboard.press("Enter")
    _enter(page, "account", WALLET)
    _focus(page, "[name=trigger]:checked")
    while page.locator("[name=trigger]:checked").input_value() != case.trigger:
        page.keyboard.press("ArrowRight")
    for field, value in case.fields.items():
        if field.startswith("topic"):
            expect(page.locator(f"#{field}")).to_be_visible()
        _enter(page, field, value)
        if field == "event":
            page.keyboard.press("Enter")  # checks; without scripts, its parameters appear now
    _enter(page, "to-0", CONTRACT)
    _enter(page, "function-0", case.function)
    page.keyboard.press("Enter")
    for place, value in enumerate(case.args):
        menu = page.locator(f"#menu-0-{place}")
        expect(menu.locator(f"option[value='{value}']")).to_have_count(1)
        _enter(page, f"menu-0-{place}", value)
        expect(page.locator(f"#arg-0-{place}")).to_be_hidden()
    _focus(page, "[value=submit]")
    page.keyboard.press("Enter")


@pytest.mark.parametrize("has_scripts", [True, False], ids=["scripts", "plain"])
def test_a_feed_of_each_trigger_is_made_by_keyboard_alone(
    page: Page, plain_page: Page, live_server: LiveServer, key: str, has_scripts: bool
) -> None:
    page = page if has_scripts else plain_page
    sign_in_browser(page, live_server.url)
    for case in FEEDS.values():
        page.goto(f"{live_server.url}{FEED_URL}")
        _fill_in(page, case)
        expect(page).to_have_url(re.compile("/explorer/feed/[0-9A-Z]{26}$"))
        feed = ask(key, f"/feeds/{page.url.rpartition('/')[2]}").json()
        assert {name: feed[name] for name in case.request} == case.request


def test_what_is_pasted_while_the_server_answers_stays(page: Page, live_server: LiveServer) -> None:
    sign_in_browser(page, live_server.url)
    page.goto(f"{live_server.url}{FEED_URL}")
    held = _hold_redraws(page)
    with page.expect_request(f"**{FEED_URL}"):
        page.locator("#destination").select_option(str(OPTIMISM))
    page.locator("#account").fill(WALLET)
    page.locator("#trigger-log").check()
    page.locator("#emitter").fill(CONTRACT)
    held.pop().continue_()
    expect(page.locator("#to-0 + .about")).to_contain_text("OP Mainnet")
    expect(page.locator("#account")).to_have_value(WALLET)
    expect(page.locator("#emitter")).to_have_value(CONTRACT)
    expect(page.locator("#trigger-log")).to_be_checked()
    expect(page.locator("#emitter")).to_be_focused()
    expect(page.locator("#request-json")).to_contain_text(WALLET)


@pytest.mark.parametrize("delay", [0, 10, 40], ids="{}ms".format)
@pytest.mark.parametrize("field", ["account", "to-0", "function-0"])
def test_each_key_counts_that_is_pressed_while_the_form_is_redrawn(
    page: Page, live_server: LiveServer, field: str, delay: int
) -> None:
    sign_in_browser(page, live_server.url)
    page.goto(f"{live_server.url}{FEED_URL}?account={'' if field == 'account' else OTHER_WALLET}")
    element = page.locator(f"#{field}")
    value = FEEDS["log"].function if field == "function-0" else WALLET
    held = _hold_redraws(page)
    with page.expect_request(f"**{FEED_URL}"):
        page.locator("#source").press("ArrowDown")
    _focus(page, f"#{field}")
    page.keyboard.type(value[:8])
    held.pop().continue_()
    page.keyboard.type(value[8:], delay=delay)
    expect(page.locator("#about-emitter")).to_contain_text("OP Mainnet")
    expect(element).to_have_value(value)
    expect(element).to_be_focused()
    expect(page.locator("#request-json")).to_contain_text(value)


def test_the_focus_and_the_caret_stay_where_they_are_when_the_form_is_redrawn(
    page: Page, live_server: LiveServer
) -> None:
    sign_in_browser(page, live_server.url)
    page.goto(f"{live_server.url}{FEED_URL}?account={WALLET[:5]}{WALLET[8:]}")
    account, nonce = page.locator("#account"), page.locator("[name=props][value=NONCE]")
    held = _hold_redraws(page)
    with page.expect_request(f"**{FEED_URL}"):
        page.locator("#destination").select_option(str(OPTIMISM))
    account.press("Home")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.keyboard.type(WALLET[5])
    held.pop().continue_()
    expect(page.locator("#to-0 + .about")).to_contain_text("OP Mainnet")
    page.keyboard.type(WALLET[6:8])
    expect(account).to_have_value(WALLET)
    with page.expect_request(f"**{FEED_URL}"):
        page.locator("#destination").select_option(str(SEPOLIA))
    nonce.press("Space")
    is_checked = nonce.is_checked()
    held.pop().continue_()
    expect(page.locator("#to-0 + .about")).to_contain_text("Sepolia")
    expect(nonce).to_be_checked(checked=is_checked)
    expect(nonce).to_be_focused()
    with page.expect_request(f"**{FEED_URL}"):
        page.locator("#destination").select_option(str(OPTIMISM))
    page.locator("#more-slots summary").press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("2 ")
    held.pop().continue_()
    expect(page.locator("#to-0 + .about")).to_contain_text("OP Mainnet")
    page.keyboard.type("0x7")
    expect(page.locator("#slots")).to_have_value("2 0x7")
    with page.expect_request(f"**{FEED_URL}"):
        page.locator("#destination").select_option(str(SEPOLIA))
    page.locator("[value=submit]").focus()
    held.pop().continue_()
    expect(page.locator("#to-0 + .about")).to_contain_text("Sepolia")
    expect(page.locator("[value=submit]")).to_be_focused()
    expect(page.locator("#slots")).to_be_visible()


def test_deliveries_are_added_by_keyboard_and_the_form_is_accessible(
    page: Page, live_server: LiveServer
) -> None:
    sign_in_browser(page, live_server.url)
    page.goto(f"{live_server.url}{FEED_URL}?source={SEPOLIA}&account={WALLET}")
    for case in FEEDS.values():
        page.locator(f"[name=trigger][value={case.trigger}]").check()
        for field, value in case.fields.items():
            element = page.locator(f"#{field}")
            is_select = element.evaluate("element => element.localName") == "select"
            element.select_option(value) if is_select else element.fill(value)
    page.locator("#to-0").fill(CONTRACT)
    page.locator("#function-0").fill(FEEDS["log"].function)
    expect(page.locator("#arg-0-2")).to_be_visible()
    _focus(page, "[value=add]")
    page.keyboard.press("Enter")
    expect(page.locator("#to-1")).to_be_focused()
    page.keyboard.type("0x12")
    expect(page.locator("#error-to-1, #error-arg-0-0").filter(has_text="Wrong")).to_have_count(1)
    for details in page.locator("main details").all():
        details.locator("summary").click()
    for case in FEEDS.values():
        with page.expect_response("**/check"):
            page.locator(f"[name=trigger][value={case.trigger}]").check()
        assert_accessible(page)
        assert_fits(page, 320, 390, 768, 1280)
