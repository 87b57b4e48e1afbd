"""Slither finds in the contracts what tests/analysis/explained.py explains, no more and no less."""

import pytest

from queries.contracts.compiler import read_sources
from tests.analysis.analysed import PYTHON, analysed
from tests.analysis.explained import EXPLAINED

pytestmark = pytest.mark.no_database
needs_the_analyser = pytest.mark.skipif(
    not PYTHON.exists(), reason="the analyser of contracts is not installed: make analyse"
)
FAULTY = """
contract NativeRegistry {
    function end(address payable to) external { selfdestruct(to); }
}
"""


@needs_the_analyser
def test_every_finding_is_explained_and_every_explained_one_is_found() -> None:
    found = {(each.detector, each.impact, each.where) for each in analysed(read_sources())}
    assert found == {(row.detector, row.impact, place) for row in EXPLAINED for place in row.places}


@needs_the_analyser
def test_a_fault_is_found() -> None:
    found = {(each.detector, each.where) for each in analysed({"NativeRegistry.sol": FAULTY})}
    assert ("suicidal", "NativeRegistry.end") in found


def test_each_is_explained_once() -> None:
    places = [(row.detector, place) for row in EXPLAINED for place in row.places]
    assert len(set(places)) == len(places)
    assert all(row.why.endswith(".") for row in EXPLAINED)
