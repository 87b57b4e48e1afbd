"""Whatever a test leaves is gone before the next one, however much it is."""

import threading

import pytest
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection

from accounts.models import Account
from queries.management.many_queries import LARGEST, fill
from queries.models import Batch, Query

pytestmark = pytest.mark.django_db(transaction=True)


def _statements_of_another_thread() -> str:
    """With a connection of its own, as where a browser runs."""
    told = []
    thread = threading.Thread(target=lambda: told.append(_statements()))
    thread.start()
    thread.join()
    return told[0]


def _statements() -> str:
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    try:
        return "\n".join(connection.ops.sql_flush(no_style(), tables))
    finally:
        if threading.current_thread() is not threading.main_thread():
            connection.close()


def _left() -> int:
    return sum(kind.objects.count() for kind in (Account, Batch, Query))


def _empty() -> None:
    call_command("flush", verbosity=0, interactive=False, reset_sequences=False)


@pytest.mark.parametrize("queries", [2 * LARGEST, 0])
def test_a_few_rows_and_thousands_are_gone(queries: int) -> None:
    Account.objects.create_superuser("keeper", "correct horse battery staple")
    if queries:
        fill(queries)
    assert _left()
    if connection.vendor == "postgresql":
        # Other tables may have grown by what earlier tests deleted.
        truncated = [line for line in _statements().splitlines() if line.startswith("TRUNCATE")]
        assert ('"queries_query"' in "".join(truncated)) is bool(queries)
        assert _statements_of_another_thread().startswith("LOCK TABLE")
    _empty()
    assert _left() == 0
    assert ContentType.objects.exists()  # made again, as after a migration
