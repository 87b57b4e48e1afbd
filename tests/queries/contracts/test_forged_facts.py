"""No false fact, by any of the ways that the contracts' README names, is ever read."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from eth_abi.abi import encode

from explorer.demo.local_node import LocalNode
from tests.local_chain import Deployed, error_name
from tests.queries.attacks.forgeries import FORGERIES, Forgery
from tests.queries.attacks.hop_forgeries import FROM, honest
from tests.queries.attacks.registry_attacks import ATTACKS

pytestmark = pytest.mark.no_database


@pytest.fixture(scope="module")
def registry(shared_node: LocalNode) -> Deployed:
    return Deployed(shared_node, "SettableRegistry", encode(["bool", "bool"], [True, True]))


@pytest.mark.parametrize("make", FORGERIES.values(), ids=FORGERIES.keys())
def test_it_is_refused_or_the_truth_is_read(
    registry: Deployed, make: Callable[[], Forgery]
) -> None:
    forged = make()
    question = [forged.question] if forged.question else []
    calls = [*forged.setup, *question, forged.calldata, *question]
    outcomes = registry.simulate(calls)
    sent = outcomes[len(forged.setup) + len(question)]
    assert all(each.success for each in outcomes if each is not sent)
    if forged.error:
        assert not sent.success
        assert error_name(registry.name, sent.data) == forged.error
    else:
        assert sent.success
    if forged.question:
        before, after = outcomes[len(forged.setup)], outcomes[-1]
        assert after.data != forged.lie
        assert not forged.error or after == before


def test_each_invariant_in_the_readme_is_attacked(repository: Path) -> None:
    text = (repository / "queries" / "contracts" / "README.md").read_text()
    section = text.partition("## What soundness rests on")[2].partition("\n## ")[0]
    named = set(re.findall(r"`((?:point_\d+|an?|test)_\w+)`", section))
    tests = {
        name
        for file in Path(__file__).parent.glob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
    }
    assert len(named) > 60
    assert named - FORGERIES.keys() - ATTACKS.keys() - tests == set()


@pytest.mark.parametrize("back", [1, 5_000, 8_191])
def test_an_honest_hop_is_believed(registry: Deployed, back: int) -> None:
    hop = honest(FROM - back)
    *written, read = registry.simulate([*hop.setup, hop.calldata, hop.question])
    assert all(each.success for each in written)
    assert read.data == hop.lie
