"""The form of a new batch in a browser, with a real service."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.accessibility import assert_accessible
from tests.accounts.wallet import Wallet, install
from tests.browser import assert_fits
from tests.rigs.service import HOLDER, OWNERS, Service

pytestmark = [pytest.mark.browser, pytest.mark.either_database]
WIDTHS = (320, 360, 768, 1200, 1920)
CAN_BE_SUBMITTED = re.compile("This can be submitted|All of this is proven already")


def _open_form(page: Page, shared_service: Service, wallet: Wallet) -> None:
    """Sign in and open the form, with a final block at which `HOLDER` is not proven yet."""
    shared_service.wait(shared_service.submit_balance(shared_service.chain.mine(2) - 1, OWNERS[0]))
    install(page, wallet)
    page.goto(f"{shared_service.url}/sign-in?next=/dashboard/new-batch")
    page.get_by_role("button", name=wallet.name).click()
    # The first sign-in of a server is slow.
    expect(page.get_by_role("heading", level=1)).to_have_text("New batch", timeout=20_000)
    expect(page.get_by_label("Block", exact=True)).to_have_value(re.compile(r"^\d+$"))


def test_the_form_is_checked_while_typing_and_submitted_once(
    page: Page, shared_service: Service, wallet: Wallet
) -> None:
    _open_form(page, shared_service, wallet)
    account, error = page.get_by_label("Account", exact=True), page.locator("#error-account")
    account.press_sequentially(HOLDER[:-1], delay=5)
    expect(error).to_contain_text("an address has 40 hex digits after 0x, and this has 39")
    expect(account).to_be_focused()
    expect(account).to_have_attribute("aria-invalid", "true")
    account.press_sequentially(HOLDER[-1])
    expect(page.locator("#verdict")).to_contain_text(CAN_BE_SUBMITTED)
    expect(error).to_be_empty()
    expect(account).not_to_have_attribute("aria-invalid", "true")
    expect(page.locator("#request-json")).to_contain_text(HOLDER)
    expect(page.locator("#verdict")).to_contain_text(re.compile(r"at most 0\.0\d+ ETH"))
    page.locator("#estimate-details summary").click()
    page.get_by_label("Block", exact=True).press("Enter")  # checks without submitting
    expect(page.locator("#estimate-details")).to_contain_text(re.compile(r"Gas\s*[1-9][0-9,]+"))
    assert page.url.endswith("/dashboard/new-batch")
    page.get_by_role("button", name="Submit the batch").dblclick()
    expect(page.get_by_role("heading", level=1)).to_contain_text("balance of")
    assert re.search(r"/explorer/query/[0-9A-Z]{26}$", page.url)
    expect(page.locator(".standing .mark")).to_have_text("DONE")
    batch = page.url.rpartition("/")[2]
    page.goto(f"{shared_service.url}/dashboard")
    own = page.locator(".batch-rows > li")
    expect(own.first).to_contain_text("DONE")
    expect(own.first.locator(f"a[href$='{batch}']")).to_be_visible()
    expect(page.locator(f"a[href$='{batch}']")).to_have_count(1)


def test_the_estimate_of_a_block_that_is_not_final_keeps_itself_up_to_date(
    page: Page, shared_service: Service, wallet: Wallet
) -> None:
    _open_form(page, shared_service, wallet)
    block, verdict = shared_service.chain.mine(1) + 1, page.locator("#verdict")
    chain = page.locator("#source").input_value()
    page.goto(
        f"{shared_service.url}/dashboard/new-batch?source={chain}&block={block}&account={HOLDER}"
    )
    waits = re.compile(r"[0-9.]+ ETH,\s+about|what it costs can be measured")
    expect(verdict).to_contain_text(waits)
    verdict.locator("summary").click()
    shared_service.chain.mine(5)
    price = re.compile(r"at most [0-9.]+ ETH")
    expect(verdict).to_contain_text(price, timeout=40_000)
    expect(verdict.locator("details")).to_have_attribute("open", "")
    expect(page.get_by_label("Block", exact=True)).to_have_value(str(block))


def test_a_form_from_before_another_sign_in_keeps_its_input(
    page: Page, shared_service: Service, wallet: Wallet
) -> None:
    _open_form(page, shared_service, wallet)
    other = page.context.new_page()
    install(other, wallet)
    page.context.clear_cookies(name="session")
    other.goto(f"{shared_service.url}/sign-in")
    other.get_by_role("button", name=wallet.name).click()
    expect(other).to_have_url(re.compile("/dashboard"))
    account = page.get_by_label("Account", exact=True)
    for action in (
        lambda: account.fill(HOLDER),
        lambda: page.get_by_role("button", name="Edit as JSON").click(),
    ):
        page.locator("#verdict").evaluate("element => element.replaceChildren()")
        action()
        expect(page.locator("#verdict")).to_contain_text("from before you signed in again")
        expect(account).to_have_value(HOLDER)
    page.get_by_role("link", name="reload the page").click()
    page.get_by_label("Account", exact=True).fill(HOLDER)
    expect(page.locator("#verdict")).to_contain_text(CAN_BE_SUBMITTED)


def test_the_form_works_without_scripts(
    page: Page, plain_page: Page, shared_service: Service, wallet: Wallet
) -> None:
    _open_form(page, shared_service, wallet)
    plain_page.context.add_cookies(page.context.cookies())  # type: ignore[arg-type]
    plain_page.goto(f"{shared_service.url}/dashboard/new-batch")
    plain_page.get_by_label("Account", exact=True).fill("0x12")
    plain_page.get_by_role("button", name="Check").click()
    expect(plain_page.locator("#error-account")).to_contain_text("this has 2")
    expect(plain_page.get_by_label("Account", exact=True)).to_have_attribute("aria-invalid", "true")
    plain_page.get_by_label("Account", exact=True).fill(HOLDER)
    plain_page.get_by_role("button", name="Check").click()
    expect(plain_page.locator("#verdict")).to_contain_text(CAN_BE_SUBMITTED)
    expect(plain_page.locator("#request-json")).to_contain_text(HOLDER)
    plain_page.get_by_role("button", name="Edit as JSON").click()
    expect(plain_page.get_by_label("The request as JSON")).to_have_value(re.compile(HOLDER))
    plain_page.get_by_role("button", name="Submit the batch").click()
    expect(plain_page.get_by_role("heading", level=1)).to_contain_text("balance of")


def test_the_account_pages_fit_and_are_accessible(
    page: Page, shared_service: Service, wallet: Wallet
) -> None:
    _open_form(page, shared_service, wallet)
    for address in ("/new-batch", "/batches", "/keys", "/webhooks", "/usage", "/sessions", ""):
        page.goto(f"{shared_service.url}/dashboard{address}")
        if address == "/new-batch":
            page.get_by_label("Account", exact=True).fill(HOLDER)
            expect(page.locator("#verdict")).to_contain_text(CAN_BE_SUBMITTED)
        for details in page.locator("main details").all():
            details.locator("summary").click()
        assert_accessible(page)
        assert_fits(page, *WIDTHS)
