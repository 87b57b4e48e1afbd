"""The page of a fact in a browser: its value, its check and its proof."""

import re

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from queries.models import Query
from tests.accessibility import assert_accessible
from tests.browser import assert_fits
from tests.explorer.proven_events import TOKENS, mine_transfer, prove_events
from tests.explorer.proven_facts import HOLDER, SLOT, proven_batch
from tests.explorer.stored_batches import set_word
from tests.queries.prover.service import CHAIN_ID, Service

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.either_database,
]
TEXT = b"Sesterce"


def _fact_url(server: LiveServer, batch: str, name: str) -> str:
    block = Query.objects.values_list("block", flat=True).get(batch=batch, position=0)
    return f"{server.url}/explorer/fact/{CHAIN_ID}/{block}/{HOLDER}/{name}"


def _check_layout(page: Page) -> None:
    """Nothing overflows, and axe finds no problem on a phone."""
    assert_fits(page, 320)
    assert_accessible(page)
    assert_fits(page, 1200)


def test_a_value_is_checked_in_place(page: Page, live_server: LiveServer, service: Service) -> None:
    batch = proven_batch(service)
    url = _fact_url(live_server, batch, "BALANCE")
    page.goto(url)
    expect(page.locator(".answer")).to_contain_text("123 ETH")
    page.get_by_role("link", name="Check it now").click()
    expect(page.locator("#checked")).to_contain_text("The registry says the same, read on Local")
    assert page.url == url
    page.locator(".answer .short").hover()
    expect(page.locator(".answer .exact")).to_be_visible()
    expect(page.locator(".answer .exact")).to_contain_text("123,000,000,000,000,000,000 wei")
    expect(page.get_by_role("img", name="state trie")).to_be_visible()
    page.get_by_text("All hashes").click()
    _check_layout(page)
    _check_certificate(page)


def _check_certificate(page: Page) -> None:
    """On paper the page is one sheet with the value, the command and the page's address."""
    page.emulate_media(media="print")
    for text in ("123 ETH", "cast keccak", "Check code", "Block hash", f"This page: {page.url}"):
        expect(page.get_by_text(text).first).to_be_visible()
    for name in ("Check it now", "Search", "Read it in your contract", "Verify it offline"):
        expect(page.get_by_text(name, exact=True).first).to_be_hidden()
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) == 1
    page.emulate_media(media="screen")


def test_events_are_readable_at_all_widths(
    page: Page, live_server: LiveServer, service: Service
) -> None:
    transfer = mine_transfer(service)
    batch = prove_events(service, transfer)
    block = f"/explorer/block/{CHAIN_ID}/{transfer.block}"
    for address in (f"/explorer/query/{batch}", block, f"{transfer.facts}/LOG:0:0"):
        page.goto(f"{live_server.url}{address}")
        expect(page.get_by_text(f"Transfer of {TOKENS:,} HS").first).to_be_visible()
        _check_layout(page)
    page.get_by_role("link", name="Check it now").click()
    expect(page.locator("#checked")).to_contain_text("The events verifier says the same, read on")
    page.get_by_text("cast", exact=True).click()
    expect(page.locator("#code-cast")).to_contain_text("isLog(uint256,uint256,uint256,address,")
    page.get_by_role("link", name="Receipt of transaction").click()
    expect(page.locator(".answer")).to_contain_text("succeeded, 1 log")


def test_a_slot_has_its_forms_without_scripts(
    plain_page: Page, live_server: LiveServer, service: Service
) -> None:
    batch = proven_batch(service)
    word = (TEXT.ljust(31, b"\0") + bytes([2 * len(TEXT)])).hex()
    slot = f"0x{SLOT:064x}"
    set_word(batch, slot, int(word, 16))
    plain_page.goto(_fact_url(live_server, batch, slot))
    shown = plain_page.locator(".answer .decoded-value:visible")
    expect(shown).to_have_text("“Sesterce”")
    plain_page.get_by_text("Hex", exact=True).click()
    expect(shown).to_have_text(f"0x{word}")
    plain_page.get_by_text("Dec", exact=True).click()
    expect(shown).to_have_text(f"{int(word, 16):,}")
