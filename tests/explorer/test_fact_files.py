"""CSV and JSON files of facts, in portions of limited size."""

import csv
import io
import json
import re
from typing import Any

import pytest
from django.test import Client
from ulid import ULID

from explorer.pages.downloads import escape_formula
from queries.models import Query
from queries.reading import facts
from queries.reading.pagination import SLOTS_AT_ONCE
from tests.explorer.proven_facts import FACTS, HOLDER, proven_batch
from tests.explorer.stored_batches import (
    ADDRESS,
    BLOCK,
    OTHER,
    prove,
    submit_accounts,
    submit_balances,
    update_queries,
)
from tests.queries.api.served_api import HERE, OPTIMISM, ROUTES, SEPOLIA
from tests.queries.prover.service import CHAIN_ID, Service

ACCOUNT = f"/explorer/account/{ADDRESS}"
PAGE = f"/explorer/block/{SEPOLIA}/{BLOCK}"
REGISTRY = f"/explorer/registry/{SEPOLIA}/{ROUTES.registries[SEPOLIA, SEPOLIA].address}"
FAR = f"/explorer/registry/{OPTIMISM}/{ROUTES.registries[SEPOLIA, OPTIMISM].address}"
PLACES = (ACCOUNT, PAGE, REGISTRY)
WITHOUT_CHAIN = [pytest.mark.django_db, pytest.mark.urls(HERE)]


def without_chain(test: Any) -> Any:
    """Mark a test that needs no chain."""
    for mark in WITHOUT_CHAIN:
        test = mark(test)
    return test


def _get(address: str) -> Any:
    answer = Client().get(address)
    assert answer.status_code == 200
    return answer


def _rows(answer: Any) -> list[dict[str, str]]:
    text = b"".join(answer).decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def _portions(address: str) -> list[list[dict[str, str]]]:
    """All files that follow from the first one's `Link`."""
    portions = []
    while address:
        answer = _get(address)
        portions.append(_rows(answer))
        link = re.fullmatch('<(.+)>; rel="next"', answer.get("Link", ""))
        address = link[1] if link else ""
    return portions


@pytest.mark.django_db(transaction=True)
def test_a_batchs_files_have_the_chains_blocks_and_transactions(service: Service) -> None:
    page = f"/explorer/query/{proven_batch(service)}"
    rows = _rows(_get(f"{page}/facts.csv"))
    assert rows == json.loads(b"".join(_get(f"{page}/facts.json")))
    assert {row["field_or_slot"].partition(":")[0] for row in rows} == FACTS
    for row in rows:
        assert row["block_hash"] == service.header(int(row["block"]))["hash"]
        assert (row["source_chain"], row["destination_chain"]) == (str(CHAIN_ID), str(CHAIN_ID))
        assert row["registry"] == service.registry.address
        receipt = service.node.rpc.ask("eth_getTransactionReceipt", row["transaction"])
        assert receipt["to"] == service.registry.address.lower()
    balance, code, slot, at_time, timestamp = rows
    assert (balance["account"], balance["decoded"]) == (HOLDER, "123 ETH")
    assert (code["decoded"], slot["decoded"]) == ("empty code", "77")
    assert at_time["decoded"] == f"block {balance['block']}"
    seconds = int(service.header(int(balance["block"]))["timestamp"], 16)
    assert at_time["field_or_slot"] == f"BLOCK_AT_TIMESTAMP:{seconds}"
    assert timestamp["account"] == ""


@without_chain
def test_pages_link_to_csv_and_json_files_with_the_same_rows() -> None:
    prove(submit_balances(count=3, blocks=2), nonce=1)
    prove(submit_accounts({OTHER: {"props": ["BALANCE"]}}, BLOCK + 5))
    submit_balances(blocks=3)  # not proven
    blocks = {}
    for page in PLACES:
        table, objects = map(_get, re.findall(r'<a href="([^"]+)" download', _get(page).text))
        assert table["Content-Type"] == "text/csv; charset=utf-8"
        assert objects["Content-Type"] == "application/json"
        rows = _rows(table)
        assert rows == json.loads(b"".join(objects))
        blocks[page] = [int(row["block"]) - BLOCK for row in rows]
    assert blocks == {ACCOUNT: [1] * 3 + [0] * 3, PAGE: [0] * 5, REGISTRY: [5] + [1] * 5 + [0] * 5}


@without_chain
def test_file_names_say_what_is_in_them() -> None:
    batch = submit_accounts({ADDRESS: {"props": ["BALANCE"]}})
    prove(batch)
    names = {
        f"/explorer/query/{batch}": "balance-of-0xd8dA-6045-sepolia-block-5186021",
        ACCOUNT: "facts-of-0xd8dA-6045-sepolia",
        PAGE: "facts-of-sepolia-block-5186021",
        FAR: "facts-of-sepolia-on-op-mainnet",
    }
    for page, name in names.items():
        for form in ("csv", "json"):
            disposition = _get(f"{page}/facts.{form}")["Content-Disposition"]
            assert disposition == f'attachment; filename="tacitus-{name}.{form}"'


