"""One short run of `make chaos` on the database under test, for all tests that look at one."""

from collections.abc import Iterator

import pytest
from django.db import connection

from tests.chaos.run import Ended, Turn, turned
from tests.queries.pipeline.provers import database_url

SECONDS = 10


@pytest.fixture(scope="package")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ended]:
    """Who asks for it is of the xdist group "chaos", so that there is one for all of them."""
    server = database_url() if connection.vendor == "postgresql" else ""
    turn = Turn("in the tests", SECONDS, server, "", provers=2)
    with turned(turn, tmp_path_factory.mktemp("chaos")) as after:
        yield after
