"""Every test says whether it needs a database, and what it says is held."""

from collections import Counter
from pathlib import Path

import pytest
from django.db import connection

from tests.commands import RunTests

pytestmark = pytest.mark.no_database


def test_the_database_is_out_of_reach() -> None:
    with pytest.raises(RuntimeError, match="Database access not allowed"):
        connection.ensure_connection()


def test_no_two_files_have_one_name(repository: Path) -> None:
    """They would be collected as one module, which ends a whole run, and no run of a part."""
    names = Counter(path.name for path in (repository / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize(
    ("marks", "accepted"),
    [
        ("", False),
        ("@pytest.mark.no_database", True),
        ("@pytest.mark.django_db", True),
        ("@pytest.mark.no_database\n@pytest.mark.django_db", False),
    ],
)
def test_a_test_makes_exactly_one_claim(run_tests: RunTests, marks: str, *, accepted: bool) -> None:
    ended = run_tests(f"import pytest\n\n{marks}\ndef test_it():\n    pass\n", "--collect-only")
    assert (ended.returncode == 0) is accepted, ended.stdout + ended.stderr
    assert ("exactly one of no_database and django_db" in ended.stderr) is not accepted


@pytest.mark.parametrize(("need", "accepted"), [("no_database", False), ("django_db", True)])
def test_either_database_needs_one(run_tests: RunTests, need: str, *, accepted: bool) -> None:
    marks = f"@pytest.mark.either_database\n@pytest.mark.{need}"
    ended = run_tests(f"import pytest\n\n{marks}\ndef test_it():\n    pass\n", "--collect-only")
    assert (ended.returncode == 0) is accepted, ended.stdout + ended.stderr
    assert ("either_database marks what needs none" in ended.stderr) is not accepted


def test_what_the_developer_has_set_is_not_seen(run_tests: RunTests) -> None:
    source = """
import pytest
from django.conf import settings

@pytest.mark.no_database
def test_it():
    assert (settings.BEHIND_PROXY, settings.DEVELOPMENT) == (False, True)
    assert settings.SITE_URL == "http://127.0.0.1:8000"
"""
    variables = {"BEHIND_PROXY": "1", "SITE_URL": "nonsense", "SECRET_KEY_FILE": "/none"}
    ended = run_tests(source, **variables, HSTS_SECONDS="x", DEVELOPMENT="0")
    assert ended.returncode == 0, ended.stdout + ended.stderr