@without_chain
def test_files_have_only_facts_of_their_chains() -> None:
    prove(submit_balances())
    for source in (SEPOLIA, OPTIMISM):
        accounts = {ADDRESS: {"props": ["BALANCE"]}}
        prove(submit_accounts(accounts, source=source, destination=OPTIMISM))
    chains = {
        f"{ACCOUNT}/facts.csv?chain={SEPOLIA}": {(SEPOLIA, SEPOLIA), (SEPOLIA, OPTIMISM)},
        f"{ACCOUNT}/facts.csv": {(OPTIMISM, OPTIMISM)},  # the page's default
        f"{ACCOUNT}/facts.csv?chain=137": set(),
        f"{PAGE}/facts.csv": {(SEPOLIA, SEPOLIA), (SEPOLIA, OPTIMISM)},
        f"{REGISTRY}/facts.csv": {(SEPOLIA, SEPOLIA)},
        f"{FAR}/facts.csv": {(SEPOLIA, OPTIMISM)},
    }
    for address, expected in chains.items():
        rows = _rows(_get(address))
        routes = {(int(row["source_chain"]), int(row["destination_chain"])) for row in rows}
        assert routes == expected, address


@without_chain
@pytest.mark.parametrize("page", PLACES)
def test_portions_together_have_all_rows(monkeypatch: pytest.MonkeyPatch, page: str) -> None:
    for _ in range(3):
        prove(submit_balances(count=3, blocks=2))
    (whole,) = _portions(f"{page}/facts.csv")
    monkeypatch.setattr(facts, "MAX_FACTS", 3)
    portions = _portions(f"{page}/facts.csv")
    rows = [tuple(row.values()) for portion in portions for row in portion]
    assert sorted(rows) == sorted(tuple(row.values()) for row in whole)
    assert [len(portion) for portion in portions[:-1]] == [3] * (len(portions) - 1)


@without_chain
def test_files_hold_all_facts_of_wide_queries() -> None:
    prove(submit_balances(), nonce=0)
    names = [f"{slot:064x}" for slot in range(SLOTS_AT_ONCE - 500)]  # two exceed the limit
    query = Query.objects.select_related("batch").get()
    for _ in range(3):
        query.batch.pk, query.batch.idempotency_key = str(ULID()), None
        query.batch.save(force_insert=True)
        query.pk, query.slots, query.slot_count = None, names, len(names)
        query.batch = query.batch
        query.save(force_insert=True)
    update_queries(query.batch_id, has_ended=True)
    for page in (PAGE, ACCOUNT):
        portions = _portions(f"{page}/facts.csv")
        assert sum(map(len, portions)) == 2 + len(names)
        assert f"{len(names) - 10:,} more slots" in _get(page).text


@without_chain
@pytest.mark.parametrize(
    "address",
    [
        *(
            f"{page}/facts.csv?before={cursor}"
            for page in PLACES
            for cursor in ("x", "1", "1.2.3", "-1.2", f"{5_000 * '9'}.1", "1.%00", "", f"{2**63}.1")
        ),
        f"{ACCOUNT}/facts.json?before=1.1%0d%0aX-Mine:1",
        f"{ACCOUNT}/facts.xml",
        f"{ACCOUNT}/facts.csv?chain=x",
        f"{ACCOUNT}0/facts.csv",
        f"/explorer/block/{SEPOLIA}/{2**63}/facts.csv",
        f"/explorer/registry/{SEPOLIA}/{ADDRESS}/facts.csv",
    ],
)
def test_invalid_urls_are_not_found(address: str) -> None:
    answer = Client().get(address)
    assert answer.status_code == 404
    assert 'rel="next"' not in answer.get("Link", "")


@without_chain
def test_a_file_without_facts_is_empty() -> None:
    for page in (f"/explorer/account/{OTHER}", f"/explorer/block/{SEPOLIA}/1", FAR):
        assert _rows(_get(f"{page}/facts.csv")) == []
        assert json.loads(b"".join(_get(f"{page}/facts.json"))) == []


@without_chain
def test_names_cannot_be_formulas() -> None:
    batch = submit_accounts({ADDRESS: {"props": ["NONCE"]}}, BLOCK)
    Query.objects.filter(batch=batch).update(name='=HYPERLINK("http://x")')
    prove(batch)
    for page in PLACES:
        (row,) = _rows(_get(f"{page}/facts.csv"))
        assert row["name"] == '\'=HYPERLINK("http://x")'
    for text in ("+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\uff1d1", "\uff0d1"):
        assert escape_formula(text) == f"'{text}"
    for text in ("", "vitalik.eth", "1,5", "a=b"):
        assert escape_formula(text) == text
