"""A prover's lines have the one form of all lines, whichever engine it runs with."""

import json
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.commands import PRODUCTION, Manage, clean_environment
from tests.local_chain import SIGNER_KEY

pytestmark = pytest.mark.no_database
ROUTES = """
[chains.1]
name = "Nowhere"
nodes = ["http://127.0.0.1:1"]
finality = 1
[[registries]]
source = 1
destination = 1
kind = "native"
address = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
"""


@pytest.mark.parametrize("engine", ["embedded", "celery"])
def test_each_line_of_a_prover_is_json(
    repository: Path, tmp_path: Path, manage: Manage, engine: str
) -> None:
    (tmp_path / "routes.toml").write_text(ROUTES)
    variables = {
        **PRODUCTION,
        "LOG_LEVEL": "DEBUG",
        "ROUTES_FILE": str(tmp_path / "routes.toml"),
        "SIGNER_KEY": SIGNER_KEY,
        "PROVER_ENGINE": engine,
        "CELERY_BROKER": "redis://127.0.0.1:1/0",
    }
    assert manage("migrate", **variables).returncode == 0
    with sqlite3.connect(tmp_path / "test.sqlite3") as database:
        database.execute("DROP TABLE queries_batch")  # that there is something to say
    with (tmp_path / "log").open("w") as log:
        prover = subprocess.Popen(
            [sys.executable, "manage.py", "run_prover"],
            cwd=repository,
            env=clean_environment(tmp_path, **variables),
            stdout=subprocess.DEVNULL,  # which tells people that it began and ended
            stderr=log,
        )
        until = time.monotonic() + 30
        while not _said(tmp_path) and time.monotonic() < until:
            time.sleep(0.2)
        prover.terminate()
        prover.wait(timeout=30)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert "tacitus.prover" in {line["logger"] for line in lines}
    assert all(line["time"].endswith("+00:00") for line in lines)


def _said(folder: Path) -> bool:
    return "tacitus.prover" in (folder / "log").read_text()
