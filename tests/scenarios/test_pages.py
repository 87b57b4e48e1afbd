"""Pages in a browser, and without JavaScript."""

import re
from itertools import product

import pytest
import requests
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.explorer.page_text import visible_text
from tests.rigs.anvil import Chain
from tests.rigs.service import HOLDER, HOLDER_BALANCE, Service, accounts
from tests.scenarios.visitor import Visitor

pytestmark = pytest.mark.either_database

BALANCE_TEXT = f"{HOLDER_BALANCE / 10**18:,.6f} ETH"


@pytest.fixture(scope="module")
def done(shared_service: Service) -> tuple[str, int]:
    """A DONE batch and its block."""
    block = shared_service.chain.mine(2) - 1
    batch = shared_service.submit({31337: {block: accounts(HOLDER, slots=["0x1"])}})
    shared_service.wait(batch)
    return batch, block


@pytest.mark.browser
def test_a_batch_page_moves_to_done_without_a_reload(
    page: Page, service: Service, chain: Chain
) -> None:
    block = chain.mine(2) - 1
    chain.automine(on=False)
    batch = service.submit_balance(block)
    page.goto(f"{service.url}/explorer/query/{batch}")
    expect(page).to_have_title(re.compile("^(RECEIVED|IN_PROGRESS)"))
    page.evaluate("window.isSamePage = true")
    expect(page).to_have_title(re.compile("^IN_PROGRESS"))
    chain.automine(on=True)
    chain.mine()
    expect(page).to_have_title(re.compile("^DONE"), timeout=60_000)
    expect(page.get_by_text("The batch is DONE.")).to_have_count(1)
    expect(page.get_by_text(BALANCE_TEXT).first).to_be_visible()
    assert page.evaluate("window.isSamePage") is True
    page.get_by_role("link", name="Check it now").first.click()
    expect(page.get_by_text("The registry says the same, read on")).to_be_visible()


@pytest.mark.browser
def test_the_search_finds_a_batch_an_account_and_a_block(
    page: Page, shared_service: Service, done: tuple[str, int]
) -> None:
    batch, block = done
    for term, heading in (
        (batch, "of 0xd8dA…6045 · Chain 31337, block"),
        (HOLDER.lower(), HOLDER),
        (f"{block}", f"Block {block:,}"),
    ):
        page.goto(shared_service.url)
        page.get_by_role("searchbox").first.fill(term)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text(heading)


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_accessible_and_fit_a_small_screen(
    page: Page, shared_service: Service, done: tuple[str, int], scheme: str
) -> None:
    visitor = Visitor(shared_service.url).sign_in()
    page.context.add_cookies(
        [{"name": cookie.name, "value": cookie.value or "", "url": shared_service.url}
         for cookie in visitor.browser.cookies]
    )  # fmt: skip
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    for path, width in product(("/", f"/explorer/query/{done[0]}", "/dashboard"), (360, 1200)):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{shared_service.url}{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        violations = Axe().run(page).response["violations"]
        assert [(violation["id"], violation["nodes"][0]["html"]) for violation in violations] == []


def test_pages_are_complete_without_javascript(
    shared_service: Service, done: tuple[str, int]
) -> None:
    batch, block = done
    registry = shared_service.registries[31337, 31337]
    pages = {
        "/": "/explorer/query/",
        "/explorer/batches": batch,
        f"/explorer/query/{batch}": BALANCE_TEXT,
        f"/explorer/query/{batch}/0": BALANCE_TEXT,
        f"/explorer/fact/31337/{block}/{HOLDER}/BALANCE/check": BALANCE_TEXT,
        f"/explorer/account/{HOLDER}": BALANCE_TEXT,
        f"/explorer/block/31337/{block}": BALANCE_TEXT,
        f"/explorer/registry/31337/{registry}": registry,
        "/explorer/routes": registry,
        f"/search?q={batch}": batch,
        "/docs/api": "/submit-batch-query",
    }
    for path, text in pages.items():
        answer = requests.get(
            f"{shared_service.url}{path}", headers={"Accept": "text/html"}, timeout=30
        )
        assert answer.status_code == 200, path
        assert text in f"{answer.text}{visible_text(answer.text)}", path
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert not re.search("unsafe-(inline|eval)", policy)
        assert not re.search(r"<script(?![^>]*\ssrc=\"/)", answer.text), path
    unknown = requests.get(f"{shared_service.url}/explorer/query/x", timeout=30)
    assert unknown.status_code == 404
