"""An index is built anew where one is, and on PostgreSQL while others write."""

import threading
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest
from django.db import connection, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.executor import MigrationExecutor

from accounts.indexes import AddIndexBesideWriters
from tests.queries.pipeline.provers import database_url

pytestmark = pytest.mark.django_db(transaction=True)
of_postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="on SQLite one writes at a time"
)
NAME = "accounts_by_last_login"
WRITE = "UPDATE accounts_account SET is_active = is_active"
IS_VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"


@pytest.fixture
def beside() -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_url(), autocommit=True) as other:
        yield other
        other.execute(f"DROP INDEX IF EXISTS {NAME}")


def _index() -> Callable[[BaseDatabaseSchemaEditor], None]:
    index = AddIndexBesideWriters("account", models.Index(name=NAME, fields=["last_login"]))
    state = MigrationExecutor(connection).loader.project_state()
    after = state.clone()
    index.state_forwards("accounts", after)
    return lambda editor: index.database_forwards("accounts", editor, state, after)


def _build() -> None:
    build = _index()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '100ms'")  # as `migrate` does
        with connection.schema_editor(atomic=False) as editor:
            build(editor)
        with connection.cursor() as cursor:
            cursor.execute("SHOW lock_timeout")
            assert cursor.fetchone() == ("100ms",)
    finally:
        connection.close()


def _is_waiting(beside: psycopg.Connection) -> bool:
    waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE %s"
    return beside.execute(waits, [f"CREATE INDEX CONCURRENTLY%{NAME}%"]).fetchone() is not None


@of_postgresql
def test_others_write_meanwhile(beside: psycopg.Connection) -> None:
    building = threading.Thread(target=_build)
    with psycopg.connect(database_url()) as writer:
        writer.execute(WRITE)  # and does not end
        building.start()
        until = time.monotonic() + 20
        while not _is_waiting(beside):
            assert time.monotonic() < until
            time.sleep(0.05)
        beside.execute("SET lock_timeout = '2s'")
        beside.execute(WRITE)
        time.sleep(0.2)  # which is more than it would wait for what others wait behind
        assert building.is_alive()
    building.join(20)
    assert beside.execute(IS_VALID, [NAME]).fetchone() == (True,)


@of_postgresql
def test_what_a_try_that_was_broken_off_has_left_is_built_anew(beside: psycopg.Connection) -> None:
    beside.execute(f"CREATE INDEX {NAME} ON accounts_account (last_login)")
    beside.execute(
        "UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = to_regclass(%s)", [NAME]
    )
    assert beside.execute(IS_VALID, [NAME]).fetchone() == (False,)
    _build()
    assert beside.execute(IS_VALID, [NAME]).fetchone() == (True,)


def test_it_may_be_there_already() -> None:
    """Of a try that ended before the migration was noted."""
    build = _index()
    try:
        for _ in range(2):
            with connection.schema_editor(atomic=False) as editor:
                build(editor)
        with connection.cursor() as cursor:
            assert NAME in connection.introspection.get_constraints(cursor, "accounts_account")
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP INDEX IF EXISTS {NAME}")
