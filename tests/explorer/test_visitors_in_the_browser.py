"""Ways through the explorer in a real browser: by the box on every page, and without JavaScript."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from queries.models import BlockJob
from tests.explorer.on_record import ADDRESS, BLOCK, ask, ask_balances, header_of, prove
from tests.queries.api.served_api import HERE, OPTIMISM, ROUTES, SEPOLIA, record_head
from tests.queries.api.worked_batches import HASHES

pytestmark = [
    pytest.mark.browser,
    pytest.mark.urls(HERE),
    pytest.mark.django_db(transaction=True),
    pytest.mark.either_database,
]

NAME = "<script>alert(1)</script>.eth"


@pytest.fixture
def batch(live_server: LiveServer) -> str:  # noqa: ARG001  (its database)
    """One that is done; another one waits."""
    done = ask_balances(count=2)
    prove(done, nonce=1)
    ask({ADDRESS: {"props": ["BALANCE"]}}, BLOCK + 1)
    record_head(SEPOLIA, number=BLOCK + 70, timestamp=1)
    return done


@pytest.fixture
def plain(browser: Browser) -> Iterator[Page]:
    """A visitor whose browser runs no script."""
    context = browser.new_context(java_script_enabled=False)
    yield context.new_page()
    context.close()


def _typed(page: Page, text: str) -> None:
    page.get_by_role("search").get_by_label("Search for").fill(text)
    page.keyboard.press("Enter")


def test_the_box_on_every_page_leads_to_whatever_is_typed(
    page: Page, live_server: LiveServer, batch: str
) -> None:
    registry = ROUTES.registries[SEPOLIA, OPTIMISM].address
    leads = {
        f" {batch.lower()} ": f"/explorer/query/{batch}",
        ADDRESS.lower(): f"/explorer/account/{ADDRESS}",
        ADDRESS[2:]: f"/explorer/account/{ADDRESS}",
        f"sepolia {BLOCK:,}": f"/explorer/block/{SEPOLIA}/{BLOCK}",
        f"0x{header_of(BLOCK).hash.hex()}": f"/explorer/block/{SEPOLIA}/{BLOCK}",
        HASHES[0].upper().replace("X", "x"): f"/explorer/transaction/{SEPOLIA}/{HASHES[0]}",
        registry: f"/explorer/registry/{OPTIMISM}/{registry}",
    }
    page.goto(f"{live_server.url}/how-it-works")
    for typed, address in leads.items():
        _typed(page, typed)
        page.wait_for_url(live_server.url + address)
        expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_what_is_nowhere_is_said_and_stays_in_the_box(
    page: Page, live_server: LiveServer, batch: str
) -> None:
    page.goto(f"{live_server.url}/explorer/query/{batch}")
    _typed(page, f"{NAME}\u202e")
    page.wait_for_url("**/search?*")  # the page that is left has a heading too
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.locator("main").get_by_text(NAME).count() >= 1
    assert page.locator("main script").count() == 0
    assert "\u202e" not in page.locator("main").inner_text()


def test_start_list_and_batch_are_whole_without_javascript(
    plain: Page, live_server: LiveServer, batch: str
) -> None:
    plain.goto(live_server.url)
    expect(plain.locator("#newest > li")).to_have_count(2)
    expect(plain.locator("svg.chart").first).to_be_visible()
    plain.locator(".figures summary, figure summary").first.click()
    expect(plain.locator("figure table").first).to_be_visible()
    plain.get_by_role("link", name="Explorer", exact=True).click()
    plain.get_by_label("Status").select_option("DONE")
    plain.get_by_role("button", name="Show").click()
    expect(plain.locator("tbody tr")).to_have_count(1)
    plain.locator("tbody tr a").first.click()
    assert plain.url == f"{live_server.url}/explorer/query/{batch}"
    expect(plain.locator(".rail .count")).to_have_text(["2/2"] * 4)
    expect(plain.get_by_text("21 ETH").first).to_be_visible()
    expect(plain.get_by_role("link", name="Load it again")).to_have_count(0)  # it has ended
    plain.locator(".queries summary").first.press("Enter")
    expect(plain.locator(".queries details").first).not_to_have_attribute("open", "")
    assert plain.locator("button.copy:visible").count() == 0  # which would do nothing


def test_a_block_of_a_large_batch_opens_without_javascript(
    plain: Page, live_server: LiveServer
) -> None:
    large = ask_balances(count=20)
    prove(large)
    plain.goto(f"{live_server.url}/explorer/query/{large}")
    plain.locator("details.block > summary").click()
    plain.get_by_role("link", name="Show its 20 queries").click()
    expect(plain.locator(".queries > li")).to_have_count(20)
    plain.locator(".queries summary").first.click()
    plain.get_by_role("link", name="Its steps and values").first.click()
    expect(plain.locator(".said-value").first).to_be_visible()


def test_every_page_leads_on_and_none_complains(
    page: Page, live_server: LiveServer, batch: str
) -> None:
    """Whoever follows all links of the explorer meets no fault; the console is looked at too."""
    BlockJob.objects.update(waits_for="It waits for this test.")
    waiting, seen = [f"{live_server.url}/", f"{live_server.url}/explorer/query/{batch}"], set[str]()
    while waiting:
        address = waiting.pop()
        answer = page.goto(address)
        assert answer
        assert answer.status == 200, address
        seen.add(address)
        links = page.locator("a[href]:not([download])")
        for link in links.evaluate_all("found => found.map(each => each.href.split('#')[0])"):
            inside = link.startswith(live_server.url) and "/sign-in" not in link
            if inside and link not in seen and link not in waiting and "/openapi" not in link:
                waiting.append(link)
    assert len(seen) > 20
