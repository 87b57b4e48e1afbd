"""The search box: anything, to the page that shows it."""

from typing import Any

import pytest
from django.test import Client

from queries.models import Query
from tests.explorer.on_record import ADDRESS, BLOCK, ask, ask_balances, attach, header_of
from tests.queries.api.served_api import HERE, OPTIMISM, ROUTES, SEPOLIA
from tests.queries.api.worked_batches import HASHES, send_transaction

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]

REGISTRY = ROUTES.registries[SEPOLIA, OPTIMISM].address
BLOCK_PAGE = f"/explorer/block/{SEPOLIA}/{BLOCK}"
ULID = "01J2VM6JSA6VKKZ0ENWGYYPR18"


def _search(text: str) -> Any:
    return Client().get("/search", {"q": text})


def test_everything_is_found_as_it_is_written_or_pasted() -> None:
    batch = ask_balances()
    attach(batch)
    send_transaction(batch)
    named = ask({"example.eth": {"props": ["BALANCE"]}})
    Query.objects.filter(batch=named).update(account=ADDRESS)
    leads = {
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
        place = f"/explorer/transaction/{SEPOLIA}/{sent}"
        leads[place] = [sent, f"https://scan.example/tx/{sent}"]
    for place, texts in leads.items():
        for text in texts:
            answer = _search(text)
            assert (answer.status_code, answer.get("Location")) == (302, place), text
    assert _search(f"10 {BLOCK}").status_code == 200


def test_several_are_listed() -> None:
    batch = ask_balances()
    Query.objects.filter(batch=batch).update(block=OPTIMISM)
    attach(batch)
    text = _search(str(OPTIMISM)).text
    assert f"/explorer/block/{SEPOLIA}/{OPTIMISM}" in text
    assert f"/explorer/routes#chain-{OPTIMISM}" in text


@pytest.mark.parametrize(
    ("text", "said", "is_offered"),
    [
        ("ab" * 20, "/explorer/account/0x", True),
        ("nobody.eth", "Nothing found", True),
        ("5,186,099", "Nothing found", True),
        ("ab" * 32, "It looks like the hash of a transaction or of a block", False),
        (ULID, "Nothing found", False),
        ("hello", "It does not look like anything", False),
        ("5" * 301, "at most 300 characters", False),
    ],
)
def test_nothing_found_says_what_can_be_and_what_a_batch_can_ask_for(
    text: str, said: str, *, is_offered: bool
) -> None:
    page = _search(text).text
    assert said in page
    assert ('href="/dashboard/new-batch"' in page) is is_offered


HOSTILE = [
    "", " ", "-1", "9" * 5_000, "\N{ARABIC-INDIC DIGIT THREE}", "\N{FULLWIDTH DIGIT ONE}2", "0x",
    "\x00", f"{ULID}\x00", "\u202e0xabc", "https://[", "nochain 12", "1 " * 140, ":" * 290,
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "'; DROP TABLE queries_batch; --",
    "%", "_" * 26, "https://x/block/" + "9" * 250,
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_else_is_shown_as_text(text: str) -> None:
    answer = _search(text)
    assert answer.status_code == 200
    for hostile in ("<script>alert", "<img src=x", "\u202e", "\x00"):
        assert hostile not in answer.text
