"""The measuring programs run, print what programs read, and end with the right exit code.

How fast anything is depends on the machine, so only figures that are counted are held here.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from tests.bench.started import measured

SHORT = (
    "--few-queries=1000", "--seconds=0.2", "--turns=1", "--submissions=2", "--accounts=12",
    "--waited-for=2", "--batches=12", "--blocks=3",
)  # fmt: skip
MEMBERS = {"name", "ours", "reference", "ratio", "unit", "what", "target", "remarks", "figures"}


def bench(folder: Path, *rows: str) -> dict[str, Any]:
    """The rows by their names, measured on the kind of database of these tests."""
    database = {}
    if connection.vendor == "postgresql":
        database = {"DATABASE_URL": os.environ["DATABASE_URL"]}
    options = (*rows, "--json", *SHORT)
    ended = measured("tests.bench", folder, *options, **database)
    assert ended.stdout, ended.stderr
    listed = json.loads(ended.stdout)
    for each in listed:
        assert set(each) == MEMBERS
        assert each["ratio"] == pytest.approx(each["ours"] / each["reference"])
    last_target = [(each["target"] or "").rpartition(": ")[2] for each in listed]
    assert ended.returncode == ("not met" in last_target), ended.stderr
    assert list(folder.iterdir()) == []
    return {each["name"]: each for each in listed}


@pytest.mark.django_db
def test_a_batch_is_stored(tmp_path: Path) -> None:
    found = bench(tmp_path, "submit_1", "submit_500")
    assert list(found) == ["submit_1", "submit_500"]


@pytest.mark.either_database
@pytest.mark.django_db
def test_polls_and_proofs_are_measured_against_references(tmp_path: Path) -> None:
    found = bench(tmp_path, "status_polling", "thousand_accounts_pipelined", "node_requests_1")
    assert found["node_requests_1"]["figures"]["eth_getProof"] >= 1
    assert found["status_polling"]["ours"] > 0
    figures = found["thousand_accounts_pipelined"]["figures"]
    assert 20_000 < figures["gas_an_account"] < figures["gas_an_account_of_the_script"]
