"""Celery and PostgreSQL together, as who has outgrown one machine runs them."""

from pathlib import Path

import pytest
from django.db import connection

from queries.engines.with_celery import LOOKS_EVERY
from tests.commands import Manage
from tests.installation import installation
from tests.own_database import own_database
from tests.queries.engines.woken import alone_on, seconds_to_done


@pytest.mark.django_db
@pytest.mark.skipif(
    connection.vendor != "postgresql", reason="on SQLite the tests of Celery run as they are"
)
def test_a_message_wakes_a_prover_that_works_on_postgresql(
    repository: Path, tmp_path: Path, manage: Manage
) -> None:
    """Sooner than it would have looked by itself, twice in a row."""
    variables = {"PROVER_ENGINE": "celery"}
    with (
        alone_on("RabbitMQ") as variables["CELERY_BROKER"],
        own_database(tmp_path, "celery") as variables["DATABASE_URL"],
        installation(repository, tmp_path, manage, **variables) as it,
    ):
        seconds_to_done(it)  # the first one may come while the prover still connects
        took = [seconds_to_done(it) for _ in range(2)]
    assert variables["DATABASE_URL"].startswith("postgres://")
    assert max(took) < LOOKS_EVERY / 2, took
