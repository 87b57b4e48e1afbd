"""What pages read is found by an index, on either database: nothing walks through a table."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from accounts.models import Account
from queries.reading import (
    accounts,
    batch_list,
    blocks,
    fact_portions,
    registries,
    searches,
    transactions,
)
from queries.reading.facts import facts_of_batch
from queries.reading.slices import Cursor
from queries.statuses import BatchStatus
from tests.explorer.on_record import ADDRESS, BLOCK, ask_balances, header_of, prove
from tests.queries.api.served_api import HERE, OPTIMISM, SEPOLIA
from tests.queries.api.worked_batches import HASHES
from tests.queries.reading.crowd import crowd

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]

Read = Callable[[], object]


@contextmanager
def _statements() -> Iterator[list[tuple[str, Any]]]:
    asked: list[tuple[str, Any]] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:  # noqa: FBT001
        if sql.startswith("SELECT"):
            asked.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield asked


def _plan(sql: str, params: Any) -> list[str]:
    with connection.cursor() as cursor:
        explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
        cursor.execute(f"{explain} {sql}", params)
        return [str(row[-1]) for row in cursor.fetchall()]


def _walks(plan: list[str]) -> list[str]:
    """Where it goes through a whole table or index, which takes longer with every row."""
    walking = [line for line in plan if line.startswith("SCAN queries") or "Seq Scan on" in line]
    walking += [line for line in plan if line.endswith("(status=?)")]  # nearly all batches are done
    for line, below in zip(plan, [*plan[1:], ""], strict=True):
        if re.search(r"Index (Only )?Scan", line) and "Index Cond" not in below:
            walking.append(line)
    return walking


def _page(number: int, *, newer: bool = False) -> Cursor:
    return Cursor((number,), towards_newer=newer)


SEARCHES: dict[str, Read] = {
    "batch": lambda: searches.is_batch("01J2VM6JSA6VKKZ0ENWGYYPR18"),
    "account": lambda: searches.is_account(ADDRESS),
    "name": lambda: searches.accounts_named("example.eth"),
    "transaction": lambda: searches.transactions_of(HASHES[1]),
    "block by hash": lambda: searches.blocks_with_hash(header_of(BLOCK).hash.hex()),
    "block by number": lambda: searches.blocks_numbered(BLOCK, [SEPOLIA, OPTIMISM]),
}
LISTS: dict[str, Read] = {
    f"batches {status} {to}": lambda status=status, to=to: batch_list.batches(  # type: ignore[misc]
        status=status, destination=to, cursor=Cursor(("01J2VM6JSA6VKKZ0ENWGYYPR18",)), most=50
    )
    for status in ("", BatchStatus.DONE)
    for to in (None, SEPOLIA)
}


def _queries_of_the_transaction() -> object:
    shown = transactions.transaction(SEPOLIA, HASHES[0])
    assert shown is not None
    return transactions.queries_of_transaction(shown, None, 50)


PAGES: dict[str, Read] = {
    "block": lambda: blocks.block(SEPOLIA, BLOCK),
    "its queries": lambda: blocks.queries_of_block(SEPOLIA, BLOCK, _page(9), 50),
    "its newer queries": lambda: blocks.queries_of_block(SEPOLIA, BLOCK, _page(0, newer=True), 50),
    "account": lambda: accounts.account(ADDRESS, [SEPOLIA, OPTIMISM]),
    "its facts": lambda: accounts.facts_of(ADDRESS, SEPOLIA, Cursor((BLOCK, 9)), 50),
    "its newer facts": lambda: accounts.facts_of(
        ADDRESS, SEPOLIA, Cursor((1, 1), towards_newer=True), 50
    ),
    "its balances": lambda: accounts.balances_of(ADDRESS, SEPOLIA),
    "transaction": lambda: transactions.transaction(SEPOLIA, HASHES[0]),
    "its proofs": _queries_of_the_transaction,
    "record": lambda: registries.record_of(SEPOLIA, SEPOLIA),
    "blocks of a registry": lambda: registries.blocks_of_registry(SEPOLIA, SEPOLIA, _page(9), 50),
}


def _facts(portion: fact_portions.Portion) -> object:
    return list(portion.facts)


FILES: dict[str, Read] = {
    f"facts of {name}, {which}": lambda read=read, cursor=cursor: _facts(read(cursor))  # type: ignore[misc]
    for which, cursor in {"first": None, "next": Cursor((BLOCK + 1, 9))}.items()
    for name, read in {
        "an account": lambda cursor: fact_portions.of_account(ADDRESS, SEPOLIA, cursor),
        "a block": lambda cursor: fact_portions.of_block(SEPOLIA, BLOCK, cursor),
        "a registry": lambda cursor: fact_portions.of_registry(SEPOLIA, SEPOLIA, cursor),
    }.items()
}


NEVER_SORTED = {
    *LISTS, *FILES, "its queries", "its newer queries", "its facts", "its newer facts",
    "its balances", "blocks of a registry",
}  # fmt: skip


@pytest.fixture
def crowded() -> str:
    """A proven batch among many others."""
    batch_id = ask_balances(count=3, blocks=3)
    prove(batch_id, nonce=1)
    crowd(Account.objects.get())
    return batch_id


def test_all_of_it_is_sought_and_lists_are_not_sorted(crowded: str) -> None:
    of_a_batch: dict[str, Read] = {"facts of a batch": lambda: list(facts_of_batch(crowded))}
    for name, read in (SEARCHES | LISTS | PAGES | FILES | of_a_batch).items():
        with _statements() as asked:
            read()
        assert asked, name
        for statement in asked:
            plan = _plan(*statement)
            assert not _walks(plan), (name, plan)
            if name in NEVER_SORTED:
                assert not [line for line in plan if "TEMP B-TREE" in line], (name, plan)


@pytest.mark.usefixtures("crowded")
def test_a_walk_is_seen() -> None:
    for condition in ("raw = %s", "raw <> %s ORDER BY id DESC LIMIT 5"):
        sql = f"SELECT raw FROM queries_senttransaction WHERE {condition}"  # noqa: S608
        assert _walks(_plan(sql, [b"x"]))
