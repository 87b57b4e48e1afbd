"""Every test says whether it needs a database, and what it says is held."""

import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

pytestmark = pytest.mark.no_database


def test_the_database_is_out_of_reach() -> None:
    with pytest.raises(RuntimeError, match="Database access not allowed"):
        connection.ensure_connection()


@pytest.mark.parametrize(
    ("marks", "accepted"),
    [
        ("", False),
        ("@pytest.mark.no_database", True),
        ("@pytest.mark.django_db", True),
        ("@pytest.mark.no_database\n@pytest.mark.django_db", False),
    ],
)
def test_a_test_makes_exactly_one_claim(
    repository: Path, tmp_path: Path, marks: str, *, accepted: bool
) -> None:
    file = tmp_path / "test_claims.py"
    file.write_text(f"import pytest\n\n{marks}\ndef test_it():\n    pass\n")
    plugins = ["-p", "tests.conftest", "-p", "no:cacheprovider"]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", *plugins, str(file)],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode == 0) is accepted, ended.stdout + ended.stderr
    assert ("exactly one of no_database and django_db" in ended.stderr) is not accepted
