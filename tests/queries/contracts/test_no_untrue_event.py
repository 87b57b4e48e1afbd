"""No witness proves what a block does not contain, and our reader accepts the same witnesses.

Witnesses of random blocks, honest, lying, mixed and broken, are handed to the events verifier, in
proofs to the events router, and to our reader. All facts that are returned or can be read are
compared with the blocks. The same witnesses find faulty contracts: `make test` tries some faults,
`make fuzz` all that a witness or a proof can use, and more witnesses.
"""

from contextlib import suppress

import pytest

from explorer.demo.local_node import LocalNode
from queries.contracts.compiler import SIZE_OPTIMISED_SOURCES, SOURCES
from tests.queries.attacks.event_checks import EVENT_CHECKS, ROUTER_CHECKS
from tests.queries.attacks.switched_checks import SWITCH, Check, switched_build
from tests.queries.events.trial import DisagreementError, Trial
from tests.queries.sequences.checker import UntrueFactError
from tests.queries.tries.fuzzing import CASES, IS_FUZZ_RUN, SEED, report

pytestmark = pytest.mark.no_database

FORGED = 100  # witnesses of a case


def test_no_witness_proves_an_untrue_event(
    shared_node: LocalNode, capsys: pytest.CaptureFixture[str]
) -> None:
    trial = Trial.deploy(shared_node)
    try:
        for number in range(max(CASES // 10, 1)):
            trial.check(f"{SEED}:{number}", FORGED)
    finally:
        lines = (f"{count:>8}  {what}" for what, count in sorted(trial.counts.items()))
        report(capsys, "events:", *lines)
    for kind in ("encoded otherwise", "lying", "mixed"):
        assert trial.counts[f"{kind} accepted"], kind
        assert trial.counts[f"{kind} refused"], kind
    for form in ("with a witness", "stored"):
        assert trial.counts[f"proof of a log {form} accepted"], form
    assert trial.counts["readings of facts"]


MAX_CASES = 1_000
FOUND_FAST = {"_chosen", "_readBloom", "_refuseMatch", "_verifiedLog", "_storedLog"}
CHECKS = [
    check
    for check in (*EVENT_CHECKS, *ROUTER_CHECKS)
    if check.function in FOUND_FAST or (IS_FUZZ_RUN and check.function != "constructor")
]


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_without_a_check_an_untrue_event_is_found(shared_node: LocalNode, check: Check) -> None:
    is_of_router = check in ROUTER_CHECKS
    checks = ROUTER_CHECKS if is_of_router else EVENT_CHECKS
    sources = {"EventsRouter": SOURCES["EventsRouter"]} if is_of_router else SIZE_OPTIMISED_SOURCES
    codes = switched_build(checks, sources)
    overrides = {SWITCH: {"balance": hex(checks.index(check) + 1)}}
    trial = Trial.deploy(
        shared_node, codes.get("EventsVerifier"), codes.get("EventsRouter"), overrides
    )
    with pytest.raises(UntrueFactError):
        try_cases(trial)


def try_cases(trial: Trial) -> None:
    for case in range(MAX_CASES):
        with suppress(DisagreementError):
            trial.check(f"{SEED}:{case}", FORGED)
