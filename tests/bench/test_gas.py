"""Recorded proofs cost no more gas than the targets, and what is documented."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from queries.costs import MEASURED
from tests.bench.command import BenchFailed
from tests.bench.corpus import read_corpus
from tests.bench.gas.targets import TARGETS
from tests.bench.gas.trials import Measured, measure
from tests.bench.started import measured

pytestmark = pytest.mark.no_database

CONTRACT = "mainnet_21925176/0x00000000219ab540356cbb839cbe05303d7705fa"
Cases = dict[str, Measured]


@pytest.fixture(scope="module")
def cases(corpus_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Cases:
    """Every file of the corpus, with at most a hundred accounts each."""
    folder = tmp_path_factory.mktemp("corpus")
    for file in corpus_folder.glob("*.json"):
        document = json.loads(file.read_text())
        document["accounts"] = document.get("accounts", [])[:100]
        (folder / file.name).write_text(json.dumps(document))
    cases = {each.case: each for each in measure(read_corpus(folder))}
    assert len(cases) > 80
    assert len(cases[f"{CONTRACT}/header+account"].ways) == 4
    return cases


def test_the_targets_are_met(cases: Cases) -> None:
    for target in TARGETS:
        case = cases[target.case]
        assert getattr(case, target.figure) <= target.most, target.name
        if target.floor_rules:
            assert case.total_gas == case.floor_gas, target.name


def test_the_documented_figures_are_the_measured_ones(cases: Cases, repository: Path) -> None:
    readme = (repository / "queries" / "contracts" / "README.md").read_text()
    for target in TARGETS:
        figure = getattr(cases[target.case], target.figure)
        assert f"{figure:,}" in readme, f"{target.name} is {figure:,} now"
        assert f"{target.most:,}" in readme, target.name


def test_costs_rest_on_the_measured_figures(cases: Cases) -> None:
    account, whole = cases[f"{CONTRACT}/account"], cases[f"{CONTRACT}/header+account"]
    measured: dict[str, list[int | None]] = {
        "header": [whole.total_gas - account.total_gas, whole.bytes - account.bytes],
        "accounts-1": [account.total_gas, account.bytes],
    }
    for many in (10, 100):
        case = cases[f"mainnet_one_root_200/accounts-{many}"]
        measured[f"accounts-{many}"] = [case.per_account, round(case.bytes / many)]
    assert {name: list(MEASURED["gas"][name].values()) for name in measured} == measured


def test_the_table_ends_with_the_targets(corpus_folder: Path, tmp_path: Path) -> None:
    shutil.copy(corpus_folder / "mainnet_21925176.json", tmp_path)
    ended = measured("tests.bench.gas", tmp_path, f"--corpus={tmp_path}")
    assert "mainnet_21925176: NativeRegistry" in ended.stdout
    targets = ended.stdout[ended.stdout.index("Targets") :]
    assert "header + account of depth 8" in targets
    assert "not met" not in targets


def stated_wrongly(document: dict[str, Any]) -> None:
    document["accounts"][0]["account"]["balance"] = "0x1"


def of_another_block(document: dict[str, Any]) -> None:
    document["block"]["number"] = "0x1"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [(stated_wrongly, "balance is stated as 1"), (of_another_block, "the file states another")],
)
def test_a_file_that_proves_something_else_is_refused(
    corpus_folder: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None], sentence: str
) -> None:
    document = json.loads((corpus_folder / "mainnet_21925176.json").read_text())
    change(document)
    (tmp_path / "changed.json").write_text(json.dumps(document))
    with pytest.raises(BenchFailed, match=sentence):
        read_corpus(tmp_path)
