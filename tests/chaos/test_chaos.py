"""A short run of `make chaos` on the database under test, and whether its checker finds what is
not right once the chains or the database were tampered with.
"""

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection

from tests.chaos import page_checks
from tests.chaos.asked import Asked
from tests.chaos.chains import CHAIN_A, CHAIN_B, told
from tests.chaos.checker import Checker
from tests.chaos.clients_checks import of_webhooks
from tests.chaos.databases import Postgres, Sqlite
from tests.chaos.evidence import HASH_ATTESTED, TIMESTAMP_PROVEN, Fact, as_json
from tests.chaos.lies import KINDS
from tests.chaos.report import report
from tests.chaos.run import Ended, Turn, turned
from tests.chaos.violations import Violation
from tests.chaos.webhook_receiver import Told
from tests.queries.pipeline.provers import database_url

# One after the other: the run is theirs together.
pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("chaos")]

SECONDS = 10
HOLDS_SEVEN = "0x6001600052600760205260406000f3"  # whatever it is asked for
HOLDS_NOTHING = "0x60406000f3"


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ended]:
    server = database_url() if connection.vendor == "postgresql" else ""
    turn = Turn("in the tests", SECONDS, server, "", provers=2)
    with turned(turn, tmp_path_factory.mktemp("chaos")) as after:
        yield after


def test_faults_make_nothing_wrong_lost_or_paid_for_twice(ended: Ended, tmp_path: Path) -> None:
    found = ended.check()
    told_of_it = "\n".join(report(ended, found, tmp_path))
    assert not found, told_of_it
    assert not ended.failed, told_of_it
    assert set(ended.faults) == _kinds_of(ended), told_of_it
    assert all(tally.came for tally in ended.faults.values()), told_of_it
    assert any("DONE" in each for each in ended.outcomes()), told_of_it


def _kinds_of(it: Ended) -> set[str]:
    """Of faults, all that fit this database."""
    its = Postgres if it.turn.server else Sqlite
    lying = (*KINDS, "another chain's data")
    return {
        "prover killed (SIGKILL)",
        "web server killed (SIGKILL)",
        "two of three signers killed (SIGKILL)",
        f"database connections {its.cut_is}",
        f"disk full ({its.full_is})",
        "chain reorganised",
        "node stalled",
        "node refused",
        "node gone",
        *(f"node lied: {each}" for each in lying),
    }


def _outcomes(it: Ended, *asked: Asked) -> set[str]:
    return {each.kind for each in Checker(it.scene, asked or it.asked).of_outcomes()}


def _facts(it: Ended) -> set[str]:
    return {each.kind for each in Checker(it.scene, it.asked).of_facts()}


def _transactions(it: Ended) -> set[str]:
    return {each.kind for each in Checker(it.scene, it.asked).of_transactions()}


def _pages(it: Ended) -> set[str]:
    return {each.kind for each in Checker(it.scene, it.asked).of_pages()}


def _one(it: Ended, status: str) -> str:
    return next(str(row["id"]) for row in it.scene.rows("batch") if row["status"] == status)


def _execute(it: Ended, statement: str) -> None:
    if it.scene.database.startswith("postgres"):
        with psycopg.connect(it.scene.database, autocommit=True) as held:
            held.execute(statement.encode())
        return
    with closing(sqlite3.connect(it.scene.database, timeout=30)) as file, file:
        file.execute(statement)


@contextmanager
def _changed(it: Ended, table: str, key: object, column: str, value: object) -> Iterator[None]:
    """One column of one row."""
    (row,) = (each for each in it.scene.rows(table) if each["id"] == key)
    before = json.dumps(row[column]) if isinstance(row[column], dict) else row[column]
    _set(it, table, key, column, value)
    try:
        yield
    finally:
        _set(it, table, key, column, before)


def _set(it: Ended, table: str, key: object, column: str, value: object) -> None:
    shown = "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
    named = f"'{key}'" if isinstance(key, str) else str(key)
    _execute(it, f'UPDATE queries_{table} SET "{column}" = {shown} WHERE id = {named}')  # noqa: S608


@pytest.mark.parametrize(
    ("of", "column", "value", "kind"),
    [
        ("DONE", "status", "IN_PROGRESS", "not ended"),
        ("REJECTED", "status", "DONE", "false outcome"),
        ("DONE", "status", "REJECTED", "false cause"),
        ("REJECTED", "error_code", "nodes_lie", "false cause"),
    ],
)
def test_a_batch_that_ended_otherwise_is_found(
    ended: Ended, of: str, column: str, value: str, kind: str
) -> None:
    with _changed(ended, "batch", _one(ended, of), column, value):
        assert kind in _outcomes(ended)


def test_a_batch_that_has_spent_more_than_was_paid_is_found(ended: Ended) -> None:
    with _changed(ended, "batch", _one(ended, "DONE"), "spent", "f" * 64):
        assert {each.kind for each in Checker(ended.scene, ended.asked).of_costs()} == {
            "paid twice"
        }


