"""The witnesses of test_no_untrue_event find faulty contracts.

`make test` tries some faults, `make fuzz` all that a witness or a proof can use.
"""

from contextlib import suppress

import pytest

from explorer.demo.local_node import LocalNode
from queries.contracts.compiler import SMALL_SOURCES
from tests.queries.attacks.event_checks import EVENT_CHECKS, ROUTER_CHECKS
from tests.queries.attacks.switched_checks import SWITCH, Check, switched_build
from tests.queries.events.trial import DisagreementError, Trial
from tests.queries.sequences.checker import UntrueFactError
from tests.queries.tries.fuzzing import IS_FUZZ_RUN, SEED

pytestmark = pytest.mark.no_database

FORGED = 100  # witnesses of a case
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
    sources = {"EventsRouter": "EventsRouter.sol"} if is_of_router else SMALL_SOURCES
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
