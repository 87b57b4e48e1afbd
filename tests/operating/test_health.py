"""The health check of PostgreSQL in `compose.yaml`."""

from pathlib import Path

import pytest
import yaml

from tests.operating.postgres import own_postgres

pytestmark = pytest.mark.no_database


def test_postgresql_is_not_healthy_while_it_initialises(repository: Path) -> None:
    """`migrate` would start, and lose its connection when the image restarts the server."""
    compose = yaml.safe_load((repository / "compose.yaml").read_text())
    kind, *test = compose["services"]["postgres"]["healthcheck"]["test"]
    assert kind == "CMD"
    with own_postgres("a-password") as server:
        with server.initialising():
            assert not server.is_healthy(test)
        with server.ready():
            server.await_health(test)
