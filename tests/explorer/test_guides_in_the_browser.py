"""Guides in a browser: tabs, copying and navigation."""

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


def test_the_chosen_language_is_kept_and_its_code_can_be_copied(
    page: Page, live_server: LiveServer
) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{live_server}/docs/first-fact")
    page.locator("label", has_text="JavaScript").last.click()
    page.reload()
    panes = page.locator(".pane:visible")
    expect(panes.first).to_contain_text("first-fact.mjs")
    expect(panes.last).to_contain_text("read-fact.mjs")
    panes.first.get_by_role("button", name="Copy the JavaScript code").click()
    clipboard = page.evaluate("navigator.clipboard.readText()")
    assert clipboard == panes.first.locator("code").text_content()
    page.goto(f"{live_server}/docs/contracts")
    expect(page.locator(".pane:visible").first).to_contain_text("await fetch")


def test_tabs_and_anchors_work_without_scripts(browser: Browser, live_server: LiveServer) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{live_server}/docs/first-fact")
    page.locator("label", has_text="Python").first.click()
    expect(page.locator(".pane:visible").first).to_contain_text("first_fact.py")
    page.goto(f"{live_server}/docs/api#fee_too_low")
    expect(page.locator("#fee_too_low")).to_be_visible()  # its table is folded by default
    context.close()


def test_navigation_is_at_the_side_and_folded_on_a_phone(
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
