"""A guide in a real browser: tabs, copying and the way to other guides."""

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.queries.api.served_api import HERE

pytestmark = [
    pytest.mark.browser,
    pytest.mark.either_database,
    pytest.mark.urls(HERE),
    pytest.mark.django_db(transaction=True),
]


def test_a_language_is_chosen_once_and_its_code_is_copied_whole(
    page: Page, live_server: LiveServer
) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{live_server}/docs/first-fact")
    page.locator("label", has_text="JavaScript").last.click()
    page.reload()
    shown = page.locator(".pane:visible")
    expect(shown.first).to_contain_text("first-fact.mjs")
    expect(shown.last).to_contain_text("read-fact.mjs")
    shown.first.get_by_role("button", name="Copy the JavaScript code").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == shown.first.locator("code").text_content()
    page.goto(f"{live_server}/docs/contracts")
    expect(page.locator(".pane:visible").first).to_contain_text("await fetch")


def test_tabs_and_folds_need_no_script(browser: Browser, live_server: LiveServer) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{live_server}/docs/first-fact")
    page.locator("label", has_text="Python").first.click()
    expect(page.locator(".pane:visible").first).to_contain_text("first_fact.py")
    page.goto(f"{live_server}/docs/api#fee_too_low")
    expect(page.locator("#fee_too_low")).to_be_visible()  # its table is folded otherwise
    context.close()


def test_all_guides_are_beside_a_long_page_and_folded_on_a_phone(
    page: Page, live_server: LiveServer
) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{live_server}/docs/api")
    page.locator("#codes-of-a-batch").scroll_into_view_if_needed()
    other = page.get_by_label("Documentation").get_by_role("link", name="Contracts")
    expect(other).to_be_in_viewport()
    page.set_viewport_size({"width": 360, "height": 900})
    expect(other).not_to_be_visible()
    page.locator("summary", has_text="All guides").click()
    other.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Contracts")
