"""All pages in a browser: wide and narrow, by keyboard, and without scripts."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from explorer.guides.reference import REFERENCE_PAGES
from explorer.guides.render import GUIDES
from queries.database import statistics
from queries.models import Batch, BlockJob, ChainRecord, FeedRun, SentTransaction
from queries.selectors import DUE_BLOCK
from queries.statuses import BatchStatus
from tests.accessibility import serious_problems
from tests.explorer.batch_form import sign_in_browser
from tests.explorer.stored_batches import ADDRESS, BLOCK, prove, submit_accounts, submit_balances
from tests.page_checks import page_faults
from tests.queries.api.batch_states import HASHES, send_transaction, set_status
from tests.queries.api.served_api import HERE, ROUTES, SEPOLIA, made_feed, make_key, record_head
from tests.queries.feeds.running import submit_due_runs

pytestmark = [
    pytest.mark.browser,
    pytest.mark.either_database,
    pytest.mark.urls(HERE),
    pytest.mark.django_db(transaction=True),
]

NAME = "<script>alert(1)</script>.eth"
PAGES = [
    "/",
    "/sign-in",
    "/docs",
    *(f"/docs/{name}" for name in (*GUIDES, *REFERENCE_PAGES)),
    "/docs/networks/base",
    "/explorer/batches",
    "/explorer/query/BATCH",
    "/explorer/feed/FEED",
    f"/explorer/block/{SEPOLIA}/{BLOCK}",
    f"/explorer/block/{SEPOLIA}/1",
    f"/explorer/account/{ADDRESS}",
    f"/explorer/fact/{SEPOLIA}/{BLOCK}/{ADDRESS}/BALANCE",
    f"/explorer/transaction/{SEPOLIA}/{HASHES[1]}",
    f"/explorer/registry/{SEPOLIA}/{ROUTES.registries[SEPOLIA, SEPOLIA].address}",
    "/explorer/routes",
    "/status",
    f"/explorer/routes?source={SEPOLIA}&block={BLOCK}&to={SEPOLIA}",
    f"/search?q=0x{'ab' * 32}",
    f"/search?q={SEPOLIA}",
    *(BROKEN := {"/nowhere": 404, "/broken": 500}),
]
OWN_PAGES = [
    "/dashboard",
    *(f"/dashboard/{name}" for name in ("batches", "feeds", "keys", "webhooks", "usage")),
    "/dashboard/sessions",
    "/dashboard/new-batch",
    "/dashboard/feeds/new",
    "/explorer/feed/FEED",
]
# As a click on each visible summary does, one after the other.
OPEN_DETAILS = """() => {
  for (const summary of document.querySelectorAll("summary")) {
    if (summary.checkVisibility()) summary.parentElement.open = true;
  }
}"""
INLINE_SCRIPT = """() => {
  const script = document.createElement("script");
  script.textContent = "window.ran = true";
  document.body.append(script);
}"""


@pytest.fixture
def served(live_server: LiveServer) -> str:
    """A service with 20 days of figures, proven batches and a waiting one."""
    for day in range(20):
        counts = {
            "facts": 12 * day,
            "gas": day * 900_000,
            "batches_done": day,
            "done_overflow": day,
        }
        statistics.add_counts(datetime.now(UTC) - timedelta(days=day), counts)
    done = submit_balances(count=3, blocks=4)
    prove(done)
    send_transaction(done)
    SentTransaction.objects.update(succeeded=True, gas_price=f"{10**9:064x}")
    prove(submit_accounts({ADDRESS: {"props": ["BALANCE"]}}, SEPOLIA))
    record_head(SEPOLIA, number=BLOCK + 70, timestamp=1)
    submit_balances()
    return str(live_server.url)


def _feed_with_runs() -> str:
    block = {"accounts": {ADDRESS: {"props": ["BALANCE"]}}}
    data = {str(SEPOLIA): {DUE_BLOCK: block}}
    batch = {"destinationChainId": str(SEPOLIA), "fee": "0", "data": data}
    feed = made_feed(make_key(), {"every": "5 blocks", "batch": batch})
    for number in (79, 84):
        ChainRecord.objects.update(number=BLOCK + number)
        submit_due_runs()
        prove(FeedRun.objects.order_by("-due").values_list("batch", flat=True)[0])
    return feed


FILES = (".json", ".yml", ".sol", ".md", ".txt", ".py", ".mjs", ".ts")


def test_all_pages_fit_are_accessible_and_link_to_pages(
    page: Page, served: str, complaints: list[str]
) -> None:
    batch = Batch.objects.filter(status=BatchStatus.DONE, block_count=4).get().pk
    feed = _feed_with_runs()
    BlockJob.objects.update(waits_for="It waits for this test.")
    seen, waiting, faults = set[str](), set[str](), list[str]()
    for path in PAGES + OWN_PAGES:
        if path == OWN_PAGES[0]:
            sign_in_browser(page, served)
        page.set_viewport_size({"width": 1920, "height": 900})
        address = served + path.replace("BATCH", batch).replace("FEED", feed)
        answer = page.goto(address)
        assert answer
        assert answer.status == BROKEN.get(path, 200), path
        if path not in BROKEN:
            assert complaints == [], path
        complaints.clear()
        seen.add(address)
        waiting |= _links(page, served)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.set_viewport_size({"width": 360, "height": 900})
        assert page.evaluate("document.documentElement.scrollHeight") < 50_000, path
        page.set_viewport_size({"width": 1920, "height": 900})
        page.evaluate(OPEN_DETAILS)
        faults += [f"{path}: {fault}" for fault in page_faults(page, answer.text())]
    assert not faults, "\n".join(faults)
    while waiting := waiting - seen:
        address = waiting.pop()
        answer = page.goto(address)
        assert answer
        assert answer.status == 200, address
        seen.add(address)
        waiting |= _links(page, served)
    assert len(seen) > len(PAGES) + 20


def _links(page: Page, served: str) -> set[str]:
    """The pages that the page links to."""
    links = page.locator("a[href]:not([download])")
    addresses = links.evaluate_all("links => links.map(link => link.href.split('#')[0])")
    return {
        address
        for address in addresses
        if address.startswith(served) and "/sign-in" not in address and not address.endswith(FILES)
    }


def test_the_content_security_policy_blocks_inline_scripts_and_other_hosts(
    page: Page, served: str, complaints: list[str]
) -> None:
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.goto(served)
    page.evaluate(INLINE_SCRIPT)
    assert page.evaluate("typeof window.ran") == "undefined"
    assert "script-src 'self'" in complaints.pop()
    assert len(loaded) > 1
    assert all(url.startswith(f"{served}/") for url in loaded)
    assert page.evaluate("htmx.config.allowEval || htmx.config.allowScriptTags") is False
    assert page.evaluate("htmx.config.selfRequestsOnly") is True


def test_the_keyboard_suffices(page: Page, served: str) -> None:
    page.goto(served)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{served}/#content")
    page.get_by_role("searchbox").fill(f"{NAME}\u202e")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?*")
    assert page.locator("main").get_by_text(NAME).count() >= 1
    assert page.locator("main script").count() == 0
    assert "\u202e" not in page.locator("main").inner_text()


def test_keys_search_walk_through_lists_and_can_be_turned_off(page: Page, served: str) -> None:
    page.goto(f"{served}/explorer/batches")
    rows = page.locator(".batch-rows .asked a")
    for key, row in (("j", 0), ("j", 1), ("j", 2), ("k", 1)):
        page.keyboard.press(key)
        expect(rows.nth(row)).to_be_focused()
    page.keyboard.press("/")
    search = page.get_by_role("searchbox")
    expect(search).to_be_focused()
    page.keyboard.type("j?/")
    expect(search).to_have_value("j?/")
    rows.nth(1).focus()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_be_visible()
    assert serious_problems(page) == []
    keys.get_by_role("checkbox").uncheck()
    keys.get_by_role("button", name="Close").click()
    page.reload()
    page.keyboard.press("j")
    page.keyboard.press("?")
    expect(rows.first).not_to_be_focused()
    expect(keys).to_be_hidden()
    page.get_by_role("button", name="Keys").click()
    keys.get_by_role("checkbox").check()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/explorer/query/*")


def test_the_colours_are_those_that_the_visitor_chooses(page: Page, served: str) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    page.emulate_media(color_scheme="light")
    page.goto(served)
    light = page.evaluate(paper)
    page.get_by_label("Colours").select_option("dark")
    dark = page.evaluate(paper)
    assert dark != light
    page.goto(f"{served}/docs")
    assert page.evaluate(paper) == dark
    expect(page.get_by_label("Colours")).to_have_value("dark")
    page.get_by_label("Colours").select_option("as the system")
    assert page.evaluate(paper) == light


def test_a_batch_is_printed_with_whole_hashes_and_without_controls(page: Page, served: str) -> None:
    batch = Batch.objects.filter(status=BatchStatus.DONE, block_count=4).get().pk
    page.goto(f"{served}/explorer/query/{batch}")
    page.emulate_media(media="print")
    expect(page.get_by_text("Download the proof")).to_be_hidden()
    expect(page.get_by_role("searchbox")).to_be_hidden()
    expect(page.locator(".fact-table")).to_be_visible()
    expect(page.locator(".short .exact", has_text=ADDRESS).first).to_be_visible()


def test_the_frame_takes_one_line_and_its_menu_opens_without_a_script(
    plain_page: Page, served: str
) -> None:
    plain_page.goto(f"{served}/docs")
    link = plain_page.get_by_role("navigation", name="Main").get_by_role("link", name="Routes")
    for width in (1600, 1120, 1024, 768, 390, 320):
        plain_page.set_viewport_size({"width": width, "height": 844})
        box = plain_page.locator(".masthead").bounding_box()
        assert box
        assert box["height"] < 70, width
        expect(link).to_be_visible(visible=width >= 1120)
    plain_page.locator("summary", has_text="Menu").click()
    docs = plain_page.get_by_role("navigation", name="Main").get_by_role("link", name="Docs")
    expect(docs).to_have_attribute("aria-current", "page")
    link.click()
    expect(plain_page).to_have_url(f"{served}/explorer/routes")


def test_times_show_the_second_on_hover_and_are_not_tab_stops(page: Page, served: str) -> None:
    page.goto(f"{served}/explorer/batches")
    time = page.locator("main time").first
    exact = datetime.fromisoformat(time.get_attribute("datetime") or "")
    assert time.get_attribute("title") == f"{exact:%Y-%m-%d %H:%M:%S} UTC"
    assert page.locator("time[tabindex]").count() == 0


def test_the_clock_of_a_wait_ticks_without_a_reload(page: Page, served: str) -> None:
    start = datetime.now(UTC) - timedelta(minutes=5, seconds=5)
    ChainRecord.objects.filter(chain=SEPOLIA).update(recorded_at=start)
    page.route("**/status?seen=*", lambda route: route.fulfill(status=204))
    page.clock.install()  # of the visitor, and an hour slow
    page.clock.set_fixed_time(datetime.now(UTC) - timedelta(hours=1))
    page.goto(f"{served}/status")
    row = page.locator("tbody tr", has_text="Sepolia").first
    expect(row).to_contain_text("no answer for 5 min")
    page.clock.run_for(60_000)
    expect(row).to_contain_text("no answer for 6 min")


def test_the_newest_batches_update_without_a_reload(page: Page, served: str) -> None:
    page.goto(served)
    page.evaluate("window.notReloaded = true")
    line = page.locator("#newest .batch-rows > li").first
    expect(line).to_contain_text("RECEIVED")
    line.get_by_role("link").focus()
    batch = (line.get_by_role("link").get_attribute("href") or "").rpartition("/")[2]
    set_status(batch, BatchStatus.DONE)
    expect(line).to_contain_text("DONE")
    expect(line.get_by_role("link")).to_be_focused()
    assert page.evaluate("window.notReloaded")


def test_the_heads_of_chains_update_without_a_reload(page: Page, served: str) -> None:
    page.goto(served)
    page.evaluate("window.notReloaded = true")
    line = page.locator("#chain-states tbody tr", has_text="Sepolia")
    expect(line).to_contain_text(f"{BLOCK + 70:,}")
    expect(line).to_contain_text(f"{SEPOLIA:,}")
    line.get_by_role("link", name="Sepolia").focus()
    ChainRecord.objects.filter(chain=SEPOLIA).update(number=BLOCK + 71)
    expect(line).to_contain_text(f"{BLOCK + 71:,}")
    expect(line.get_by_role("link", name="Sepolia")).to_be_focused()
    assert page.evaluate("window.notReloaded")


def test_an_abbreviated_hash_is_copied_in_full_by_keyboard(page: Page, served: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.set_viewport_size({"width": 360, "height": 900})
    page.goto(f"{served}/explorer/account/{ADDRESS}")
    short = page.locator(".list .short:has(code.exact)").last
    whole = short.locator("code.exact").text_content()
    height = page.evaluate("document.documentElement.scrollHeight")
    link = short.locator("a")
    (link if link.count() else short).focus()
    page.keyboard.press("Tab")
    button = page.get_by_role("button", name=f"Copy {whole}")
    expect(button).to_be_focused()
    assert page.evaluate("document.documentElement.scrollHeight") == height
    page.keyboard.press("Enter")
    expect(button).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == whole


def test_filters_search_and_folds_work_without_a_script(plain_page: Page, served: str) -> None:
    plain_page.goto(served)
    expect(plain_page.locator("svg.chart").first).to_be_visible()
    plain_page.locator(".figures summary, figure summary").first.click()
    expect(plain_page.locator("figure table").first).to_be_visible()
    plain_page.goto(f"{served}/explorer/routes")
    plain_page.get_by_label("in block, or at time").fill(f"{BLOCK + 69}")
    plain_page.get_by_role("button", name="Can I?").click()
    expect(plain_page.get_by_role("status")).to_contain_text("Your estimate will say.")
    expect(plain_page.get_by_role("link", name="Fill in a batch")).to_be_visible()
    plain_page.goto(f"{served}/explorer/batches")
    plain_page.get_by_label("Status").select_option("DONE")
    plain_page.get_by_role("button", name="Show").click()
    expect(plain_page.locator(".batch-rows > li")).to_have_count(2)
    plain_page.get_by_label("Search for").fill(f"sepolia {BLOCK}")
    plain_page.get_by_role("button", name="Search").click()
    expect(plain_page.get_by_role("heading", level=1)).to_contain_text(
        f"Block {BLOCK:,} of Sepolia"
    )
    large = submit_balances(count=60)
    plain_page.goto(f"{served}/explorer/query/{large}")
    expect(plain_page.locator("#live")).to_have_count(1)
    expect(plain_page.locator("#live")).to_be_hidden()
    prove(large)
    plain_page.goto(f"{served}/explorer/query/{large}")
    plain_page.get_by_role("link", name="Next facts").click()
    expect(plain_page.locator(".fact-table tbody tr")).to_have_count(60 + 2 - 50)
    assert plain_page.locator("button.copy:visible").count() == 0
