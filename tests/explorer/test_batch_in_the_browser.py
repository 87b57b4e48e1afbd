"""The batch page in a browser, with a real chain, server and prover."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.conf import settings
from django.test import Client
from django.test.utils import override_settings
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from explorer.demo.local_node import LocalNode
from queries import transitions
from queries.engines import PROVE
from queries.models import Batch, BlockJob, Query
from queries.prover.handlers import work_once
from queries.statuses import StepName
from queries.transactions.context import ProverContext
from queries.transitions import Failure
from tests.accessibility import assert_accessible
from tests.browser import Pictures, assert_fits
from tests.explorer.proven_facts import HOLDER, proven_batch
from tests.queries.prover.service import (
    CHAIN_ID,
    ETHER,
    Service,
    ended_batch,
    post_all,
    running_service,
)
from tests.rigs.receiver import receiver

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.either_database,
]

PHONE, DESK = 360, 1200  # pixels
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
    assert_fits(page, PHONE)
    assert_accessible(page)
    assert_fits(page, DESK)


def _send(service: Service) -> ProverContext:
    """Work until the transaction is sent; it is not mined."""
    _set_automine(service.node, enabled=False)
    context = service.context()
    while not Query.objects.exclude(header_accumulated_began_at=None).exists():
        work_once(PROVE, context)
    return context


def test_a_batch_page_updates_until_the_batch_is_done(
    page: Page, live_server: LiveServer, service: Service
) -> None:
    block = service.head() - 1
    batch = service.ask_balance(HOLDER, block)
    page.goto(_batch_url(live_server, batch))
    sentence = f"balance of 0xd8dA…6045 · Local, block {block}"
    expect(page).to_have_title(f"RECEIVED · {sentence} · Tacitus")
    expect(page.get_by_role("heading", level=1)).to_have_text(sentence)
    page.evaluate("window.notReloaded = true")
    line = page.locator(".proof-line")
    steps = line.locator(".mark")
    expect(steps).to_have_count(4)
    expect(steps.first).to_have_class("mark moving")
    clock = line.locator("time.elapsed")
    text = clock.text_content() or ""
    expect(clock).not_to_have_text(text)  # it ticks, although nothing has changed
    context = _send(service)
    expect(steps.nth(1)).to_have_class("mark proven")
    expect(line.locator(".segment.moving")).to_contain_text("mined")
    expect(line.locator(".segment.moving")).to_contain_text("so far")
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    _check_layout(page)
    # Focus, selection, and open details survive a refresh.
    copy = page.get_by_role("button", name=re.compile("^Copy the batch.s id"))
    copy.focus()
    element = copy.evaluate_handle("element => element")
    heading = page.get_by_role("heading", level=1)
    heading.evaluate("element => getSelection().selectAllChildren(element)")
    BlockJob.objects.update(waits_for="It waits for this test.")
    expect(page.get_by_text("It waits for this test.")).to_have_count(1)
    Query.objects.update(header_accumulated_began_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    expect(line).to_contain_text("03:04:05")
    assert element.evaluate("element => element.isConnected") is True
    assert page.evaluate("getSelection().toString()") == sentence
    expect(copy).to_be_focused()
    _set_automine(service.node, enabled=True)
    service.mine()
    service.work(batch, context=context)
    expect(line.locator(".mark.proven")).to_have_count(4)
    expect(clock).to_have_count(0)
    expect(page).to_have_title(f"DONE · {sentence} → 123 ETH · Tacitus")
    expect(page.locator("#announcement")).to_have_text("The batch is DONE.")
    expect(page.locator(".answer")).to_contain_text("123 ETH")
    expect(page.get_by_text("its 100 %")).to_have_count(0)
    expect(copy).to_be_focused()
    expect(page.get_by_text("accountField(")).to_be_visible()
    expect(line.get_by_role("listitem")).to_have_count(1 + 4 + 1)
    assert page.evaluate("window.notReloaded") is True
    page.get_by_role("link", name="Check it now").click()
    expect(page.locator("main")).to_contain_text("The registry says the same")


def test_the_answer_is_above_the_fold(
    page: Page, live_server: LiveServer, service: Service
) -> None:
    batch = service.ask_balance(HOLDER, service.head() - 1)
    service.work(batch)
    for width, height in ((1280, 800), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        page.goto(_batch_url(live_server, batch))
        for answer in ("123 ETH", "DONE", "Check it now", "native · trusts nobody"):
            expect(page.locator("main").get_by_text(answer).first).to_be_in_viewport()


def test_an_absent_account_is_named_and_the_proof_is_drawn(
    page: Page, live_server: LiveServer, service: Service
) -> None:
    block = service.head() - 1
    batch = service.ask_balance("0x00000000000000000000000000000000DeaDBeef", block)
    service.work(batch)
    page.goto(_batch_url(live_server, batch))
    expect(page.locator(".headline")).to_contain_text(f"does not exist in block {block:,}: the")
    page.get_by_text("Proof: hash of block").click()
    expect(page.get_by_role("img", name="state trie")).to_be_visible()
    _check_layout(page)


def test_facts_of_several_blocks_are_in_a_table(
    page: Page, live_server: LiveServer, service: Service
) -> None:
    batch = proven_batch(service)
    page.goto(_batch_url(live_server, batch))
    table = page.get_by_role("region", name="Facts")
    expect(table.get_by_role("row")).to_have_count(1 + 4)
    _check_layout(page)
    balance = table.get_by_role("link", name="123 ETH")
    balance.focus()
    expect(table.locator(".exact:visible")).to_contain_text(f"{123 * ETHER}")
    balance.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("balance of 0xd8dA…6045")


@override_settings(ALLOW_PRIVATE_WEBHOOKS=True)
def test_the_owner_sees_what_became_of_the_webhook(
    page: Page, plain_page: Page, live_server: LiveServer, service: Service, pictures: Pictures
) -> None:
    with receiver(500, 204) as hook:
        batch = ended_batch(service, hook.url)
        owner = Client()
        owner.force_login(Batch.objects.get(pk=batch).owner)
        name = settings.SESSION_COOKIE_NAME
        cookie = {"name": name, "value": owner.cookies[name].value, "url": live_server.url}
        for tab in (page, plain_page):
            tab.context.add_cookies([cookie])  # type: ignore[list-item]
            tab.goto(_batch_url(live_server, batch))
        webhook = page.get_by_role("region", name="Webhook")
        expect(webhook).to_contain_text("to be sent")
        expect(page.get_by_text("live", exact=True)).to_be_visible()
        post_all(service)
        expect(webhook).to_contain_text("The receiver answered 500 Internal Server Error")
        expect(page.get_by_text("live", exact=True)).to_have_count(0)
        webhook.get_by_text("1 attempt").click()
        _check_layout(page)
        pictures.check_fit(page, "batch-webhook")
        plain_page.reload()
        plain_page.get_by_role("button", name="Send now").click()
        expect(plain_page.locator(".message.success")).to_be_visible()
        post_all(service)
    page.reload()
    expect(webhook).to_contain_text("delivered")
    expect(webhook).to_contain_text("answered 204")
    webhook.get_by_role("link", name="All your webhooks").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Webhooks")
    _check_layout(page)
    pictures.check_fit(page, "own-webhooks")


def test_a_rejected_batch_shows_reason_and_advice_with_hostile_names_escaped(
    page: Page, live_server: LiveServer, service: Service
) -> None:
    batch = service.ask_balance(HOLDER, service.head() - 1)
    Query.objects.filter(batch=batch).update(name=HOSTILE)
    page.goto(_batch_url(live_server, batch))
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text("<script>alert(1)</script>")
    Batch.objects.filter(pk=batch).update(waits_for=f"For {HOSTILE}"[:300])
    expect(page.locator(".wait")).to_contain_text("For <script>")
    _check_layout(page)
    transitions.reject([batch], FAILURE)
    cause = page.locator(".cause")
    expect(cause).to_contain_text("<script>alert(1)</script>")
    expect(cause).to_contain_text("Ask for a newer block")
    expect(cause).to_contain_text("It stopped at BLOCKHASH_AVAILABLE")
    expect(page.locator(".segment .mark.rejected")).to_have_count(1)
    expect(page).to_have_title(re.compile("^REJECTED · "))
    expect(page.locator("#announcement")).to_contain_text("The batch is REJECTED. Block 1")
    assert page.locator("main script").count() == 0
    assert "\u202e" not in page.content()
    _check_layout(page)
