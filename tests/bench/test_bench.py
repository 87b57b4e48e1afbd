"""The measuring programs run, print what programs read, and end with the right exit code.

How fast anything is depends on the machine, so only figures that are counted are held here.
"""

import json
from pathlib import Path

import pytest

from tests.bench.started import measured

SHORT = (
    "--few-queries=1000", "--seconds=0.2", "--turns=1", "--submissions=2", "--accounts=12",
    "--waited-for=2", "--batches=12", "--blocks=3",
)  # fmt: skip
MEMBERS = {"name", "ours", "reference", "ratio", "unit", "what", "target", "remarks", "figures"}


@pytest.mark.either_database
@pytest.mark.django_db
def test_rows_are_measured_against_references(tmp_path: Path) -> None:
    rows = ("submit_1", "status_polling", "thousand_accounts_pipelined")
    ended = measured("tests.bench", tmp_path, *rows, "--json", *SHORT)
    assert ended.stdout, ended.stderr
    listed = json.loads(ended.stdout)
    for each in listed:
        assert set(each) == MEMBERS
        assert each["ratio"] == pytest.approx(each["ours"] / each["reference"])
    last_target = [(each["target"] or "").rpartition(": ")[2] for each in listed]
    assert ended.returncode == ("not met" in last_target), ended.stderr
    assert list(tmp_path.iterdir()) == []
    found = {each["name"]: each for each in listed}
    assert set(rows) <= found.keys()
    figures = found["thousand_accounts_pipelined"]["figures"]
    assert 20_000 < figures["gas_an_account"] < figures["gas_an_account_of_the_script"]
