"""The explorer's pages in a real browser: wide and narrow, light and dark, for everyone."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from explorer.pages import chain_objects
from queries.models import Batch, SentTransaction
from tests.explorer.on_record import ADDRESS, BLOCK, ask, ask_balances, prove
from tests.queries.api.served_api import HERE, ROUTES, SEPOLIA, record_head
from tests.queries.api.worked_batches import HASHES, send_transaction

pytestmark = [
    pytest.mark.browser,
    pytest.mark.either_database,
    pytest.mark.urls(HERE),
    pytest.mark.django_db(transaction=True),
]

WIDTHS = [360, 1200, 1920]
PAGES = {
    "batches": "/explorer/batches",
    "no-batches": "/explorer/batches?status=REJECTED",
    "block": f"/explorer/block/{SEPOLIA}/{BLOCK}",
    "no-block": f"/explorer/block/{SEPOLIA}/1",
    "account": f"/explorer/account/{ADDRESS}",
    "no-account": f"/explorer/account/0x{'12' * 20}",
    "transaction": f"/explorer/transaction/{SEPOLIA}/{HASHES[1]}",
    "registry": f"/explorer/registry/{SEPOLIA}/{ROUTES.registries[SEPOLIA, SEPOLIA].address}",
    "routes": "/explorer/routes",
    "search": "/search",
    "nothing-found": f"/search?q=0x{'ab' * 32}",
    "several-found": f"/search?q={SEPOLIA}",
}


@pytest.fixture
def served(live_server: LiveServer) -> str:
    """A service on which a little has happened."""
    batch = ask_balances(count=3, blocks=4)
    prove(batch)
    send_transaction(batch)
    SentTransaction.objects.update(succeeded=True, gas_price=f"{10**9:064x}")
    ask_balances()
    prove(ask({ADDRESS: {"props": ["BALANCE"]}}, SEPOLIA))
    record_head(SEPOLIA, number=BLOCK + 70, timestamp=1)
    return str(live_server.url)


def _faults(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {[node['target'] for node in each['nodes']]}"
        for each in found
        if each["impact"] in {"serious", "critical"}
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_and_keeps_nobody_out(page: Page, served: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    batch = Batch.objects.earliest("id").pk
    for name, address in {**PAGES, "batch": f"/explorer/query/{batch}"}.items():
        page.goto(served + address)
        expect(page.get_by_role("search")).to_have_count(1)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
            if width != 1200:
                assert _faults(page) == [], (name, width)


def test_the_frame_is_as_wide_as_the_screen_allows_and_the_same_everywhere(
    page: Page, served: str
) -> None:
    for screen, wide in ((360, 328), (1200, 1088), (1920, 1344), (2560, 1344)):
        page.set_viewport_size({"width": screen, "height": 900})
        for address in ("/explorer/batches", "/"):
            page.goto(served + address)
            frames = page.locator(".frame")
            assert frames.count() == 3
            assert {round(each.bounding_box()["width"]) for each in frames.all()} == {wide}  # type: ignore[index]


def test_the_box_finds_and_the_keyboard_is_enough(page: Page, served: str) -> None:
    page.goto(served)
    page.get_by_label("Search for").fill(ADDRESS.lower())
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(ADDRESS)
    expect(page.locator("figcaption")).to_contain_text("The balance")
    assert page.locator("svg.chart:visible").count() == 1
    page.get_by_role("link", name=f"{BLOCK:,}").last.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Block {BLOCK:,}")
    page.get_by_role("link", name="Sepolia").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Routes")


def test_the_whole_value_shows_where_one_points_and_moves_nothing(page: Page, served: str) -> None:
    page.set_viewport_size({"width": 360, "height": 900})
    page.goto(served + PAGES["account"])
    tall = page.evaluate("document.documentElement.scrollHeight")
    amount = page.locator(".list .short", has_text="ETH").first
    amount.focus()
    expect(amount.locator(".exact")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("document.documentElement.scrollHeight") == tall


def test_a_long_table_of_a_chart_comes_when_it_is_opened(
    page: Page, served: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain_objects, "LINES", 3)
    page.goto(served + PAGES["account"])
    page.get_by_text("The same in a table").click()
    expect(page.locator("figure tbody tr")).to_have_count(5)
    assert _faults(page) == []


@pytest.mark.parametrize("where", ["block", "account", "registry", "transaction"])
def test_a_shortened_hash_in_a_list_is_copied_whole(page: Page, served: str, where: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.set_viewport_size({"width": 360, "height": 900})
    page.goto(served + PAGES[where])
    listed = page.locator(".list .short:has(code.exact)")
    whole = listed.last.locator("code.exact").text_content()
    tall = page.evaluate("document.documentElement.scrollHeight")
    assert page.locator(".guest").count() == 0
    link = listed.last.locator("a")
    (link if link.count() else listed.last).focus()
    page.keyboard.press("Tab")
    button = page.get_by_role("button", name=f"Copy {whole}")
    expect(button).to_be_focused()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("document.documentElement.scrollHeight") == tall
    assert _faults(page) == []
    page.keyboard.press("Enter")
    expect(button).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == whole
    page.set_viewport_size({"width": 1200, "height": 900})
    page.get_by_role("heading", level=1).click()
    listed.first.hover()
    button = page.get_by_role("button", name="Copy 0")  # the one that the pointer called
    here, there = listed.first.bounding_box(), button.bounding_box()
    assert here is not None
    assert there is not None
    page.mouse.move(here["x"] + 20, there["y"] + 5, steps=20)
    page.mouse.move(there["x"] + 5, there["y"] + 5, steps=20)
    page.mouse.down()
    page.mouse.up()
    expect(listed.first.locator(".guest")).to_have_text("Copied")


def test_filters_and_search_work_without_a_script(page: Page, served: str) -> None:
    context = page.context.browser.new_context(java_script_enabled=False)  # type: ignore[union-attr]
    plain = context.new_page()
    plain.goto(f"{served}/explorer/batches")
    plain.get_by_label("Status").select_option("DONE")
    plain.get_by_role("button", name="Show").click()
    expect(plain.locator("tbody tr")).to_have_count(2)
    plain.get_by_label("Search for").fill(f"sepolia {BLOCK}")
    plain.get_by_role("button", name="Search").click()
    expect(plain.get_by_role("heading", level=1)).to_have_text(f"Block {BLOCK:,}")
    context.close()
