"""Refused sign-ins on the page: it says why, and the next attempt works."""

import pytest
from playwright.sync_api import Page, Route, expect

from tests.accounts.sign_in_page import Visit
from tests.accounts.wallet import Wallet

pytestmark = [pytest.mark.browser, pytest.mark.either_database]

DECLINED = "You declined in the wallet. Nothing was signed"


WALLET_ERRORS = [
    ("eth_requestAccounts", (4001, "User rejected the request."), DECLINED),
    ("personal_sign", (4001, "User denied message signature."), DECLINED),
    ("eth_requestAccounts", (-32002, "already pending"), "already has an open request"),
    ("personal_sign", (4100, "unauthorized"), "does not show this account to this page"),
    ("personal_sign", (-32603, "a\n\u202efuse <b>blew</b>"), "Walnut failed: “a fuse <b>blew</b>”"),
    ("eth_chainId", (-32603, ""), "failed without a reason"),
    ("personal_sign", (-32603, "x" * 5_000), "x" * 160 + "”"),
]


def test_the_page_says_why_the_wallet_refused(visit: Visit, wallet: Wallet) -> None:
    visit.open(wallet)
    for method, refusal, sentence in WALLET_ERRORS:
        wallet.refuses = {method: refusal}
        expect(visit.page.locator("[aria-busy]")).to_have_count(0)
        visit.choose(wallet)
        visit.expect_text(sentence)
    visit.expect_retry_works(wallet)


# Chromium logs refused requests in the console.


def _clear_failed_requests(page: Page, complaints: list[str]) -> None:
    if not complaints:
        page.wait_for_event("console")
    assert all("Failed to load resource" in line for line in complaints)
    complaints.clear()


def test_an_outdated_page_offers_to_load_again(
    visit: Visit, wallet: Wallet, complaints: list[str]
) -> None:
    visit.open(wallet)
    visit.page.context.clear_cookies()
    visit.choose(wallet)
    visit.expect_text("This page is too old")
    _clear_failed_requests(visit.page, complaints)
    visit.page.get_by_role("button", name="Load the page again").click()
    expect(visit.page.get_by_role("button", name="Load the page again")).to_be_hidden()
    visit.expect_retry_works(wallet)


SERVER_ERRORS = [
    ((429, {"Retry-After": "12"}, '{"error": "slower"}'), "Try again in 12 seconds."),
    ((429, {"Retry-After": "1"}, "{}"), "Try again in 1 second."),
    ((429, {}, '{"error": "Slower, please."}'), "Slower, please."),
    ((403, {}, '{"error": "The <i>nonce</i> was used."}'), "The <i>nonce</i> was used."),
    ((500, {}, "<h1>broken</h1>"), "Something broke on our side."),
    ((502, {}, ""), "Something broke on our side."),
    ((403, {}, "<h1>refused</h1>"), "This page is too old"),
]


def test_the_page_says_why_the_server_refused(
    visit: Visit, wallet: Wallet, complaints: list[str]
) -> None:
    answers = iter(SERVER_ERRORS)

    def refuse(route: Route) -> None:
        if route.request.method != "POST":
            route.continue_()
            return
        (status, headers, body), _ = next(answers)
        route.fulfill(status=status, headers=headers, body=body)

    visit.open(wallet)
    visit.page.route("**/sign-in", refuse)
    for _, sentence in SERVER_ERRORS:
        expect(visit.page.locator("[aria-busy]")).to_have_count(0)
        visit.choose(wallet)
        visit.expect_text(sentence)
    _clear_failed_requests(visit.page, complaints)
    visit.page.unroute("**/sign-in")
    visit.expect_retry_works(wallet)
