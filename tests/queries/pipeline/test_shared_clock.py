"""A worker whose own clock is wrong goes by the one that all share."""

import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from pytest_django import DjangoAssertNumQueries

from queries.pipeline import clock
from tests.chaos.programs import INSIDE
from tests.commands import clean_environment
from tests.queries.pipeline.provers import REPOSITORY, database_url

pytestmark = pytest.mark.django_db(transaction=True)

# Beside the kernel's, which nothing in the process has changed.
SHOWN = """
import time
from queries.pipeline.clock import shared_now
def off(now):
    return round((now - time.clock_gettime(time.CLOCK_REALTIME)) / 60)
print(off(time.time()), off(shared_now().timestamp()))
"""


@pytest.mark.parametrize("ahead", ["7200", "-7200"])
def test_a_workers_own_clock_counts_only_where_it_is_its_machines(
    tmp_path: Path, ahead: str
) -> None:
    settings = {"DEVELOPMENT": "1", "DATABASE_URL": database_url()}
    clock = {**INSIDE, "CLOCK_AHEAD": ahead}
    ran = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", SHOWN],
        cwd=REPOSITORY,
        env=clean_environment(tmp_path, **settings, **clock),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    own = int(ahead) // 60
    shared = 0 if connection.vendor == "postgresql" else own
    assert ran.stdout.split() == [str(own), str(shared)], ran.stderr


def test_the_server_is_asked_now_and_then_and_its_time_counted_on(
    monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    asked = 1 if connection.vendor == "postgresql" else 0
    monkeypatch.setattr(clock, "COUNTED_ON", -1.0)
    with django_assert_num_queries(asked):
        begin = clock.shared_now()
    monkeypatch.setattr(clock, "COUNTED_ON", 60.0)
    with django_assert_num_queries(0):
        first = clock.shared_now()
        time.sleep(0.1)
        second = clock.shared_now()
    assert begin <= first
    assert timedelta(seconds=0.1) <= second - first < timedelta(seconds=5)
