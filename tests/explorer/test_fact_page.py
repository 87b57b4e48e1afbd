"""The page of a fact, at an address that names no batch."""

import re
from typing import Any

import pytest
from django.test import Client

from queries import transitions
from queries.models import BlockJob
from queries.proving import keccak256
from tests.explorer.page_text import page_text
from tests.explorer.stored_batches import (
    ADDRESS,
    BLOCK,
    ETHER,
    prove,
    set_word,
    submit_accounts,
    submit_balances,
    update_queries,
)
from tests.queries.api.served_api import HERE, OPTIMISM, ROUTES, SEPOLIA

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]

FACTS = f"/explorer/fact/{SEPOLIA}/{BLOCK}"
BALANCE = f"{FACTS}/{ADDRESS}/BALANCE"
SLOT = f"{FACTS}/{ADDRESS}/0x{1:064x}"


def _get(path: str) -> Any:
    return Client().get(path, headers={"Accept": "text/html"})


def test_a_fact_of_four_batches_has_one_page_that_lists_them() -> None:
    batches = [submit_balances() for _ in range(4)]
    for batch in batches:
        prove(batch)
    page = _get(BALANCE).text
    for batch in batches:
        assert page.count(f'href="/explorer/query/{batch}"') == 1
    transitions.reopen_queries(BlockJob.objects.all())  # a reorg may have removed it
    answer = _get(BALANCE)
    assert answer.status_code == 404
    assert f'<a href="/explorer/query/{batches[-1]}">A batch</a>' in answer.text


def test_the_page_and_its_link_preview_have_the_sentence_and_the_value() -> None:
    prove(submit_balances())
    heading = f"balance of 0xd8dA…6045 · Sepolia, block {BLOCK:,}"
    assert heading in page_text(BALANCE)
    assert "slot 1 of 0xd8dA…6045" in page_text(SLOT)
    text = _get(f"{BALANCE}?to={SEPOLIA}").text
    previews = dict(re.findall(r'<meta property="og:(\w+)" content="([^"]*)"', text))
    assert previews["title"].startswith(f"{heading} → 21 ETH")
    trust = "21 ETH. Proven to a contract on Sepolia, native: trusts nobody."
    assert trust in previews["description"]
    assert previews["url"].endswith(BALANCE)
    assert previews["image"].endswith(".png")


def test_a_check_code_names_the_fact_and_its_value() -> None:
    """Computed as the guide says. Another value, block, field or registry has another code."""
    batch = submit_balances(blocks=2)
    prove(batch)
    prove(submit_accounts({ADDRESS: {"props": ["BALANCE"]}}, destination=OPTIMISM))
    registry = ROUTES.registries[SEPOLIA, SEPOLIA].address
    place = f"{SEPOLIA} {registry} {SEPOLIA} {BLOCK} {ADDRESS} BALANCE"
    code = keccak256(f"{place} 0x{21 * ETHER:064x}".encode()).hex()[:8]
    shown = _check_code(BALANCE)
    assert shown == f"{code[:4]}-{code[4:]}"
    other_block = BALANCE.replace(str(BLOCK), str(BLOCK + 1))
    codes = {shown, *map(_check_code, (SLOT, other_block, f"{BALANCE}?to={OPTIMISM}"))}
    set_word(batch, "BALANCE", 21 * ETHER + 1)
    codes.add(_check_code(BALANCE))
    assert len(codes) == 5


def _check_code(path: str) -> str:
    match = re.search('<code class="check-code">([^<]+)</code>', _get(path).text)
    assert match
    return match[1]


@pytest.mark.parametrize(
    ("spelling", "canonical"),
    [
        (f"{FACTS}/{ADDRESS.lower()}/BALANCE", BALANCE),
        (f"{FACTS}/{ADDRESS}/balance?to=1", f"{BALANCE}?to=1"),
        (f"{FACTS}/{ADDRESS}/1", SLOT),
        (f"{FACTS}/{ADDRESS}/0x1", SLOT),
        (f"{FACTS}/Header/timestamp", f"{FACTS}/header/TIMESTAMP"),
        (f"{FACTS}/header/PROPOSER", f"{FACTS}/header/COINBASE"),
    ],
)
def test_other_spellings_redirect(spelling: str, canonical: str) -> None:
    answer = _get(spelling)
    assert (answer.status_code, answer["Location"]) == (301, canonical)


@pytest.mark.parametrize(
    "path",
    ["header/BALANCE", f"{ADDRESS}/TIMESTAMP", f"{ADDRESS}/-1", f"{ADDRESS}/{2**256}",
     f"{ADDRESS}0/BALANCE", "x/BALANCE", f"{ADDRESS}/0x{65 * '1'}"],
)  # fmt: skip
def test_what_is_not_a_fact_is_not_found(path: str) -> None:
    answer = _get(f"{FACTS}/{path}")
    assert (answer.status_code, "Prove it" in answer.text) == (404, False)


def test_each_destination_has_its_registry_and_trust() -> None:
    prove(submit_balances())
    prove(submit_accounts({ADDRESS: {"props": ["BALANCE"]}}, destination=OPTIMISM))
    here, there = page_text(BALANCE), page_text(f"{BALANCE}?to={OPTIMISM}")
    assert "Proven to Sepolia native · trusts nobody" in here
    assert "Also proven to OP Mainnet" in here
    assert "Proven to OP Mainnet" in there
    assert "Also proven to Sepolia native" in there
    assert _get(f"{BALANCE}?to=5").status_code == 404


def test_the_names_of_the_same_header_field_are_one_fact() -> None:
    batch = submit_accounts({ADDRESS: {"props": ["NONCE"]}}, header=["PROPOSER"])
    prove(batch)
    assert f"/explorer/query/{batch}" in _get(f"{FACTS}/header/COINBASE").text


def test_times_of_the_same_block_are_facts_of_their_own() -> None:
    batches = {}
    for seconds in (1_700_000_000, 1_700_000_007):
        batch = submit_accounts({ADDRESS: {"props": ["NONCE"]}})
        prove(batch)
        update_queries(batch, timestamp=seconds)
        batches[seconds] = batch
    address = f"{FACTS}/header/BLOCK_AT_TIMESTAMP"
    for seconds, batch in batches.items():
        text = _get(f"{address}?at={seconds}").text
        assert [other in text for other in batches.values()] == [
            other == batch for other in batches.values()
        ]
    text = page_text(f"{address}?at=1700000000")
    assert "block at 2023-11-14 22:13:20 UTC" in text
    assert "Also proven to Sepolia, 2023-11-14 22:13:27 UTC native" in text
    assert ADDRESS not in text


def test_an_unknown_fact_leads_to_the_form() -> None:
    answer = _get(SLOT)
    assert answer.status_code == 404
    assert "/explorer/query/" not in answer.text
    link = re.search(r'href="(/dashboard/new-batch\?[^"]+)"', answer.text)
    assert link
    query = f"source={SEPOLIA}&amp;block={BLOCK}&amp;account={ADDRESS}&amp;slot=0x{1:064x}"
    assert link[1] == f"/dashboard/new-batch?{query}"
    batch = submit_accounts({ADDRESS: {"slots": ["0x1"]}})
    assert f'<a href="/explorer/query/{batch}">A batch</a>' in _get(SLOT).text
    assert "Prove it" not in _get(f"/explorer/fact/77/1/{ADDRESS}/BALANCE").text
