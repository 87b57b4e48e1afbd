"""The search."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from eth_utils.address import to_checksum_address

from queries.contracts.create2 import verifier_address
from queries.models import ChainRecord, Query
from tests.explorer.stored_batches import (
    ADDRESS,
    BLOCK,
    attach,
    header_of,
    prove,
    submit_accounts,
    submit_balances,
)
from tests.queries.api.batch_states import HASHES, send_transaction
from tests.queries.api.served_api import HERE, OPTIMISM, ROUTES, SEPOLIA, record_head

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]

REGISTRY = ROUTES.registries[SEPOLIA, OPTIMISM].address
VERIFIER = verifier_address(REGISTRY)
BLOCK_PAGE = f"/explorer/block/{SEPOLIA}/{BLOCK}"
ULID = "01J2VM6JSA6VKKZ0ENWGYYPR18"


def _search(text: str) -> Any:
    return Client().get("/search", {"q": text})


def test_all_spellings_and_pasted_links_redirect_to_the_page() -> None:
    batch = submit_balances()
    attach(batch)
    send_transaction(batch)
    named = submit_accounts({"example.eth": {"props": ["BALANCE"]}})
    Query.objects.filter(batch=named).update(account=ADDRESS)
    fact = f"/explorer/fact/{SEPOLIA}/{BLOCK}/{ADDRESS}/BALANCE"
    redirects = {
        f"/explorer/query/{batch}": [
            batch,
            f" {batch.lower()} ",
            batch.replace("0", "O").replace("1", "l"),
            f"https://tacitus.example/explorer/query/{batch}?open=1#query-3",
        ],
        f"/explorer/account/{ADDRESS}": [
            ADDRESS,
            ADDRESS.lower(),
            ADDRESS[2:],
            ADDRESS.upper(),
            f"https://scan.example/address/{ADDRESS}#code",
            "Example.eth",
        ],
        BLOCK_PAGE: [
            str(BLOCK),
            f"{BLOCK:,}",
            f"block:{BLOCK}",
            f"Sepolia block {BLOCK:,}",
            f"Sepolia, block {BLOCK:,}",
            f"{SEPOLIA}:{BLOCK}",
            f"SN_SEPOLIA:{BLOCK}",
            header_of(BLOCK).hash.hex(),
            f"https://tacitus.example{BLOCK_PAGE}",
        ],
        f"/explorer/registry/{OPTIMISM}/{REGISTRY}": [REGISTRY, VERIFIER],
        f"/explorer/routes#chain-{OPTIMISM}": ["op mainnet", "OP  Mainnet"],
        fact: [f"https://tacitus.example{fact}?to=1#read-it"],
    }
    for sent in HASHES:
        page = f"/explorer/transaction/{SEPOLIA}/{sent}"
        redirects[page] = [sent, f"https://scan.example/tx/{sent}"]
    for page, texts in redirects.items():
        for text in texts:
            answer = _search(text)
            assert (answer.status_code, answer.get("Location")) == (302, page), text
    assert _search(f"10 {BLOCK}").status_code == 200


def test_abbreviations_and_beginnings_redirect_to_the_page() -> None:
    batch = submit_balances()
    attach(batch)
    send_transaction(batch)
    block_hash = header_of(BLOCK).hash.hex()
    redirects = {
        f"/explorer/query/{batch}": [
            f"{batch[:6]}…{batch[-4:]}",
            f"{batch[:6]}...{batch[-4:]}".lower(),
            batch[:8],
        ],
        f"/explorer/account/{ADDRESS}": ["0xd8dA…6045", "0xd8da...6045", "d8dA..6045", "0xD8DA6"],
        BLOCK_PAGE: [f"0x{block_hash[:4]}…{block_hash[-4:]}", f"0x{block_hash[:9]}"],
        f"/explorer/transaction/{SEPOLIA}/{HASHES[0]}": [f"{HASHES[0][:6]}…{HASHES[0][-4:]}"],
        f"/explorer/registry/{OPTIMISM}/{REGISTRY}": [f"{VERIFIER[:6]}…{VERIFIER[-4:]}"],
    }
    for page, texts in redirects.items():
        for text in texts:
            answer = _search(text)
            assert (answer.status_code, answer.get("Location")) == (302, page), text
    for other in ("0xd8dA…6046", f"{batch[:6]}…0000", "0xd8d"):
        assert _search(other).status_code == 200


def test_a_beginning_of_several_accounts_lists_them() -> None:
    others = [ADDRESS[:-2] + digits for digits in ("11", "22")]
    submit_accounts({address: {"props": ["NONCE"]} for address in (ADDRESS, *others)})
    text = _search("0xd8da").text
    for address in (ADDRESS, *others):
        assert f'href="/explorer/account/{to_checksum_address(address)}"' in text


def test_a_time_leads_to_its_block_and_to_the_form() -> None:
    time = 1_763_624_463
    record_head(SEPOLIA, number=BLOCK, timestamp=time + 1_200)
    ChainRecord.objects.update(block_times=[(BLOCK - 200, time - 1_200)])
    for spelling in ("2025-11-20 07:41:03 UTC", "2025-11-20T07:41:03Z", "1763624463"):
        text = _search(spelling).text
        link = re.search(rf'href="(/explorer/routes\?source={SEPOLIA}&amp;block=[^"]+)"', text)
        assert link
        page = Client().get(unescape(link[1])).text
        assert f"At 2025-11-20 07:41:03 UTC the last block was about {BLOCK - 100:,}." in page
        assert f"new-batch?source={SEPOLIA}&amp;block=2025-11-20" in page
    assert "at 2025-11-20 00:00:00 UTC" in _search("2025-11-20").text
    assert _search("2026-02-30").status_code == _search("2026-11-25 25:00").status_code == 200


def test_a_time_lists_the_batches_that_were_submitted_before() -> None:
    batch = submit_balances()
    link = f'href="/explorer/query/{batch}"'
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    assert link in _search(f"{tomorrow:%Y-%m-%d}").text
    assert link not in _search("2026-01-01").text


def test_without_a_text_the_page_says_what_can_be_searched_for() -> None:
    assert "What can be searched for" in _search("").text


def test_batches_are_listed_as_sentences() -> None:
    batches = [submit_balances(), submit_balances()]
    for batch in batches:
        prove(batch)
    sentence = f"nonce, balance and slot 1 of 0xd8dA…6045 · Sepolia, block {BLOCK:,}"
    assert _search(batches[0][:4]).text.count(sentence) == len(batches)


def test_several_hits_are_listed() -> None:
    batch = submit_balances()
    Query.objects.filter(batch=batch).update(block=OPTIMISM)
    attach(batch)
    text = _search(str(OPTIMISM)).text
    assert f"/explorer/block/{SEPOLIA}/{OPTIMISM}" in text
    assert f"/explorer/routes#chain-{OPTIMISM}" in text


@pytest.mark.parametrize(
    ("text", "sentence", "offers_form"),
    [
        ("ab" * 20, "/explorer/account/0x", True),
        ("nobody.eth", "Nothing found", True),
        ("5,186,099", "Nothing found", True),
        ("ab" * 32, "It looks like the hash of a transaction or of a block", False),
        (ULID, "Nothing found", False),
        ("hello", "It has no known format", False),
        ("5" * 301, "at most 300 characters", False),
    ],
)
def test_without_hits_the_page_offers_a_batch_for_what_can_be_proven(
    text: str, sentence: str, *, offers_form: bool
) -> None:
    page = _search(text).text
    assert sentence in page
    assert ('href="/dashboard/new-batch"' in page) is offers_form


HOSTILE = [
    "", " ", "-1", "9" * 5_000, "\N{ARABIC-INDIC DIGIT THREE}", "\N{FULLWIDTH DIGIT ONE}2", "0x",
    "\x00", f"{ULID}\x00", "\u202e0xabc", "https://[", "nochain 12", "1 " * 140, ":" * 290,
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "'; DROP TABLE queries_batch; --",
    "%", "_" * 26, "…", "0x…", "0xd8dA…", "…..", "01M8\x00", "2026-13-45", "0000-00-00",
    "https://x/block/" + "9" * 250,
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_escaped(text: str) -> None:
    answer = _search(text)
    assert answer.status_code == 200
    for hostile in ("<script>alert", "<img src=x", "\u202e", "\x00"):
        assert hostile not in answer.text
