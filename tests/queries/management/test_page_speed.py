"""Pages are timed over a database of their own."""

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.db import connection

from queries.management import page_times
from tests.commands import Manage

ABSENT = "a_database_that_is_not_there"
MEASURED = r"^(\w[\w, ]+?) +(\d+) +[\d.]+ +[\d.]+ +[\d,]+$"


@pytest.mark.django_db
def test_it_times_every_page_and_leaves_the_configured_database_alone(
    manage: Manage, tmp_path: Path
) -> None:
    """It is not even looked for: a PostgreSQL of that name does not exist."""
    configured = f"sqlite:///{tmp_path}/{ABSENT}"
    if connection.vendor == "postgresql":
        configured = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{ABSENT}").geturl()
    # Other tests run meanwhile: a page that is quick is so one time of five.
    for _ in range(5):
        ended = manage("page_speed", "--queries=2000", "--rounds=5", DATABASE_URL=configured)
        if not ended.returncode:
            break
    assert ended.stdout.startswith(f"{connection.vendor}, 2,000 queries"), ended.stderr
    measured = dict(re.findall(MEASURED, ended.stdout, re.MULTILINE))
    assert list(measured) == [page.name for page in page_times.PAGES]
    assert (measured["start"], measured["batch of 1 query"]) == ("3", "4")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.no_database
def test_a_slow_page_is_too_long_where_it_is_bounded() -> None:
    bounded, free = (page_times.PublicPage("a page", "/", bounded=each) for each in (True, False))
    for page, took, too_long in ((bounded, 49.9, False), (bounded, 50, True), (free, 90, False)):
        assert page_times.PageTime(page, 1, took, took, 1).too_long is too_long


@pytest.mark.no_database
def test_too_few_queries_are_refused_in_a_sentence(manage: Manage) -> None:
    ended = manage("page_speed", "--queries=5")
    assert (ended.returncode, ended.stderr) == (
        1,
        "CommandError: At least 2,000 queries and 2 rounds are needed.\n",
    )
