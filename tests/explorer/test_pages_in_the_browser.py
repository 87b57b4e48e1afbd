"""The pages that tell of the service, in a real browser: wide and narrow, light and dark."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from queries import counters
from queries.models import Batch
from queries.statuses import BatchStatus
from tests.accessibility import grave_faults
from tests.browser import Pictures
from tests.queries.api.served_api import HERE, SEPOLIA, make_key, submitted
from tests.queries.api.worked_batches import set_status

pytestmark = [pytest.mark.browser, pytest.mark.either_database, pytest.mark.urls(HERE)]
WIDTHS = [360, 1200, 1920]
OF_ITS_OWN = 1200  # at most so wide, a page is laid out anew; beyond it has wider margins alone
PAGES = {
    "start-with-figures": "/",
    "how-it-works": "/how-it-works",
    "first-fact": "/docs",
    "operating": "/docs/operating",
    "api": "/docs/api",
    "sign-in": "/sign-in",
    "configuration": "/docs/configuration",
    "contributing": "/docs/contributing",
    "security": "/docs/security",
}


def _submitted(key: str) -> str:
    asked = {"0x" + 40 * "1": {"props": ["BALANCE"]}}
    data = {str(SEPOLIA): {"block:5186021": {"accounts": asked}}}
    return submitted(key, {"destinationChainId": str(SEPOLIA), "fee": "0", "data": data})


@pytest.fixture
def batch_id(live_server: LiveServer) -> str:  # noqa: ARG001  (its database)
    """The newest of a service that has proven something on most days."""
    for day in range(20):
        counts = {"facts": 12 * day, "gas": day * 900_000, "batches_done": day, "done_later": day}
        counters.count(datetime.now(UTC) - timedelta(days=day), counts)
    return _submitted(make_key())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
@pytest.mark.usefixtures("batch_id")
def test_a_page_is_whole_at_every_width(
    page: Page, live_server: LiveServer, pictures: Pictures, scheme: str, name: str
) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(f"{live_server.url}{PAGES[name]}")
    for details in page.locator("summary").all():
        details.click()
    _look_at(page, pictures, f"{name}-{scheme}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_so_is_the_page_of_an_address_of_nothing(
    page: Page, complaints: list[str], live_server: LiveServer, pictures: Pictures, scheme: str
) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(f"{live_server.url}/nowhere")
    _look_at(page, pictures, f"not-found-{scheme}")
    complaints.pop()  # that the page is a 404


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_so_is_the_page_of_a_fault(
    page: Page, complaints: list[str], live_server: LiveServer, pictures: Pictures, scheme: str
) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(f"{live_server.url}/broken")
    expect(page.get_by_role("heading", level=1)).to_have_text("Something broke on our side")
    _look_at(page, pictures, f"fault-{scheme}")
    assert all("500" in each for each in complaints)
    complaints.clear()


TOO_MANY = "&".join(f"a{number}=" for number in range(1_001))


@pytest.mark.parametrize("refused", [("/keys", 405), (f"/search?{TOO_MANY}", 400)])
def test_so_is_the_page_of_a_refusal(
    page: Page,
    complaints: list[str],
    live_server: LiveServer,
    pictures: Pictures,
    refused: tuple[str, int],
) -> None:
    address, status = refused
    answer = page.goto(f"{live_server.url}{address}")
    assert answer
    assert answer.status == status
    _look_at(page, pictures, f"refused-{status}")
    complaints.clear()


def _look_at(page: Page, pictures: Pictures, name: str) -> None:
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        pictures.take(page, f"{name}-{width}")
        if width <= OF_ITS_OWN:
            assert grave_faults(page) == []


def test_the_newest_batches_move_without_a_reload(
    page: Page, live_server: LiveServer, batch_id: str
) -> None:
    page.goto(live_server.url)
    page.evaluate("window.stays = true")
    line = page.locator("#newest > li").first
    expect(line).to_contain_text("RECEIVED")
    line.get_by_role("link").focus()
    set_status(batch_id, BatchStatus.DONE)
    expect(line).to_contain_text("DONE")
    expect(line.get_by_role("link")).to_be_focused()
    assert page.evaluate("window.stays")


def test_a_narrow_screen_has_room_for_when_a_batch_came(
    page: Page, live_server: LiveServer, batch_id: str
) -> None:
    Batch.objects.filter(pk=batch_id).update(submitted=datetime.now(UTC) - timedelta(seconds=49))
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(live_server.url)
    line = page.locator("#newest > li").first
    expect(line).to_contain_text("seconds ago")
    when, link = line.locator(".when").bounding_box(), line.get_by_role("link").bounding_box()
    assert when
    assert link
    assert when["y"] + when["height"] <= link["y"]  # beside the status
    assert when["height"] < 30  # one line
    assert when["x"] + when["width"] > 300


@pytest.mark.usefixtures("batch_id")
@pytest.mark.parametrize(("width", "columns"), [(360, 1), (1200, 2), (1920, 2)])
def test_no_chart_stands_alone_in_its_row(
    page: Page, live_server: LiveServer, width: int, columns: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(live_server.url)
    figures = page.locator(".charts .figure")
    expect(figures).to_have_count(4)
    lefts = figures.evaluate_all("all => all.map(each => each.getBoundingClientRect().x)")
    assert len(set(lefts)) == columns


def test_the_search_box_goes_to_the_search(page: Page, live_server: LiveServer) -> None:
    page.route("**/search?*", lambda route: route.fulfill(body="found"))
    page.goto(live_server.url)
    page.locator("#find").fill("0xd8dA 6045")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=0xd8dA+6045")
