"""What the bench is asked, and how it tells what it found."""

import dataclasses
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from explorer.bench.gas import remark
from explorer.bench.measures import NAMES
from explorer.bench.rows import Row, Sizes
from explorer.bench.table import as_object, lines, missed
from queries.chain.gas.chains import RegistryKind
from queries.chain.gas.trials import Measured
from queries.management.gas_targets import Target
from tests.commands import Manage, clean_environment

NPM_PINS = ("package.json", "package-lock.json")


@pytest.mark.no_database
def test_what_a_row_tells_of_each_account_is_of_each() -> None:
    together = Measured(
        "some/accounts-100", RegistryKind.SETTABLE, 100_000, 800_000, 9_000_100, 9_000_000, 100,
        transactions=2, accounts=100,
    )  # fmt: skip
    each, whole = (Target("each", "", figure, 1) for figure in ("per_account", "total_gas"))
    assert remark(each, together) == "each: 90,001 / 90,000 = 1.000"
    assert remark(whole, together) == "each: 9,000,100 / 9,000,000 = 1.000"
    free = Target("a step", "", "execution_gas", 900_000, floor_rules=False)
    assert remark(free, together) == (
        "not held to the floor: a step: 9,000,100 / 9,000,000 = 1.000; "
        "in gas_report 800,000 of at most 900,000"
    )


@pytest.mark.no_database
@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ((), "gas and stored_calldata need"),
        (("submit_1", "gas"), "The row gas needs"),
        (("stored_calldata", "submit_1"), "The row stored_calldata needs"),
    ],
)
def test_recorded_blocks_are_asked_for_before_anything_runs(
    manage: Manage, rows: Sequence[str], named: str
) -> None:
    ended = manage("bench", *rows, "--corpus=/nowhere")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        f"CommandError: There is no folder /nowhere. {named} recorded blocks. Name their folder "
        'with --corpus (of make: ARGS="--corpus FOLDER"), or the rows that you want '
        '(ROWS="submit_1 memory_server").\n'
    )


@pytest.mark.no_database
def test_the_help_tells_what_each_size_is(manage: Manage) -> None:
    told = " ".join(manage("bench", "--help").stdout.split())
    for size in dataclasses.fields(Sizes):
        rows = size.metadata["what"].partition(": ")[0].split(", ")
        assert all(any(name.startswith(row.rstrip("…")) for name in NAMES) for row in rows), rows
        assert f"{size.metadata['what']} ({size.default})" in told


@pytest.mark.no_database
def test_what_is_asked_wrongly_is_told_in_a_sentence(manage: Manage) -> None:
    for asked, sentence in (
        (["nothing"], f"There is no row nothing. There are: {', '.join(NAMES)}."),
        (["--batches=0"], "--batches must be more than nothing."),
    ):
        ended = manage("bench", *asked)
        assert ended.returncode == 1
        assert ended.stderr.splitlines()[-1] == f"CommandError: {sentence}"


# In the place of Python, and of the Python and npm that are set up with it.
FAKE = """\
#!/bin/sh
if [ "$1 $2" = "-m venv" ]; then
    mkdir -p .venv/bin queries/contracts/node_modules
    cp "$0" .venv/bin/python
    cp "$0" .venv/bin/npm
fi
"""


@pytest.mark.no_database
@pytest.mark.parametrize(("asked", "passed_on"), [("1", "--json "), ("0", ""), ("", "")])
def test_make_prints_nothing_beside_the_list(
    repository: Path, tmp_path: Path, asked: str, passed_on: str
) -> None:
    """Of a fresh clone, which is set up first."""
    python, contracts = tmp_path / "python", tmp_path / "queries" / "contracts"
    contracts.mkdir(parents=True)
    for each in ("requirements-dev.txt", *(f"queries/contracts/{name}" for name in NPM_PINS)):
        (tmp_path / each).touch()
    shutil.copy(repository / "Makefile", tmp_path)
    python.write_text(FAKE)
    python.chmod(0o755)
    ended = subprocess.run(
        ["make", "bench", f"JSON={asked}", f"PYTHON={python}", "MANAGE=echo"],
        cwd=tmp_path,
        env=clean_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (0, f"bench {passed_on}--batches 5000\n")
    assert "Setting up Python packages in .venv, " in ended.stderr
    assert "Setting up the Solidity compiler and the local node …" in ended.stderr


@pytest.mark.no_database
def test_a_target_is_met_or_not() -> None:
    row = Row("a_row", "something", 3, 2, "s", least=1.2, most=1.4, remarks=("so",))
    assert as_object(row)["target"] == "at least 1.2 and at most 1.4: not met"
    head, *rest = lines(row)
    assert head.split() == ["a_row", "3.000", "2.000", "1.500", *f"s; {_said(row)}".split()]
    assert rest == ["  something", "  so"]


@pytest.mark.no_database
@pytest.mark.parametrize(("ours", "met"), [(3, "met"), (3.1, "not met")])
def test_a_figure_that_has_a_bound_of_its_own_is_held_to_it(ours: float, met: str) -> None:
    row = Row("a_row", "something", ours, 9, "blocks", allowed=3)
    assert as_object(row)["target"] == f"ours at most 3: {met}"


@pytest.mark.no_database
def test_what_is_not_met_is_named() -> None:
    met = Row("met", "something", 2, 1, "s", least=1.5)
    low, high = (Row(name, "something", 2, 1, "s", least=3, most=4) for name in ("low", "high"))
    free = Row("free", "something", 2, 1, "s")
    assert missed([met, free]) == ""
    assert missed([low, met, free, high]) == "The target is not met: low, high."


@pytest.mark.no_database
@pytest.mark.parametrize(
    ("ours", "told", "sentence"),
    [
        (2.5, "at least 2: met; its floor of 1: met", ""),
        (1.2, "at least 2: not met, a known gap; its floor of 1: met", ""),
        (1, "at least 2: not met, a known gap; its floor of 1: met", ""),
        (
            0.9,
            "at least 2: not met, a known gap; its floor of 1: not met",
            "The target is not met: a_gap (its floor).",
        ),
    ],
)
def test_a_known_gap_is_told_and_its_floor_decides(ours: float, told: str, sentence: str) -> None:
    gap = Row("a_gap", "something", ours, 1, "s", least=2, floor=1)
    assert as_object(gap)["target"] == told
    assert missed([gap]) == sentence


def _said(row: Row) -> str:
    return str(as_object(row)["target"])
