"""The page that describes the API, in a browser."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.browser import Pictures


@pytest.mark.browser
@pytest.mark.either_database
@pytest.mark.parametrize("width", [360, 1200])
def test_it_fits_and_its_codes_are_explained(
    page: Page, live_server: LiveServer, pictures: Pictures, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{live_server.url}/docs/api")
    expect(page.get_by_role("heading", level=1)).to_have_text("API")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    pictures.take(page, f"api-{width}")
    expect(page.locator("#estimate + p code", has_text="feeNeeded")).to_be_visible()
    told = page.locator("p, dd").all_inner_texts()
    assert [each for each in told if "`" in each] == []
    page.get_by_role("link", name="fee_too_low").first.click()
    expect(page.locator("#fee_too_low dt")).to_be_in_viewport()
    page.get_by_label("On this page").get_by_role("link", name="replay").click()
    expect(page.locator("#replayWebhook")).to_be_in_viewport()
    described = page.get_by_role("link", name="openapi.json", exact=True)
    expect(described).to_have_attribute("href", "/openapi.json")
