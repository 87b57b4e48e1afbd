"""Lists in a browser: what each row shows, and how they refresh themselves."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, ViewportSize, expect
from pytest_django.live_server_helper import LiveServer

from queries.models import Batch, ChainRecord, Feed, FeedRun, NodeRecord, WebhookPost
from queries.selectors import DUE_BLOCK
from queries.statuses import BatchStatus, DeliveryState, StepName
from queries.wait_reasons import WaitCode
from tests.accessibility import serious_problems
from tests.browser import Pictures, assert_fits
from tests.explorer.batch_form import sign_in_browser
from tests.explorer.stored_batches import (
    ADDRESS,
    BLOCK,
    attach,
    prove,
    set_delivery,
    submit_accounts,
)
from tests.queries.api.batch_states import run_steps, set_status
from tests.queries.api.served_api import (
    HERE,
    OPTIMISM,
    ROUTES,
    SEPOLIA,
    WALLET,
    made_feed,
    make_key,
    record_head,
)
from tests.queries.feeds.running import submit_due_runs

pytestmark = [
    pytest.mark.browser,
    pytest.mark.either_database,
    pytest.mark.urls(HERE),
    pytest.mark.django_db(transaction=True),
]

SOON = 3_000  # milliseconds, within which a list shows what has changed
DESK: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
BALANCE = {ADDRESS: {"props": ["BALANCE"]}}
CALL = {"to": f"0x{40 * '1'}", "function": "notify(uint256)", "args": ["1"], "gas": "100000"}
LISTS = ["/", "/explorer/batches", "/dashboard", "/dashboard/batches"]
STEPS = list(StepName)


@dataclass(frozen=True, slots=True)
class State:
    """A batch that stands in the lists, and what its row says."""

    status: BatchStatus
    dots: str
    make: Callable[[str], object]
    outcome: str = ""
    delivery: str = ""
    calls: int = 0


def _begin(*completed: StepName, moving: StepName) -> Callable[[str], None]:
    def make(batch: str) -> None:
        attach(batch)
        run_steps(batch, *completed)
        run_steps(batch, moving, completed=False)
        set_status(batch, "ACCEPTED" if moving is STEPS[0] else "IN_PROGRESS")

    return make


def _reject(batch: str) -> None:
    _begin(*STEPS[:2], moving=STEPS[2])(batch)
    set_status(
        batch,
        "REJECTED",
        error_code="proof_failed",
        error_sentence="The transaction failed on the chain.",
        error_step=STEPS[2],
        error_retryable=True,
        ended_at=timezone.now(),
    )


def _deliver(*states: DeliveryState) -> Callable[[str], None]:
    def make(batch: str) -> None:
        prove(batch)
        for position, state in enumerate(states):
            set_delivery(batch, position, state)

    return make


def _nothing(batch: str) -> None:
    pass


STATES = (
    State(BatchStatus.RECEIVED, "◐○○○", _nothing),
    State(BatchStatus.ACCEPTED, "◐○○○", _begin(moving=STEPS[0])),
    State(BatchStatus.IN_PROGRESS, "●◐○○", _begin(STEPS[0], moving=STEPS[1])),
    State(BatchStatus.IN_PROGRESS, "●●◐○", _begin(*STEPS[:2], moving=STEPS[2])),
    State(BatchStatus.IN_PROGRESS, "●●●◐", _begin(*STEPS[:3], moving=STEPS[3])),
    State(BatchStatus.DONE, "●●●●", prove, "21 ETH"),
    State(BatchStatus.REJECTED, "●●✕○", _reject, "The transaction failed on the chain."),
    *(
        State(BatchStatus.DONE, "●●●●", _deliver(*states), "21 ETH", words, len(states))
        for words, states in {
            "being delivered": [DeliveryState.WAITING],
            "0 of 2 delivered": [DeliveryState.SENT, DeliveryState.WAITING],
            "delivered": [DeliveryState.DELIVERED],
            "nothing to deliver": [DeliveryState.SKIPPED],
            "delivery failed": [DeliveryState.FAILED],
        }.items()
    ),
)
SIGNS = {"proven": "●", "moving": "◐", "waiting": "○", "rejected": "✕"}


def _submit(state: State | None = None, block: int = BLOCK) -> str:
    """Submit a batch of the signed-in account."""
    deliver = [CALL] * state.calls if state else []
    batch = submit_accounts(BALANCE, block, owner=WALLET, deliver=deliver)
    if state:
        state.make(batch)
    return batch


@pytest.fixture
def own_page(page: Page, live_server: LiveServer) -> Page:
    """A page of a visitor who has signed in; a prover has polled the chains."""
    for chain in (SEPOLIA, OPTIMISM):
        record_head(chain, number=BLOCK + 70, timestamp=int(time.time()))
    sign_in_browser(page, live_server.url)
    return page


def _row(page: Page, batch: str) -> Locator:
    return page.locator(f"#row-{batch}")


def _dots(row: Locator) -> str:
    classes = row.locator(".dots > .mark").evaluate_all("dots => dots.map(dot => dot.classList[1])")
    return "".join(SIGNS[name] for name in classes)


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_each_row_shows_six_things_in_each_status(
    own_page: Page, live_server: LiveServer, pictures: Pictures, size: ViewportSize
) -> None:
    page, batches = own_page, {_submit(state, BLOCK + n): state for n, state in enumerate(STATES)}
    page.set_viewport_size(size)
    for address in LISTS:
        page.goto(live_server.url + address)
        shown = [batch for batch in batches if _row(page, batch).count()]
        newest = list(batches)[-len(shown) :]
        assert shown == newest
        assert len(shown) >= (5 if address == "/" else 10)
        for batch in shown:
            row, state = _row(page, batch), batches[batch]
            expect(row.locator(".status .mark").first).to_have_text(state.status)
            expect(row.locator(".status")).to_contain_text(state.delivery)
            assert _dots(row) == state.dots, state
            names = row.locator(".dots").inner_text()
            assert [name in names for name in STEPS] == 4 * [True]
            expect(row.locator(".asked")).to_have_text("balance of 0xd8dA…6045")
            expect(row.locator(".source")).to_have_text(
                re.compile("Sepolia, block 5,186,0[0-9]{2}")
            )
            expect(row.locator(".destination")).to_contain_text("Sepolia")
            assert row.locator("svg.chain").count() == 2
            expect(row.locator(".outcome")).to_contain_text(re.sub("^21", "", state.outcome))
            expect(row.locator(".costs")).to_contain_text("fee 0")
            expect(row.locator(".id > .short > code").first).to_have_text(f"…{batch[-5:]}")
            expect(row.locator(".when")).to_have_text(re.compile("now|ago"))
            for part in (".status", ".dots", ".asked", ".source", ".destination", ".costs", ".id"):
                expect(row.locator(part)).to_be_visible()
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            name = address.strip("/").replace("/", "-") or "start"
            pictures.take(page, f"list-{name}-{size['width']}-{scheme}")
        assert_fits(page, size["width"], 320)
        page.set_viewport_size(size)
        assert serious_problems(page) == [], address


def _complete(batch: str, step: StepName) -> None:
    """Complete this step and begin the next one."""
    run_steps(batch, *STEPS[: STEPS.index(step) + 1])
    run_steps(batch, *STEPS[STEPS.index(step) + 1 :][:1], completed=False)


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_dots_change_and_new_batches_appear_without_a_reload(
    own_page: Page, live_server: LiveServer, size: ViewportSize
) -> None:
    batch = _submit()
    pages = [own_page.context.new_page() for _ in LISTS]
    for page, address in zip(pages, LISTS, strict=True):
        page.set_viewport_size(size)
        page.emulate_media(reduced_motion="reduce")
        page.goto(live_server.url + address)
        page.evaluate("window.notReloaded = true")
    attach(batch)
    for status, step, dots in (
        ("ACCEPTED", STEPS[0], "●◐○○"),
        ("IN_PROGRESS", STEPS[1], "●●◐○"),
        ("IN_PROGRESS", STEPS[2], "●●●◐"),
    ):
        set_status(batch, status)
        _complete(batch, step)
        for page in pages:
            row = _row(page, batch)
            dot = row.locator(".dots > .mark").nth(STEPS.index(step))
            expect(dot).to_have_class("mark proven", timeout=SOON)
            expect(row.locator(".status")).to_have_text(status)
            assert _dots(row) == dots
    prove(batch)
    for page in pages:
        expect(_row(page, batch).locator(".status")).to_have_text("DONE", timeout=SOON)
        expect(_row(page, batch).locator(".result")).to_have_text("21 ETH")
    new = _submit(block=BLOCK + 1)
    for page in pages:
        first = page.locator(".batch-rows > li").first
        expect(first).to_have_id(f"row-{new}", timeout=SOON)
        assert page.evaluate("window.notReloaded")


def test_what_a_visitor_reads_stays_where_it_is(own_page: Page, live_server: LiveServer) -> None:
    page, batches = own_page, [submit_accounts(BALANCE, BLOCK + n) for n in range(25)]
    page.set_viewport_size(PHONE)
    page.goto(f"{live_server.url}/explorer/batches")
    page.mouse.wheel(0, 1_500)
    page.wait_for_function("scrollY > 1000")
    row = _row(page, batches[12])
    place = row.evaluate("row => row.getBoundingClientRect().top")
    new = [_submit(block=BLOCK + n) for n in range(30, 33)]
    button = page.locator("button.newer")
    expect(button).to_have_text("3 new", timeout=SOON)
    prove(batches[12])  # still refreshed
    expect(row.locator(".status")).to_have_text("DONE", timeout=SOON)
    assert row.evaluate("row => row.getBoundingClientRect().top") == place
    expect(page.locator(".batch-rows > li")).to_have_count(25)
    assert serious_problems(page) == []
    assert_fits(page, 320, PHONE["width"])
    button.click()
    expect(page.locator(".batch-rows > li").first).to_have_id(f"row-{new[-1]}")
    expect(page.locator(".batch-rows > li").first).to_be_in_viewport()
    expect(button).to_be_hidden()
    page.keyboard.press("Tab")
    expect(page.locator(".batch-rows a").first).to_be_focused()


def test_new_batches_of_the_start_page_wait_too(own_page: Page, live_server: LiveServer) -> None:
    page, batches = own_page, [_submit(block=BLOCK + n) for n in range(5)]
    page.goto(live_server.url)
    row = _row(page, batches[2])
    row.scroll_into_view_if_needed()
    page.wait_for_function("scrollY > 0")
    place = row.evaluate("row => row.getBoundingClientRect().top")
    new = _submit(block=BLOCK + 9)
    button = page.locator("button.newer")
    expect(button).to_have_text("1 new", timeout=SOON)
    assert row.evaluate("row => row.getBoundingClientRect().top") == place
    button.click()
    expect(page.locator(".batch-rows > li").first).to_have_id(f"row-{new}")


def test_what_an_owner_types_stays(own_page: Page, live_server: LiveServer) -> None:
    """Also if a refresh brings a message, and removes it again."""
    page, feed = own_page, _feed()
    page.goto(f"{live_server.url}/explorer/feed/{feed}")
    page.get_by_text("Change it").click()
    budget = page.get_by_label("For 24 hours")
    budget.fill("123")
    Feed.objects.update(waits_for="It waits for this test.")
    message = page.get_by_text("It waits for this test.")
    expect(message).to_be_visible(timeout=SOON)
    Feed.objects.update(waits_for="")
    _run(feed)
    expect(page.locator(".feed-runs tbody tr")).to_have_count(1, timeout=SOON)
    expect(message).to_have_count(0)
    expect(budget).to_have_value("123")
    expect(budget).to_be_focused()


def test_focus_and_selection_stay_and_new_batches_wait(
    own_page: Page, live_server: LiveServer
) -> None:
    page, batches = own_page, [_submit(block=BLOCK + n) for n in range(2)]
    page.goto(f"{live_server.url}/explorer/batches")
    link = _row(page, batches[0]).get_by_role("link")
    link.focus()
    _submit(block=BLOCK + 2)
    button = page.locator("button.newer")
    expect(button).to_have_text("1 new", timeout=SOON)
    set_status(batches[0], "ACCEPTED")
    expect(_row(page, batches[0]).locator(".status")).to_have_text("ACCEPTED", timeout=SOON)
    expect(link).to_be_focused()
    button.press("Enter")
    expect(page.locator(".batch-rows > li")).to_have_count(3)
    page.goto(f"{live_server.url}/explorer/batches")
    _row(page, batches[1]).locator(".source").evaluate(
        "part => getSelection().selectAllChildren(part)"
    )
    text = page.evaluate("getSelection().toString()")
    _submit(block=BLOCK + 3)
    expect(button).to_have_text("1 new", timeout=SOON)
    assert page.evaluate("getSelection().toString()") == text


def test_an_id_is_copied_whole_by_a_click(own_page: Page, live_server: LiveServer) -> None:
    page, batch = own_page, _submit()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{live_server.url}/explorer/batches")
    short = _row(page, batch).locator(".id .short")
    short.hover()
    expect(short.locator(".exact")).to_be_visible()
    short.locator("code").first.click(position={"x": 4, "y": 2})
    expect(short.locator(".exact")).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == batch


def test_a_list_says_that_the_server_is_gone_and_stops_while_it_is_hidden(
    own_page: Page, live_server: LiveServer, complaints: list[str]
) -> None:
    page, asked = own_page, list[str]()
    page.goto(f"{live_server.url}/explorer/batches")
    mark = page.locator("#live")
    expect(mark).to_have_text("live")
    page.route("**/explorer/batches?*", lambda route: route.abort())
    expect(mark).to_have_text("not live: the server does not answer, trying again", timeout=SOON)
    assert serious_problems(page) == []
    page.unroute("**/explorer/batches?*")
    expect(mark).to_have_text("live", timeout=SOON)
    page.route("**/explorer/batches?*", lambda route: route.fulfill(status=503, body="down"))
    expect(mark).to_have_text("not live: the server has an error, trying again", timeout=SOON)
    page.unroute("**/explorer/batches?*")
    expect(mark).to_have_text("live", timeout=SOON)
    complaints.clear()
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(SOON)
    assert asked
    page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
    page.wait_for_timeout(500)
    asked.clear()
    page.wait_for_timeout(SOON)
    assert asked == []
    page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_timeout(500)
    assert asked


def test_a_list_of_ones_own_says_that_one_has_signed_out(
    own_page: Page, live_server: LiveServer
) -> None:
    own_page.goto(f"{live_server.url}/dashboard/batches")
    own_page.context.clear_cookies()
    expect(own_page.locator("#live")).to_have_text("not live: reload the page", timeout=SOON)
    expect(own_page).to_have_title("My batches · Tacitus")


@pytest.mark.parametrize("address", [*LISTS, "/status", "/explorer/routes"])
def test_without_a_script_there_is_a_link_to_reload(
    own_page: Page, plain_page: Page, live_server: LiveServer, address: str
) -> None:
    plain_page.context.add_cookies(own_page.context.cookies())  # type: ignore[arg-type]
    plain_page.set_viewport_size(PHONE)
    plain_page.goto(live_server.url + address)
    batch = _submit()
    expect(plain_page.get_by_text("live", exact=True).first).to_be_hidden()
    plain_page.get_by_role("link", name="Reload").first.click()
    expect(plain_page).to_have_url(live_server.url + address)
    if address in LISTS:
        expect(_row(plain_page, batch)).to_be_visible()


def _feed() -> str:
    data = {str(SEPOLIA): {DUE_BLOCK: {"accounts": BALANCE}}}
    batch = {"destinationChainId": str(SEPOLIA), "fee": "0", "data": data}
    return made_feed(make_key(), {"every": "5 blocks", "batch": batch})


def _refused_feed() -> str:
    """A feed whose ten deliveries are refused."""
    data = {str(SEPOLIA): {DUE_BLOCK: {"accounts": BALANCE}}}
    call = {"to": f"0x{40 * '1'}", "function": "update(uint256)", "args": ["$block"]}
    batch = {"destinationChainId": str(SEPOLIA), "fee": "0", "data": data, "deliver": [call]}
    feed = made_feed(make_key(), {"every": "5 blocks", "batch": batch, "name": "A vault"})
    for _ in range(10):
        _run(feed)
        batch_id = FeedRun.objects.filter(feed=feed).latest("id").batch_id or ""
        prove(batch_id)
        wait = {"wait_code": WaitCode.CONTRACT_REFUSES, "refusals": 1}
        set_delivery(batch_id, 0, DeliveryState.WAITING, **wait)
    return feed


def test_feeds_and_their_runs_refresh_themselves(own_page: Page, live_server: LiveServer) -> None:
    page, feed = own_page, _feed()
    tab = page.context.new_page()
    page.goto(f"{live_server.url}/explorer/feed/{feed}")
    tab.goto(f"{live_server.url}/dashboard/feeds")
    row = tab.locator(f"#feed-{feed}")
    expect(row).to_contain_text("none yet")
    for opened in (page, tab):
        opened.evaluate("window.notReloaded = true")
    _run(feed)
    runs = page.locator(".feed-runs tbody tr")
    expect(runs).to_have_count(1, timeout=SOON)
    expect(runs.first).to_contain_text("RECEIVED")
    expect(row.locator(".outcomes .mark")).to_have_class("mark moving", timeout=SOON)
    prove(FeedRun.objects.get().batch_id or "")
    expect(runs.first).to_contain_text("DONE", timeout=SOON)
    expect(page.locator(".totals")).to_contain_text("1 of 1")
    expect(page.locator("#newest-value")).to_contain_text("ETH")
    expect(row.locator(".outcomes .mark")).to_have_class("mark proven", timeout=SOON)
    Feed.objects.update(waits_for="It waits for this test.")
    expect(page.get_by_text("It waits for this test.")).to_be_visible(timeout=SOON)
    expect(tab.get_by_text("It waits for this test.")).to_be_visible(timeout=SOON)
    refused = _refused_feed()
    expect(tab.locator(f"#feed-{refused}")).to_contain_text(
        "ACTIVE, refused: 10 deliveries wait since", timeout=SOON
    )
    ChainRecord.objects.filter(chain=SEPOLIA).update(block_seconds=12)
    for opened in (page, tab):
        assert opened.evaluate("window.notReloaded")
        for size in (DESK, PHONE):
            opened.set_viewport_size(size)
            assert_fits(opened, size["width"], 860, 800, 740, 320)
        assert serious_problems(opened) == []


def _run(feed: str) -> None:
    due = Feed.objects.get(pk=feed).due
    ChainRecord.objects.filter(chain=SEPOLIA).update(number=due, final_number=due)
    submit_due_runs()


def test_status_routes_accounts_registries_and_webhooks_refresh_themselves(
    own_page: Page, live_server: LiveServer
) -> None:
    prove(_submit())
    registry = ROUTES.registries[SEPOLIA, SEPOLIA].address
    addresses = {
        "/status": "5,186,777",
        "/explorer/routes": "5,186,777",
        f"/explorer/account/{ADDRESS}": "5,186,700",
        f"/explorer/registry/{SEPOLIA}/{registry}": "5,186,700",
        "/dashboard/webhooks": "to be sent",
    }
    pages = {}
    for address, text in addresses.items():
        pages[address] = page = own_page.context.new_page()
        page.goto(live_server.url + address)
        expect(page.locator("#live")).to_have_text("live")
        expect(page.locator("main")).not_to_contain_text(text)
        page.evaluate("window.notReloaded = true")
    ChainRecord.objects.filter(chain=SEPOLIA).update(number=5_186_777)
    batch = _submit(block=5_186_700)
    prove(batch)
    WebhookPost.objects.create(
        id=batch,
        batch_id=batch,
        owner=Batch.objects.get(pk=batch).owner,
        created_at=timezone.now(),
        due_at=timezone.now() + timedelta(hours=1),
    )
    for address, text in addresses.items():
        expect(pages[address].locator("main")).to_contain_text(text, timeout=2 * SOON)
        assert pages[address].evaluate("window.notReloaded"), address
    NodeRecord.objects.create(
        chain=SEPOLIA, position=1, recorded_at=timezone.now(), fault="node_unreachable"
    )
    delay = "Proving with Sepolia is delayed: none of its nodes has answered"
    expect(pages["/status"].locator("main")).to_contain_text(delay, timeout=2 * SOON)
