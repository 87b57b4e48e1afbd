"""The search box: anything, to the page that shows it."""

from typing import Any

import pytest
from django.test import Client

from queries.models import Query
from tests.explorer.on_record import ADDRESS, BLOCK, ask, ask_balances, attach, header_of
from tests.explorer.test_search_terms import HOSTILE
from tests.queries.api.served_api import HERE, OPTIMISM, ROUTES, SEPOLIA
from tests.queries.api.worked_batches import HASHES, send_transaction

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]


def _search(text: str) -> Any:
    return Client().get("/search", {"q": text})


def _leads_to(text: str) -> str:
    answer = _search(text)
    assert answer.status_code == 302, answer.text
    return str(answer["Location"])


def test_a_batch_is_found_as_it_is_written_or_pasted() -> None:
    batch = ask_balances()
    page = f"/explorer/query/{batch}"
    for text in (batch, f" {batch.lower()} ", f"https://tacitus.example{page}"):
        assert _leads_to(text) == page


def test_an_account_is_found_in_any_letter_case() -> None:
    ask_balances()
    for text in (ADDRESS, ADDRESS.lower(), ADDRESS[2:], ADDRESS.upper()):
        assert _leads_to(text) == f"/explorer/account/{ADDRESS}"


def test_a_transaction_is_found_by_each_hash_that_it_was_sent_under() -> None:
    send_transaction(ask_balances())
    for sent in HASHES:
        assert _leads_to(sent) == f"/explorer/transaction/{SEPOLIA}/{sent}"


def test_a_block_is_found_by_its_number_and_its_hash() -> None:
    attach(ask_balances())
    for text in (str(BLOCK), f"{BLOCK:,}", f"sepolia {BLOCK}", f"SN_SEPOLIA:{BLOCK}",
                 header_of(BLOCK).hash.hex()):  # fmt: skip
        assert _leads_to(text) == f"/explorer/block/{SEPOLIA}/{BLOCK}"
    assert _search(f"10 {BLOCK}").status_code == 200


def test_a_name_leads_to_whom_it_stood_for() -> None:
    batch = ask({"example.eth": {"props": ["BALANCE"]}})
    assert "Nothing found" in _search("example.eth").text
    Query.objects.filter(batch=batch).update(account=ADDRESS)
    assert _leads_to("Example.eth") == f"/explorer/account/{ADDRESS}"


def test_a_registry_and_a_chain_are_found() -> None:
    registry = ROUTES.registries[SEPOLIA, OPTIMISM].address
    assert _leads_to(registry) == f"/explorer/registry/{OPTIMISM}/{registry}"
    assert _leads_to("op mainnet") == f"/explorer/routes#chain-{OPTIMISM}"


def test_several_are_listed() -> None:
    batch = ask_balances()
    attach(batch)
    Query.objects.filter(batch=batch).update(block=OPTIMISM)
    attach(batch)
    text = _search(str(OPTIMISM)).text
    assert "2 pages about it" in text
    assert f"/explorer/block/{SEPOLIA}/{OPTIMISM}" in text
    assert f"/explorer/routes#chain-{OPTIMISM}" in text


def test_nothing_found_says_what_was_looked_for_and_what_can_be() -> None:
    text = _search(f"0x{'ab' * 32}").text
    assert "It has the form of the hash of a transaction or of a block" in text
    assert "What can be searched for" in text
    assert f"/explorer/account/0x{'ab' * 20}" in _search("ab" * 20).text
    assert "It does not have the form of anything" in _search("hello").text
    assert "longer than anything" in _search("x" * 301).text


@pytest.mark.parametrize(
    ("text", "is_offered"),
    [
        ("ab" * 20, True),
        ("nobody.eth", True),
        ("5,186,099", True),
        ("ab" * 32, False),
        ("01J2VM6JSA6VKKZ0ENWGYYPR18", False),
        ("hello", False),
        ("5" * 301, False),
    ],
)
def test_what_a_batch_can_ask_for_is_a_form_away(text: str, *, is_offered: bool) -> None:
    assert ('href="/dashboard/new-batch"' in _search(text).text) is is_offered


@pytest.mark.parametrize("text", [*HOSTILE, "<img src=x onerror=alert(1)>"])
def test_hostile_texts_are_shown_as_texts(text: str) -> None:
    answer = _search(text)
    assert answer.status_code == 200
    assert "<script>alert" not in answer.text
    assert "<img src=x" not in answer.text
    assert "\u202e" not in answer.text
    assert "\x00" not in answer.text


def test_the_box_is_on_every_page_and_works_without_a_script() -> None:
    for address in ("/", "/nowhere", "/explorer/batches", "/search"):
        text = Client(headers={"Accept": "text/html"}).get(address).text
        assert '<form class="search" role="search" action="/search" method="get">' in text


def test_the_box_is_on_the_page_of_a_fault() -> None:
    client = Client(raise_request_exception=False, headers={"Accept": "text/html"})
    text = client.get("/broken").text
    assert "Something broke on our side" in text
    assert 'action="/search"' in text
