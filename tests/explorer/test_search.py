"""The search."""

from typing import Any

import pytest
from django.test import Client

from queries.models import Query
from tests.explorer.stored_batches import (
    ADDRESS,
    BLOCK,
    attach,
    header_of,
    submit_accounts,
    submit_balances,
)
from tests.queries.api.batch_states import HASHES, send_transaction
from tests.queries.api.served_api import HERE, OPTIMISM, ROUTES, SEPOLIA

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]

REGISTRY = ROUTES.registries[SEPOLIA, OPTIMISM].address
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
            f"{SEPOLIA}:{BLOCK}",
            f"SN_SEPOLIA:{BLOCK}",
            header_of(BLOCK).hash.hex(),
            f"https://tacitus.example{BLOCK_PAGE}",
        ],
        f"/explorer/registry/{OPTIMISM}/{REGISTRY}": [REGISTRY],
        f"/explorer/routes#chain-{OPTIMISM}": ["op mainnet", "OP  Mainnet"],
    }
    for sent in HASHES:
        page = f"/explorer/transaction/{SEPOLIA}/{sent}"
        redirects[page] = [sent, f"https://scan.example/tx/{sent}"]
    for page, texts in redirects.items():
        for text in texts:
            answer = _search(text)
            assert (answer.status_code, answer.get("Location")) == (302, page), text
    assert _search(f"10 {BLOCK}").status_code == 200


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
    "%", "_" * 26, "https://x/block/" + "9" * 250,
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_escaped(text: str) -> None:
    answer = _search(text)
    assert answer.status_code == 200
    for hostile in ("<script>alert", "<img src=x", "\u202e", "\x00"):
        assert hostile not in answer.text
