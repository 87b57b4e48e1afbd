"""No attack makes BeaconRegistry record a false hash or committee.

Every check of it is needed: without it, its attack succeeds.
"""

import pytest

from explorer.demo.local_node import LocalNode
from queries.contracts.compiler import SIZE_OPTIMISED_SOURCES
from tests.queries.attacks.beacon_attacks import BEACON_ATTACKS
from tests.queries.attacks.beacon_checks import BEACON_CHECKS, BEACON_GUARDS
from tests.queries.attacks.beacon_trials import NAME, Deployer
from tests.queries.attacks.switched_checks import Check, switched_build, without

pytestmark = pytest.mark.no_database

ALL_CHECKS = (*BEACON_CHECKS, *BEACON_GUARDS)


def test_attacks_on_it_are_refused_with_their_error(shared_node: LocalNode) -> None:
    deployer = Deployer(shared_node)
    errors = {name: attack.run(deployer) for name, attack in BEACON_ATTACKS.items()}
    assert errors == {name: attack.refusal for name, attack in BEACON_ATTACKS.items()}


@pytest.fixture(scope="module")
def switched(shared_node: LocalNode) -> Deployer:
    build = switched_build(ALL_CHECKS, {NAME: SIZE_OPTIMISED_SOURCES[NAME]})
    return Deployer(shared_node, build[NAME])


@pytest.mark.parametrize("check", BEACON_CHECKS, ids=str)
def test_without_a_check_its_attack_succeeds(check: Check, switched: Deployer) -> None:
    with without(ALL_CHECKS, check, switched.node):
        assert not BEACON_ATTACKS[check.attack].run(switched)


@pytest.mark.parametrize("guard", [None, *BEACON_GUARDS], ids=str)
def test_without_a_guard_no_attack_succeeds(guard: Check | None, switched: Deployer) -> None:
    """Nor with all checks and guards (None)."""
    with without(ALL_CHECKS, guard, switched.node):
        succeeded = [name for name, attack in BEACON_ATTACKS.items() if not attack.run(switched)]
    assert succeeded == []
