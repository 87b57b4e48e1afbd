"""The batch page in a browser, with a real chain, server and prover."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from explorer.demo.local_node import LocalNode
from queries import transitions
from queries.models import Batch, BlockJob, Query
from queries.prover.context import ProverContext
from queries.prover.worker import work_once
from queries.statuses import StepName
from queries.transitions import Failure
from tests.accessibility import assert_accessible
from tests.explorer.proven_facts import HOLDER, proven_batch
from tests.queries.prover.service import CHAIN_ID, ETHER, Service, running_service

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.either_database,
]

PHONE, DESK = 360, 1200  # pixels
DISPLAYS = list(product(("light", "dark"), (PHONE, DESK)))
HOSTILE = "<script>alert(1)</script>\u202egpj.eth" + 200 * "w"
FAILURE = Failure(
    "block_out_of_reach",
    f"Block 1 of {HOSTILE} lies 9 blocks below.",
    StepName.BLOCKHASH_AVAILABLE,
    retryable=False,
)


@pytest.fixture
def service(node: LocalNode) -> Iterator[Service]:
    node.rpc.ask("anvil_setBalance", HOLDER, hex(123 * ETHER))
    with running_service(node) as running:
        running.mine(4)  # the balance is in new blocks only
        running.context().head(CHAIN_ID)
        yield running
        _set_automine(node, enabled=True)


def _set_automine(node: LocalNode, *, enabled: bool) -> None:
    node.rpc.ask("evm_setAutomine", enabled)


def _batch_url(server: LiveServer, batch: str) -> str:
    return f"{server.url}/explorer/query/{batch}"


def _check_layout(page: Page) -> None:
    """Nothing overflows, and axe finds no problem on a phone."""
    for scheme, width in DISPLAYS:
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for steps in page.get_by_role("region", name="Steps").all():
            assert steps.evaluate("element => element.scrollWidth <= element.clientWidth")
        if width == PHONE:
            assert_accessible(page)


def _send(service: Service) -> ProverContext:
    """Work until the transaction is sent; it is not mined."""
    _set_automine(service.node, enabled=False)
    context = service.context()
    while not Query.objects.exclude(header_accumulated_began_at=None).exists():
        work_once(context)
    return context


def test_a_batch_page_updates_until_the_batch_is_done(
    page: Page, live_server: LiveServer, service: Service
) -> None:
    batch = service.ask_balance(HOLDER, service.head() - 1)
    page.goto(_batch_url(live_server, batch))
    expect(page).to_have_title(re.compile(f"^RECEIVED · Batch {batch}"))
    page.evaluate("window.notReloaded = true")
    rail = page.locator(".rail li")
    expect(rail).to_have_count(4)
    expect(rail.first).to_have_class("moving")
    context = _send(service)
    expect(rail.nth(1)).to_have_class("proven")
    expect(rail.nth(2)).to_have_class("moving")
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    _check_layout(page)
    # Focus, selection, and open or closed details survive a refresh.
    steps = page.get_by_role("region", name="Steps")
    steps.focus()
    element = steps.evaluate_handle("element => element")
    box = steps.bounding_box()
    steps.locator("tbody th").first.evaluate("cell => getSelection().selectAllChildren(cell)")
    BlockJob.objects.update(waits_for="")
    expect(page.locator("#state .wait-reason")).to_be_empty()
    assert steps.bounding_box() == box
    BlockJob.objects.update(waits_for="It waits for this test.")
    expect(page.get_by_text("It waits for this test.")).to_have_count(1)
    assert steps.bounding_box() == box
    assert element.evaluate("element => element.isConnected") is True
    assert page.evaluate("getSelection().toString()") == "INITIAL_STATE"
    Query.objects.update(header_accumulated_began_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    expect(steps).to_contain_text("03:04:05")
    assert element.evaluate("element => element.isConnected") is False
    expect(steps).to_be_focused()
    page.locator(".queries summary").first.click()
    _set_automine(service.node, enabled=True)
    service.mine()
    service.work(batch, context=context)
    for place in range(4):
        expect(rail.nth(place)).to_have_class("proven")
    expect(page).to_have_title(re.compile(f"^DONE · Batch {batch}"))
    expect(page.locator("#announcement")).to_have_text("The batch is DONE.")
    expect(page.locator(".result")).to_have_text("123 ETH")
    assert page.evaluate("document.activeElement.closest('.queries') !== null")
    assert page.evaluate("document.querySelector('.queries details').open") is False
    assert page.evaluate("window.notReloaded") is True
    page.locator(".queries summary").first.press("Enter")
    expect(page.locator(".decoded-value")).to_contain_text("123 ETH")
    expect(page.locator(".step-table th[scope=row]")).to_have_count(4)


def test_a_visitor_checks_a_fact_and_reads_it(
    page: Page, live_server: LiveServer, service: Service
) -> None:
    batch = proven_batch(service)
    page.goto(_batch_url(live_server, batch))
    balance = page.locator(".values > div").filter(has_text="BALANCE")
    balance.get_by_role("link", name="Check it now").click()
    expect(balance.locator(".checked")).to_contain_text("The registry says the same, read on Local")
    balance.get_by_role("link", name="Read it yourself").click()
    expect(balance.locator(".pane").first).to_contain_text("cast call")
    balance.get_by_role("radio", name="cast").focus()
    page.keyboard.press("ArrowRight")
    expect(balance.locator("pre:visible")).to_contain_text("from web3 import Web3")
    expect(balance.locator(".pane:visible .copy")).to_be_visible()
    assert page.url == _batch_url(live_server, batch)
    _check_layout(page)
    path = balance.get_by_role("link", name="Check it now").get_attribute("href") or ""
    fact = f"{live_server.url}{path.removesuffix('/check')}"
    for address in (fact, f"{fact}/check", f"{_batch_url(live_server, batch)}/0"):
        page.goto(address)
        expect(page.locator(".decoded-value").first).to_contain_text("123 ETH")
        _check_layout(page)


def test_a_rejected_batch_shows_reason_and_advice_with_hostile_names_escaped(
    page: Page, live_server: LiveServer, service: Service
) -> None:
    batch = service.ask_balance(HOLDER, service.head() - 1)
    Query.objects.filter(batch=batch).update(name=HOSTILE)
    page.goto(_batch_url(live_server, batch))
    expect(page.locator(".queries .name")).to_contain_text("<script>alert(1)</script>")
    Batch.objects.filter(pk=batch).update(waits_for=f"For {HOSTILE}"[:300])
    expect(page.locator("#state .info")).to_contain_text("For <script>")
    _check_layout(page)
    transitions.reject([batch], FAILURE)
    cause = page.locator(".cause")
    expect(cause).to_contain_text("<script>alert(1)</script>")
    expect(cause).to_contain_text("Ask for a newer block")
    expect(cause).to_contain_text("It stopped at BLOCKHASH_AVAILABLE")
    expect(page.locator(".step-table .rejected")).to_have_text(re.compile("^stopped$"))
    expect(page).to_have_title(re.compile("^REJECTED · "))
    expect(page.locator("#announcement")).to_contain_text("The batch is REJECTED. Block 1")
    assert page.locator("main script").count() == 0
    assert "\u202e" not in page.content()
    _check_layout(page)


def test_queries_load_on_demand_and_in_pages(
    page: Page, live_server: LiveServer, service: Service
) -> None:
    accounts = {f"0x{number + 1:040x}": {"props": ["BALANCE"]} for number in range(60)}
    block = f"block:{service.head() - 1}"
    batch = service.submit({str(CHAIN_ID): {block: {"accounts": accounts}}})
    service.work(batch)
    page.goto(_batch_url(live_server, batch))
    expect(page.locator(".queries > li")).to_have_count(0)
    page.locator(".block > summary").click()
    expect(page.locator(".queries > li")).to_have_count(50)
    expect(page.locator(".queries .values")).to_have_count(0)
    page.locator(".queries summary").nth(2).click()
    expect(page.locator(".queries .values")).to_have_count(1)
    page.get_by_role("link", name="The next queries").click()
    expect(page.locator(".queries > li")).to_have_count(10)
