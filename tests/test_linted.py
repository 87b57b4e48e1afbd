"""What the linter refuses in the service's own code, as pyproject.toml sets it up."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.no_database


@pytest.mark.parametrize("app", ["accounts", "explorer", "queries"])
@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ('import hashlib\n\nhashlib.md5(b"")', "S324"),
        ('import hashlib\n\nhashlib.new("sha1", b"")', "S324"),
        ("import random\n\nrandom.choice([1])", "S311"),
        ("eval(input())", "S307"),
        ("exec(input())", "S102"),
    ],
)
def test_weak_cryptography_and_text_as_code_are_refused(
    repository: Path, app: str, line: str, rule: str
) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--stdin-filename", f"{app}/x.py", "-"],
        input=f"{line}\n",
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert ran.returncode == 1
    assert rule in ran.stdout


def test_where_the_linter_is_told_to_look_away_no_secret_is_made(repository: Path) -> None:
    excused = {
        str(file.relative_to(repository))
        for app in ("accounts", "explorer", "queries")
        for file in (repository / app).rglob("*.py")
        if any(f"noqa: {rule}" in file.read_text() for rule in ("S311", "S324"))
    }
    assert excused == {"explorer/bench/status_growth.py", "queries/tacitus.py"}
