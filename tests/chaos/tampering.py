"""What is made wrong after a run, so that its checks have something to find."""

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

import psycopg

from tests.chaos.chains import told
from tests.chaos.look import Row
from tests.chaos.run import Ended


def one(it: Ended, status: str) -> str:
    """A batch."""
    return next(str(row["id"]) for row in it.scene.rows("batch") if row["status"] == status)


@contextmanager
def changed(it: Ended, table: str, key: object, column: str, value: object) -> Iterator[None]:
    """One column of one row."""
    named = "chain" if table == "chaincost" else "id"
    (row,) = (each for each in it.scene.rows(table) if each[named] == key)
    before = json.dumps(row[column]) if isinstance(row[column], dict) else row[column]
    _set(it, table, (named, key), column, value)
    try:
        yield
    finally:
        _set(it, table, (named, key), column, before)


def _set(it: Ended, table: str, row: tuple[str, object], column: str, value: object) -> None:
    name, key = row
    of_it = f"{name} = {_shown(it, key)}"
    _execute(it, f'UPDATE queries_{table} SET "{column}" = {_shown(it, value)} WHERE {of_it}')  # noqa: S608


def _shown(it: Ended, value: object) -> str:
    if isinstance(value, bytes):
        of_postgresql = it.scene.database.startswith("postgres")
        return f"decode('{value.hex()}', 'hex')" if of_postgresql else f"x'{value.hex()}'"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def _execute(it: Ended, statement: str) -> None:
    if it.scene.database.startswith("postgres"):
        with psycopg.connect(it.scene.database, autocommit=True) as held:
            held.execute(statement.encode())
        return
    with closing(sqlite3.connect(it.scene.database, timeout=30)) as file, file:
        file.execute(statement)


def mined(url: str, transaction: Mapping[str, str]) -> str:
    its_hash = str(told(url, "eth_sendTransaction", transaction))
    while told(url, "eth_getTransactionReceipt", its_hash) is None:
        time.sleep(0.1)
    return its_hash


@contextmanager
def with_code(url: str, address: str, code: str) -> Iterator[None]:
    """Another contract stands there meanwhile."""
    before = told(url, "eth_getCode", address, "latest")
    told(url, "anvil_setCode", address, code)
    try:
        yield
    finally:
        told(url, "anvil_setCode", address, before)


def last_sent(it: Ended) -> Row:
    return it.look().sent[-1]
