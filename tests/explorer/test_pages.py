"""The pages, as a visitor sees them."""

import pytest
from django.conf import settings
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from explorer import urls
from tests.browser import Pictures

WIDTHS = [360, 1200, 1920]
INLINE_SCRIPT = """() => {
  const script = document.createElement("script");
  script.textContent = "window.ran = true";
  document.body.append(script);
}"""


def closed(_request: HttpRequest) -> HttpResponse:
    raise PermissionDenied("hunter2")


def odd(_request: HttpRequest) -> HttpResponse:
    raise BadRequest("hunter2")


@pytest.fixture
def client() -> Client:
    """Asks as a browser does."""
    return Client(headers={"Accept": "text/html"})


# Of a service that has a page which not everyone may see, and one which few ask for rightly.
urlpatterns = [*urls.urlpatterns, path("closed", closed), path("odd", odd)]
handler400 = urls.handler400


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
    assert f"<code>{answer['X-Request-ID']}</code>" in answer.text


@pytest.mark.no_database
def test_another_host_is_our_page_with_its_policy_and_repeats_nothing(client: Client) -> None:
    answer = client.get("/hunter2?hunter2", headers={"Host": "hunter2.example"})
    assert answer.status_code == 400
    assert "This is not one of this service" in answer.text
    assert f"Tacitus {settings.VERSION}" in answer.text
    assert "hunter2" not in answer.text
    assert "default-src 'none'" in answer["Content-Security-Policy"]


@pytest.mark.no_database
@pytest.mark.urls(__name__)
def test_another_bad_request_is_not_told_of_addresses(client: Client) -> None:
    answer = client.get("/odd")
    assert answer.status_code == 400
    assert "This request could not be understood" in answer.text
    assert "This is not one of this service" not in answer.text
    assert f"Tacitus {settings.VERSION}" in answer.text


@pytest.mark.no_database
@pytest.mark.urls(__name__)
def test_what_is_not_allowed_is_our_page(client: Client) -> None:
    answer = client.get("/closed")
    assert answer.status_code == 403
    assert "You may not see or do this" in answer.text
    assert f"Tacitus {settings.VERSION}" in answer.text
    assert "hunter2" not in answer.text


@pytest.mark.no_database
def test_a_form_from_elsewhere_is_our_page() -> None:
    client = Client(enforce_csrf_checks=True, headers={"Accept": "text/html"})
    answer = client.post("/", {"said": "hunter2"})
    assert answer.status_code == 403
    assert "This form could not be trusted" in answer.text
    assert f"Tacitus {settings.VERSION}" in answer.text
    assert "hunter2" not in answer.text


@pytest.mark.no_database
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("address", ["/", "/explorer", "/explorer/batches", "/docs/security"])
def test_a_page_is_only_read(client: Client, address: str, method: str) -> None:
    answer = client.generic(method, address)
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")


COLOURS = """
element => {
  const numbers = colour => colour.match(/[0-9.]+/g).map(Number);
  let ground = element;
  while (numbers(getComputedStyle(ground).backgroundColor)[3] === 0) ground = ground.parentElement;
  return [getComputedStyle(element).color, getComputedStyle(ground).backgroundColor].map(numbers);
}
"""


def _colours(page: Page, selector: str) -> list[list[float]]:
    """Of the text, and of what it stands on."""
    colours: list[list[float]] = page.locator(selector).first.evaluate(COLOURS)
    return colours


def _luminance(colour: list[float]) -> float:
    """As the Web Content Accessibility Guidelines define it."""
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (each / 255 for each in colour[:3])
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _least_contrast(page: Page) -> float:
    contrasts = []
    for selector in ("body", ".lead", ".masthead nav a", ".steps p", ".numeral", ".find label"):
        dark, light = sorted(map(_luminance, _colours(page, selector)))
        contrasts.append((light + 0.05) / (dark + 0.05))
    return min(contrasts)


@pytest.mark.browser
@pytest.mark.either_database
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_start_page(
    page: Page, live_server: LiveServer, pictures: Pictures, scheme: str
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
    assert _least_contrast(page) >= 4.5
    assert (_luminance(_colours(page, "body")[1]) < 0.5) is (scheme == "dark")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        pictures.take(page, f"start-{scheme}-{width}")


@pytest.mark.browser
@pytest.mark.either_database
def test_the_policy_lets_nothing_in_that_is_not_ours(
    page: Page, live_server: LiveServer, complaints: list[str]
) -> None:
    """No script that stands in the page runs, and nothing is loaded from elsewhere. htmx is there,
    puts no style into the page, and evaluates nothing.
    """
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    answer = page.goto(live_server.url)
    assert answer is not None
    policy = answer.headers["content-security-policy"].split("; ")
    assert {"default-src 'none'", "script-src 'self'", "connect-src 'self'"} <= set(policy)
    page.evaluate(INLINE_SCRIPT)
    assert page.evaluate("typeof window.ran") == "undefined"
    assert "script-src 'self'" in complaints.pop()
    page.locator("body > script").last.evaluate("script => script.remove()")
    assert len(loaded) > 1
    assert all(url.startswith(f"{live_server.url}/") for url in loaded)
    assert page.evaluate("typeof htmx") == "object"
    names = ("includeIndicatorStyles", "allowEval", "allowScriptTags", "selfRequestsOnly")
    assert page.evaluate("names => names.map(name => htmx.config[name])", names) == [
        False,
        False,
        False,
        True,
    ]
    assert page.locator("style, [style], script:not([src])").count() == 0


@pytest.mark.browser
@pytest.mark.either_database
def test_the_keyboard_reaches_the_content(page: Page, live_server: LiveServer) -> None:
    page.goto(live_server.url)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{live_server.url}/#content")
