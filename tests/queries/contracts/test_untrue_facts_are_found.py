"""The sequences of test_no_untrue_fact find faulty contracts.

`make test` tries a fault that is found within few sequences, `make fuzz` all of them.
"""

from collections.abc import Callable
from functools import partial

import pytest

from explorer.demo.local_node import LocalNode
from tests.queries.attacks.checks import ALL_CHECKS
from tests.queries.attacks.switched_checks import SWITCH, switched_build
from tests.queries.sequences.calls import Step, sequences
from tests.queries.sequences.checker import UntrueFactError
from tests.queries.sequences.proofs import absent_after_present
from tests.queries.sequences.registries import Target, Trial, attested, native, optimism, output
from tests.queries.tries.fuzzing import CASES, IS_FUZZ_RUN, for_each

pytestmark = [
    pytest.mark.no_database,
    # A failing sequence is long, and worth seeing.
    pytest.mark.filterwarnings(
        "ignore:Generating overly large repr:hypothesis.errors.HypothesisWarning"
    ),
]

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
    ("ProofReader", "_readHeaders", "hop.hash", native),
    ("ProofReader", "_hopOf", "address(bytes20", native),
    ("OutputRegistry", "recordOutput", "!anchorStateRegistry", output),
    ("OutputRegistry", "_isKnown", "recorded", output),
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
def test_an_absent_key_without_its_zero_is_found(aged_node: LocalNode, text: str) -> None:
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
