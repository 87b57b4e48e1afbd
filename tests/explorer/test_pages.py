"""The pages, as a visitor sees them."""

from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

WIDTHS = [360, 1200, 1920]


@pytest.mark.no_database
def test_an_address_of_nothing_is_our_page(client: Client) -> None:
    answer = client.get("/nowhere")
    assert answer.status_code == 404
    assert "There is nothing at this address" in answer.text


@pytest.mark.no_database
def test_a_fault_of_ours_is_our_page(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a fault for this test")

    monkeypatch.setattr("explorer.page_frame.page_frame.__code__", fail.__code__)
    client.raise_request_exception = False
    answer = client.get("/")
    assert answer.status_code == 500
    assert "Something broke on our side" in answer.text
    assert "a fault for this test" not in answer.text


@pytest.mark.no_database
def test_another_host_is_our_page_with_its_policy_and_repeats_nothing(client: Client) -> None:
    answer = client.get("/hunter2?hunter2", headers={"Host": "hunter2.example"})
    assert answer.status_code == 400
    assert "This is not one of this service" in answer.text
    assert f"Tacitus {settings.VERSION}" in answer.text
    assert "hunter2" not in answer.text
    assert "default-src 'none'" in answer["Content-Security-Policy"]


@pytest.mark.no_database
def test_a_form_from_elsewhere_is_our_page() -> None:
    answer = Client(enforce_csrf_checks=True).post("/", {"said": "hunter2"})
    assert answer.status_code == 403
    assert "This form could not be trusted" in answer.text
    assert f"Tacitus {settings.VERSION}" in answer.text
    assert "hunter2" not in answer.text


@pytest.mark.no_database
def test_every_page_leads_to_the_health_of_the_service(client: Client) -> None:
    assert '<a href="/readyz">Health</a>' in client.get("/").text


@pytest.mark.no_database
def test_the_start_page_says_what_is_not_there_yet(client: Client) -> None:
    assert f"Version {settings.VERSION}: proving is being built" in client.get("/").text


@pytest.mark.no_database
def test_the_start_page_is_only_read(client: Client) -> None:
    assert client.post("/").status_code == 405


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_start_page(
    page: Page, live_server: LiveServer, screenshots: Path, scheme: str
) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(live_server.url)
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "What was true on a chain, readable in a contract"
    )
    steps = page.locator(".steps h3")
    expect(steps).to_have_count(4)
    assert [step.split()[-1] for step in steps.all_inner_texts()] == [
        "INITIAL_STATE",
        "BLOCKHASH_AVAILABLE",
        "HEADER_ACCUMULATED",
        "ACCOUNT_ACCUMULATED",
    ]
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.screenshot(path=screenshots / f"start-{scheme}-{width}.png", full_page=True)


@pytest.mark.browser
def test_the_policy_lets_nothing_in_that_is_not_ours(page: Page, live_server: LiveServer) -> None:
    """htmx is there, puts no style into the page, and evaluates nothing."""
    page.goto(live_server.url)
    assert page.evaluate("typeof htmx") == "object"
    assert page.evaluate("[htmx.config.includeIndicatorStyles, htmx.config.allowEval]") == [
        False,
        False,
    ]
    assert page.locator("style, [style], script:not([src])").count() == 0


@pytest.mark.browser
def test_the_keyboard_reaches_the_content(page: Page, live_server: LiveServer) -> None:
    page.goto(live_server.url)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    assert page.url.endswith("#content")
