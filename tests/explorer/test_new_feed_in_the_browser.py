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
from tests.queries.api.served_api import HERE, OPTIMISM, SEPOLIA, WALLET, ask, make_key, record_head

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
    held = list[Route]()

    def hold(route: Route) -> None:
        held.append(route)

    page.route(f"**{FEED_URL}", hold)
    with page.expect_request(f"**{FEED_URL}"):
        page.locator("#destination").select_option(str(OPTIMISM))
    page.locator("#account").fill(WALLET)
    page.locator("#trigger-log").check()
    page.locator("#emitter").fill(CONTRACT)
    held[0].continue_()
    expect(page.locator("#to-0 + .about")).to_contain_text("OP Mainnet")
    expect(page.locator("#account")).to_have_value(WALLET)
    expect(page.locator("#emitter")).to_have_value(CONTRACT)
    expect(page.locator("#trigger-log")).to_be_checked()
    expect(page.locator("#emitter")).to_be_focused()
    expect(page.locator("#request-json")).to_contain_text(WALLET)


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