def test_a_batch_that_is_lost_or_nobody_asked_for_is_found(ended: Ended) -> None:
    done = next(each for each in ended.asked if each.id)
    others = [each for each in ended.asked if each is not done]
    lost = replace(done, id="0" * 26)
    assert {"unknown batch", "lost batch"} <= _outcomes(ended, *others, lost)
    assert "no answer" in _outcomes(ended, *others, replace(done, id=""))
    assert "false cause" in _outcomes(ended, *others, replace(done, id="", refusal="wrong_type"))
    assert "false outcome" in _outcomes(ended, *others, replace(done, must_be="refused"))


@pytest.mark.parametrize(
    ("column", "value", "kind"),
    [
        ("nonce", 1_000, "nonce gap"),
        ("gas_used", 21_000, "untrue record"),
        ("mined_hash", f"0x{7:064x}", "untrue record"),
        ("mined_hash", "", "untrue record"),
        ("settled", False, "not ended"),
    ],
)
def test_a_transaction_that_is_told_otherwise_is_found(
    ended: Ended, column: str, value: object, kind: str
) -> None:
    row = ended.scene.rows("senttransaction")[-1]
    with _changed(ended, "senttransaction", row["id"], column, value):
        assert kind in _transactions(ended)


def test_what_pages_show_otherwise_than_the_registry_holds_it_is_found(ended: Ended) -> None:
    record = ended.scene.rows("routerecord")[0]
    with _changed(ended, "routerecord", record["id"], "facts", record["facts"] + 1):
        assert "explorer differs" in _pages(ended)
    done = _one(ended, "DONE")
    query = next(row for row in ended.scene.rows("query") if row["batch_id"] == done)
    with _changed(ended, "query", query["id"], "block", query["block"] + 1):
        assert "explorer differs" in _pages(ended)


def _a_proven_query(it: Ended) -> tuple[dict[str, Any], list[Fact]]:
    """Of an account's fields alone, and all facts of its batch."""
    checker = Checker(it.scene, it.asked)
    done = {each.id: each for each in checker.done}
    row = next(
        row
        for row in it.scene.rows("query")
        if row["batch_id"] in done and row["account"] and row["values"]
    )
    return row, sorted(set(checker.facts_of(done[row["batch_id"]])))


def test_pages_that_show_another_word_are_found(ended: Ended) -> None:
    row, facts = _a_proven_query(ended)
    its = row["source"], row["block"], row["account"].lower()

    def looks() -> list[list[Violation]]:
        return [
            list(page_checks.of_batch(ended.scene, row["batch_id"], facts)),
            list(page_checks.of_account(ended.scene, its[0], its[2])),
            list(page_checks.of_block(ended.scene, its[0], its[1])),
        ]

    assert looks() == [[], [], []]
    false = json.dumps(dict.fromkeys(as_json(row["values"]), f"{7:064x}"))
    with _changed(ended, "query", row["id"], "values", false):
        assert all(looks())


def test_a_page_of_a_block_with_another_header_is_found(ended: Ended) -> None:
    row, _ = _a_proven_query(ended)
    its = [each for each in ended.scene.rows("blockjob") if each["header"]]
    job = next(each for each in its if each["id"] == row["job_id"])
    other = next(each for each in its if each["header"] != job["header"])
    source, block = job["source"], job["block"]
    with ExitStack() as changed:
        for each in its:
            if (each["source"], each["block"]) == (source, block):
                changed.enter_context(
                    _changed(ended, "blockjob", each["id"], "header", other["header"])
                )
        assert list(page_checks.of_block(ended.scene, source, block))


@pytest.mark.parametrize("column", ["gas_used", "mined_block", "nonce"])
def test_a_page_of_a_transaction_that_tells_it_otherwise_is_found(
    ended: Ended, column: str
) -> None:
    row = ended.scene.rows("senttransaction")[-1]
    assert not list(page_checks.of_transaction(ended.scene, row))
    with _changed(ended, "senttransaction", row["id"], column, row[column] + 100):
        assert list(page_checks.of_transaction(ended.scene, row))


def test_a_page_of_a_registry_with_another_hash_is_found(ended: Ended) -> None:
    row, _ = _a_proven_query(ended)
    job = next(each for each in ended.scene.rows("blockjob") if each["id"] == row["job_id"])
    its = job["source"], job["destination"]
    # The newest block stands first.
    newest = max(
        (
            each
            for each in ended.scene.rows("blockjob")
            if (each["source"], each["destination"]) == its and each["block_hash"]
        ),
        key=lambda each: int(each["block"]),
    )
    address = ended.scene.registries[its]
    assert not list(page_checks.of_registry(ended.scene, *its, address))
    with _changed(ended, "blockjob", newest["id"], "block_hash", f"{7:064x}"):
        assert list(page_checks.of_registry(ended.scene, *its, address))


