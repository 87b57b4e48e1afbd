"""One short run of `make chaos` on the database under test, for all tests that look at one."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from django.db import connection

from tests.chaos.run import Ended, Turn, turned
from tests.queries.engines.woken import alone_on
from tests.queries.pipeline.provers import database_url

SECONDS = 10


@pytest.fixture(scope="package")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ended]:
    """Who asks for it is of the xdist group "chaos", so that there is one for all of them.

    On SQLite with the embedded engine, on PostgreSQL with Celery: so each is tried.
    """
    with ExitStack() as stack:
        server, broker = "", ""
        if connection.vendor == "postgresql":
            server, broker = database_url(), stack.enter_context(alone_on("Redis"))
        turn = Turn("in the tests", SECONDS, server, broker, provers=2)
        yield stack.enter_context(turned(turn, tmp_path_factory.mktemp("chaos")))
