"""One short run of `make chaos` on the database under test, for all tests that look at one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from tests.chaos.run import Ended, Turn, turned
from tests.queries.engines.woken import alone_on
from tests.queries.pipeline.provers import database_url

SECONDS = 10


@pytest.fixture(scope="package")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ended]:
    """Who asks for it is of the xdist group "chaos", so that there is one for all of them."""
    with turned(_short_turn(), tmp_path_factory.mktemp("chaos")) as after:
        yield after


@pytest.fixture
def ended_with_celery(tmp_path: Path) -> Iterator[Ended]:
    with alone_on("Redis") as broker, turned(_short_turn(broker), tmp_path) as after:
        yield after


def _short_turn(broker: str = "") -> Turn:
    server = database_url() if connection.vendor == "postgresql" else ""
    return Turn("in the tests", SECONDS, server, broker, provers=2)