def test_more_reverted_transactions_than_faults_may_explain_are_found(ended: Ended) -> None:
    """One that reverted is put in the place of one that did not."""
    row = ended.scene.rows("senttransaction")[-1]
    url = ended.scene.chains[row["chain"]]
    payer = told(url, "eth_accounts")[3]
    registry = next(
        address
        for (_, destination), address in ended.scene.registries.items()
        if destination == row["chain"]
    )
    # No function has this selector.
    reverted = {"from": payer, "to": registry, "data": "0x12345678", "gas": hex(10**6)}
    its_hash = _mined(url, reverted)
    before = len(list(Checker(ended.scene, ended.asked).of_reverted()))
    with _changed(ended, "senttransaction", row["id"], "mined_hash", its_hash):
        (found,) = Checker(ended.scene, ended.asked).of_reverted()
        assert found.kind == "reverted"
        assert not list(Checker(ended.scene, ended.asked, may_revert=100).of_reverted())
    assert len(list(Checker(ended.scene, ended.asked).of_reverted())) == before


@pytest.mark.parametrize(
    ("code", "kind"), [(HOLDS_SEVEN, "wrong fact"), (HOLDS_NOTHING, "missing fact")]
)
def test_a_registry_that_holds_another_word_or_none_is_found(
    ended: Ended, code: str, kind: str
) -> None:
    url, registry = ended.scene.chains[CHAIN_B], ended.scene.registries[CHAIN_A, CHAIN_B]
    before = told(url, "eth_getCode", registry, "latest")
    told(url, "anvil_setCode", registry, code)
    try:
        assert kind in _facts(ended)
    finally:
        told(url, "anvil_setCode", registry, before)


def test_what_is_proven_once_more_is_found(ended: Ended) -> None:
    """By the signer's own key, under a nonce that is in nobody's books."""
    row = next(
        each
        for each in reversed(ended.scene.rows("senttransaction"))
        if each["succeeded"] and not each["brings_hash"]
    )
    url, signer = ended.scene.chains[row["chain"]], ended.scene.signer
    sent = told(url, "eth_getTransactionByHash", row["mined_hash"])
    told(url, "anvil_impersonateAccount", signer)
    again = {"from": signer, "to": sent["to"], "data": sent["input"], "gas": hex(10**7)}
    again_hash = _mined(url, again)
    assert "nonce gap" in _transactions(ended)
    with _changed(ended, "senttransaction", row["id"], "mined_hash", again_hash):
        assert {"paid twice", "untrue record"} <= _transactions(ended)


def _mined(url: str, transaction: Mapping[str, str]) -> str:
    its_hash = str(told(url, "eth_sendTransaction", transaction))
    while told(url, "eth_getTransactionReceipt", its_hash) is None:
        time.sleep(0.1)
    return its_hash


def test_what_signers_never_said_is_found(ended: Ended) -> None:
    """By a registry that says at a call that another hash of block 5 was attested."""
    url, registry = ended.scene.chains[CHAIN_A], ended.scene.registries[CHAIN_B, CHAIN_A]
    before = told(url, "eth_getCode", registry, "latest")
    says = f"0x7f{7:064x}5f527f{5:064x}7f{HASH_ATTESTED[2:]}60205fa2"
    told(url, "anvil_setCode", registry, says)
    try:
        _mined(url, {"from": told(url, "eth_accounts")[3], "to": registry})
    finally:
        told(url, "anvil_setCode", registry, before)
    assert "wrong fact" in _facts(ended)


def test_a_webhook_that_did_not_come_is_found(ended: Ended) -> None:
    def found(*webhooks: Told) -> set[str]:
        checker = Checker(ended.scene, ended.asked, webhooks)
        return {
            each.kind
            for each in of_webhooks(ended.scene, ended.asked, checker.batches, checker.told)
        }

    assert not found(*ended.webhooks)
    lost = next(each for each in ended.webhooks if each.taken)
    others = [each for each in ended.webhooks if each.event != lost.event]
    assert found(*others) == {"missing webhook"}
    early = replace(lost, at=lost.at - 3_600)
    assert found(early, *others) == {"false webhook"}


def test_what_is_told_twice_or_of_another_block_is_found(ended: Ended) -> None:
    """By a registry that says at each call that block 5 was the last one at the second 1."""
    url, registry = ended.scene.chains[CHAIN_A], ended.scene.registries[CHAIN_A, CHAIN_A]
    before = told(url, "eth_getCode", registry, "latest")
    says = f"0x7f{5:064x}7f{1:064x}7f{TIMESTAMP_PROVEN[2:]}60006000a3"
    told(url, "anvil_setCode", registry, says)
    try:
        for _ in range(2):
            _mined(url, {"from": told(url, "eth_accounts")[3], "to": registry})
    finally:
        told(url, "anvil_setCode", registry, before)
    found = {each.kind for each in Checker(ended.scene, ended.asked).of_events()}
    assert found == {"paid twice", "wrong fact"}


def test_a_source_that_has_another_past_is_found(ended: Ended) -> None:
    """Since shortly after its registries came. Last, because nothing of that is done again."""
    a = ended.chains.a
    head = int(told(a.node.url, "eth_blockNumber"), 16)
    told(a.node.url, "anvil_reorg", head - a.first - 4, [])
    assert "wrong fact" in _facts(ended)
