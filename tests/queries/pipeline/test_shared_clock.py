"""A worker whose own clock is wrong goes by the one that all share."""

import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

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
