"""No sequence of calls makes an untrue fact readable.

Random sequences of all functions of the four registries run on a real node, with blocks and states
of the true chain, of one abandoned in a reorg and of a foreign one. After every step all facts are
read: each is unproven or true, and none that could be read before has changed. The same sequences
find faulty contracts: `make test` tries a fault that is found within few sequences, `make fuzz`
all of them, and runs more sequences.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

from explorer.demo.local_node import LocalNode
from queries.contracts.abi import load_artifact, selector
from tests.queries.attacks.checks import ALL_CHECKS
from tests.queries.attacks.switched_checks import SWITCH, switched_build
from tests.queries.sequences.calls import (
    Step,
    absent_after_present,
    functions,
    is_writing,
    sequences,
)
from tests.queries.sequences.checker import UntrueFactError
from tests.queries.sequences.registries import (
    Target,
    Trial,
    arbitrum,
    attested,
    native,
    optimism,
    output,
)
from tests.queries.tries.fuzzing import CASES, IS_FUZZ_RUN, for_each, report
from tests.rigs.deployed_contracts import signature_of
from tests.verified import VERIFY

pytestmark = [
    pytest.mark.no_database,
    # A failing sequence is long, and worth seeing.
    pytest.mark.filterwarnings(
        "ignore:Generating overly large repr:hypothesis.errors.HypothesisWarning"
    ),
]

TRIALS: dict[str, Callable[..., Trial]] = {
    "native": native,
    "optimism": optimism,
    "optimism of an L1 that contradicts itself": partial(optimism, contradicts_itself=True),
    "output": output,
    "arbitrum": arbitrum,
    "attested": attested,
}
REGISTRIES = {
    "native": "NativeRegistry",
    "optimism": "OptimismRegistry",
    "output": "OutputRegistry",
    "arbitrum": "ArbitrumRegistry",
    "attested": "AttestedRegistry",
}
ENDING = "lowerHorizon(bytes)"
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
        report(capsys, f"{name}:", *report_lines(trial))
    for signature in writing_functions(trial):
        if signature != ENDING:
            assert checker.outcomes["taken", selector(signature)], signature
    # Every header of these chains has the root of the state after its block.
    assert checker.outcomes["refused", selector(ENDING)]
    assert not checker.outcomes["taken", selector(ENDING)]
    assert checker.outcomes["refused", selector("prove()")]
    assert checker.facts > SEQUENCES // 3


def test_absent_values_are_zero_after_another_section(aged_node: LocalNode) -> None:
    checker = native(Target(aged_node)).checker
    checker.check([Step(absent_after_present())])
    assert checker.outcomes["taken", selector("prove()")]
    assert checker.facts


@pytest.mark.parametrize("name", REGISTRIES)
def test_every_function_is_called_and_every_reading_is_checked(
    aged_node: LocalNode, name: str
) -> None:
    """A new function needs a question with its truths, or valid calls in the sequences."""
    trial = TRIALS[name](Target(aged_node))
    checked = {VERIFY, *(question.call[:4] for question in trial.checker.questions)}
    unchecked = {
        signature_of(entry)
        for entry in functions(load_artifact(REGISTRIES[name]).abi)
        if not is_writing(entry) and selector(signature_of(entry)) not in checked
    }
    assert unchecked == set()
    known = {
        "prove()",
        "multicall(bytes[])",
        ENDING,
        "recordHash()",
        "recordOutput(address,bytes,bytes32,bytes32,bytes32)",
        "attest(uint256,bytes32,bytes[])",
    }
    assert set(writing_functions(trial)) <= known


def writing_functions(trial: Trial) -> list[str]:
    return [signature_of(entry) for entry in functions(trial.actions.abi) if is_writing(entry)]


def report_lines(trial: Trial) -> list[str]:
    """Counts of steps, facts, and calls accepted and refused."""
    names = {selector(signature_of(entry)): entry["name"] for entry in functions(trial.actions.abi)}
    met = trial.checker.outcomes
    counted = Counter({f"{names.get(call, 'anything else')} {end}": 0 for end, call in met})
    for (end, call), count in met.items():
        counted[f"{names.get(call, 'anything else')} {end}"] += count
    counts = {"steps": trial.checker.steps, "facts read at their ends": trial.checker.facts}
    return [f"{count:>8}  {what}" for what, count in (*counts.items(), *sorted(counted.items()))]


MAX_SEQUENCES = 10_000 if IS_FUZZ_RUN else 3_000
contradicting = partial(optimism, contradicts_itself=True)
# Contract, function and beginning of a check, and the registry to try without it.
FOUND_FAST = (("ProofReader", "_readHeaders", "!_isKnown", native),)
FOUND_SLOWLY = (
    ("AttestedRegistry", "attest", "if (signatures.length", attested),
    ("ProofReader", "_readHeaders", "i == 0 ?", native),
    ("FactStore", "tryAccountField", "record != 0", native),
    ("AttestedRegistry", "attestationDigest", "block.chainid", attested),
    ("AttestedRegistry", "attestationDigest", "sourceChainId", attested),
    ("ProofReader", "_readAccumulated", "accumulated[number]", native),
    ("TrieWitness", "_other", "if (_part(", native),
    ("OptimismRegistry", "recordHash", "recorded[number]", contradicting),
    ("ProofReader", "_readHeaders", "hop != hash", native),
    ("ProofReader", "_hopOf", "address(bytes20", native),
    ("OutputRegistry", "recordOutput", "!portal", output),
    ("OutputRegistry", "_isKnown", "recorded", output),
    ("OutputRegistry", "_outputIn", "chainId == sourceChainId", output),
    ("ArbitrumRegistry", "_isKnown", "outbox", arbitrum),
    ("AttestedRegistry", "attest", "!isSigner", attested),
)
MISSING_CHECKS = FOUND_FAST + (FOUND_SLOWLY if IS_FUZZ_RUN else ())


def without(
    node: LocalNode, make: Callable[..., Trial], contract: str, function: str, text: str
) -> Trial:
    """A trial of a registry without this check."""
    (number,) = (
        number
        for number, check in enumerate(ALL_CHECKS, 1)
        if (check.contract, check.function) == (contract, function) and check.text.startswith(text)
    )
    return make(
        Target(node, switched_build(ALL_CHECKS).__getitem__, {SWITCH: {"balance": hex(number)}})
    )


@pytest.mark.parametrize("text", ["putWord(walk.answers", "putWord(answer", "_putAccount("])
def test_an_absent_key_that_is_not_zero_is_found(aged_node: LocalNode, text: str) -> None:
    trial = without(aged_node, native, "ProofReader", "_absent", text)
    with pytest.raises(UntrueFactError):
        trial.checker.check([Step(absent_after_present())])


@pytest.mark.parametrize(("contract", "function", "text", "make"), MISSING_CHECKS)
def test_without_a_check_an_untrue_fact_is_found(
    aged_node: LocalNode, contract: str, function: str, text: str, make: Callable[..., Trial]
) -> None:
    trial = without(aged_node, make, contract, function, text)
    with pytest.raises(UntrueFactError):
        for_each(
            sequences(trial.actions), trial.checker.check, times=MAX_SEQUENCES / CASES, shrink=False
        )
