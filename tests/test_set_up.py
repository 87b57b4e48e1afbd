"""The first `make` in a fresh folder, where it cannot set up what it needs: it says so."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.commands import clean_environment

pytestmark = pytest.mark.no_database

NOBODY = "http://127.0.0.1:1/"
SET_UP_BY = ("Makefile", "requirements-dev.txt")
PACKAGES = ("package.json", "package-lock.json")
# No machine has one that is too old, so this one says that it is.
TOO_OLD = """#!/bin/sh
exec python3 -c 'import sys; sys.version_info = (3, 10, 4); exec(sys.argv[2])' "$@"
"""


@pytest.fixture
def fresh(repository: Path, tmp_path: Path) -> Path:
    """All that `make setup` looks at, and nothing that it makes."""
    folder = tmp_path / "fresh"
    contracts = folder / "queries" / "contracts"
    contracts.mkdir(parents=True)
    for name in SET_UP_BY:
        shutil.copy(repository / name, folder)
    for name in PACKAGES:
        shutil.copy(repository / "queries" / "contracts" / name, contracts)
    return folder


def said(folder: Path, *arguments: str, **variables: str) -> list[str]:
    """What a `make` that fails says itself, before make's own words."""
    environment = clean_environment(folder, HOME=str(folder), **variables)
    done = subprocess.run(
        ["make", "demo", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    return [line for line in done.stdout.splitlines() if not line.startswith("make")]


def test_an_old_python(fresh: Path) -> None:
    old = fresh / "old-python"
    old.write_text(TOO_OLD)
    old.chmod(0o755)
    assert said(fresh, f"PYTHON={old}") == [
        "Tacitus needs Python 3.11 or newer; this is 3.10. Name another: make PYTHON=python3.12"
    ]


def test_no_network_for_python_packages(fresh: Path) -> None:
    """They were not there before: neither pip's cache nor its settings are this machine's."""
    without = {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": NOBODY}
    assert said(fresh, **without)[-1] == (
        "The Python packages could not be had. Is PyPI, or the index that pip is told of, within "
        "reach?"
    )
    assert not (fresh / ".venv" / "python-ready").exists()


def test_no_network_for_the_compiler_and_the_node(fresh: Path) -> None:
    (fresh / ".venv").mkdir()
    (fresh / ".venv" / "python-ready").touch()
    without = {"npm_config_registry": NOBODY, "npm_config_fetch_retries": "0"}
    assert said(fresh, **without)[-1] == (
        "The compiler and the node could not be had. Is npm's registry within reach?"
    )
