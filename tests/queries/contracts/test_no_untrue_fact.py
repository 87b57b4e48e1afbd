"""Whatever anybody calls in whatever order, nothing can be read that is not true of the chain.

Random sequences of all functions of the four registries are played on a real node, with blocks
and states of the true chain, of one that was reorganised away and of a foreign one. After each
step all facts are asked for: each is unproven or true, and what could be read before still is.
That these sequences find a contract that is wrong is shown by test_untrue_facts_are_found. `make
fuzz` goes on for longer.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

from explorer.demo.local_node import LocalNode
from queries.contracts.abi import load_artifact, selector
from tests.queries.sequences.calls import Step, functions, is_writing, sequences
from tests.queries.sequences.proofs import absent_after_present
from tests.queries.sequences.registries import Target, Trial, attested, native, optimism, output
from tests.queries.tries.fuzzing import CASES, for_each, report
from tests.rigs.local_chain import signature_of
from tests.verified import VERIFY

pytestmark = pytest.mark.no_database

TRIALS: dict[str, Callable[..., Trial]] = {
    "native": native,
    "optimism": optimism,
    "optimism of an L1 that contradicts itself": partial(optimism, contradicts_itself=True),
    "output": output,
    "attested": attested,
}
REGISTRIES = {
    "native": "NativeRegistry",
    "optimism": "OptimismRegistry",
    "output": "OutputRegistry",
    "attested": "AttestedRegistry",
}
ENDING = "endedBy(bytes)"
SEQUENCES = max(CASES // 3, 1)


@pytest.mark.parametrize("name", TRIALS)
def test_no_sequence_of_calls_makes_an_untrue_fact(
    aged_node: LocalNode, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    trial = TRIALS[name](Target(aged_node))
    checker = trial.checker
    try:
        for_each(sequences(trial.actions), checker.check)
    finally:
        report(capsys, f"{name}:", *told(trial))
    for signature in written(trial):
        if signature != ENDING:
            assert checker.outcomes["taken", selector(signature)], signature
    # Each header of these chains has the root of the state after it.
    assert checker.outcomes["refused", selector(ENDING)]
    assert not checker.outcomes["taken", selector(ENDING)]
    assert checker.outcomes["refused", selector("prove()")]
    assert checker.facts > SEQUENCES // 3


def test_what_is_absent_is_zero_behind_another_section(aged_node: LocalNode) -> None:
    """Where memory is not zero any more."""
    checker = native(Target(aged_node)).checker
    checker.check([Step(absent_after_present())])
    assert checker.outcomes["taken", selector("prove()")]
    assert checker.facts


@pytest.mark.parametrize("name", REGISTRIES)
def test_every_function_is_called_and_every_reading_is_judged(
    aged_node: LocalNode, name: str
) -> None:
    """By the ABI: a function that is new has to be given its truth, or a way to call it rightly."""
    trial = TRIALS[name](Target(aged_node))
    judged = {VERIFY, *(question.call[:4] for question in trial.checker.questions)}
    left_out = {
        signature_of(entry)
        for entry in functions(load_artifact(REGISTRIES[name]).abi)
        if not is_writing(entry) and selector(signature_of(entry)) not in judged
    }
    assert left_out == set()
    known = {
        "prove()",
        "multicall(bytes[])",
        ENDING,
        "recordHash()",
        "recordOutput(address,bytes32,bytes32,bytes32)",
        "attest(uint256,bytes32,bytes[])",
    }
    assert set(written(trial)) <= known


def written(trial: Trial) -> list[str]:
    return [signature_of(each) for each in functions(trial.actions.abi) if is_writing(each)]


def told(trial: Trial) -> list[str]:
    """What was met: functions called, taken and refused."""
    names = {selector(signature_of(each)): each["name"] for each in functions(trial.actions.abi)}
    met = trial.checker.outcomes
    counted = Counter({f"{names.get(call, 'anything else')} {end}": 0 for end, call in met})
    for (end, call), count in met.items():
        counted[f"{names.get(call, 'anything else')} {end}"] += count
    counts = {"steps": trial.checker.steps, "facts read at their ends": trial.checker.facts}
    return [f"{count:>8}  {what}" for what, count in (*counts.items(), *sorted(counted.items()))]
