"""No attack that AUDIT.md of the contracts names makes a false fact readable.

Every check of the contracts is needed: without it, its attack succeeds.
"""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from eth_abi.abi import encode

from explorer.demo.local_node import LocalNode
from queries.contracts.abi import call_data
from queries.contracts.compiler import read_sources
from queries.proving.errors import WitnessMalformedError
from queries.proving.registry_calls import HORIZON, PROVE_SELECTOR
from tests.queries.attacks.beacon_attacks import BEACON_ATTACKS
from tests.queries.attacks.beacon_checks import BEACON_CHECKS, BEACON_GUARDS
from tests.queries.attacks.checks import ALL_CHECKS, CHECKS, GUARDS
from tests.queries.attacks.event_checks import (
    EVENT_CHECKS,
    EVENT_GUARDS,
    LOOKUP_CHECKS,
    LOOKUP_GUARDS,
    ROUTER_CHECKS,
    ROUTER_GUARDS,
)
from tests.queries.attacks.event_forgeries import EVENT_FORGERIES, TRIE_FORGERIES
from tests.queries.attacks.forgery import TIME, Forgery
from tests.queries.attacks.header_forgeries import HEADERS
from tests.queries.attacks.history_forgeries import (
    EVIDENCE,
    FIRST,
    HOP_SOURCE,
    HOPS,
    STATE_HORIZON,
    delayed_state,
    evidence,
    evidence_section,
    honest_hop,
)
from tests.queries.attacks.registry_attacks import ATTACKS, Deploy
from tests.queries.attacks.switched_checks import Check, switched_build, without
from tests.queries.attacks.tall_section import SECTION, SETUP
from tests.queries.attacks.value_forgeries import VALUES
from tests.queries.attacks.walk_forgeries import WALKS
from tests.queries.contracts.recorded_lookup import LIES
from tests.queries.contracts.test_courier import ATTACKS as COURIER_ATTACKS
from tests.queries.contracts.witness_model import WitnessReading, read_witness
from tests.rigs.deployed_contracts import DeployedContract, error_name
from tests.verified import verified_facts

pytestmark = pytest.mark.no_database

FORGERIES = WALKS | VALUES | HEADERS | HOPS | EVIDENCE
WITNESS_AT = len(PROVE_SELECTOR) + 1 + 8 + 8 + 32


@pytest.mark.parametrize("is_alone", [True, False], ids=["alone", "after a section"])
@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_are_refused_or_the_truth_is_read(
    registry: DeployedContract, name: str, *, is_alone: bool
) -> None:
    forged = FORGERIES[name] if is_alone else FORGERIES[name].after(SECTION, SETUP)
    question = [forged.read_call] if forged.read_call else []
    calls = [*forged.setup, *question, forged.calldata, *question]
    outcomes = registry.simulate(calls)
    sent = outcomes[len(forged.setup) + len(question)]
    assert all(call.success for call in outcomes if call is not sent)
    assert ("" if sent.success else error_name(registry.name, sent.data)) == forged.error
    if forged.read_call:
        before, after = outcomes[len(forged.setup)], outcomes[-1]
        assert (after.data == forged.read_result) != bool(forged.error)
        assert not forged.error or after == before
    if is_alone and forged.error and forged.setup and name in WALKS | VALUES:
        reading = _read(forged)
        # A shifted depth is malformed, whatever the root.
        assert reading is None or not name.startswith("depth_")
        assert (
            reading is None
            or reading.state_root != forged.setup[0][-32:]
            or reading.end != len(forged.calldata)
        )


@pytest.mark.parametrize(
    "name", [name for name in FORGERIES if not FORGERIES[name].error and name not in EVIDENCE]
)
def test_verify_returns_the_same_facts_after_another_section(
    registry: DeployedContract, name: str
) -> None:
    alone = FORGERIES[name]
    proofs = [SECTION, alone.calldata[4:], alone.after(SECTION).calldata[4:]]
    calls = [call_data("verify(bytes)", proof) for proof in proofs]
    outcomes = registry.simulate([SETUP, *alone.setup, *calls])[-3:]
    before, own, both = (list(verified_facts(outcome.data)) for outcome in outcomes)
    assert both == before + own


def _read(forged: Forgery) -> WitnessReading | None:
    """Read the witness with our own reader."""
    try:
        return read_witness(forged.calldata, WITNESS_AT, hashed_addresses=True)
    except WitnessMalformedError:
        return None


@pytest.mark.parametrize("back", [1, 5_000, 8_191])
def test_a_valid_hop_is_accepted(registry: DeployedContract, back: int) -> None:
    for hop in (honest_hop(HOP_SOURCE - back), honest_hop(HOP_SOURCE - back).after(SECTION, SETUP)):
        *calls, read = registry.simulate([*hop.setup, hop.calldata, hop.read_call])
        assert all(call.success for call in calls)
        assert read.data == hop.read_result


@pytest.mark.parametrize("number", [3, FIRST, FIRST - 300, 8_191 * 4 - 1])
def test_true_evidence_lowers_the_state_horizon(registry: DeployedContract, number: int) -> None:
    """Repeating the evidence changes nothing."""
    true = evidence(delayed_state(number), number=number)
    calls = [true.calldata, STATE_HORIZON] * 2
    first, *outcomes = registry.simulate([STATE_HORIZON, *true.setup, *calls])
    assert all(call.success for call in outcomes)
    assert int.from_bytes(first.data) == HORIZON
    assert [outcomes[index].data for index in (-3, -1)] == [TIME.to_bytes(32)] * 2


def test_a_false_hash_ends_a_registry_for_its_whole_past(registry: DeployedContract) -> None:
    """The time in a header that a liar makes up is the liar's choice."""
    later_fact = EVIDENCE["a_fact_of_an_ended_block_accumulated_before"]
    section, false_hash = evidence_section(delayed_state(), time=12)
    lowered = call_data("lowerHorizon(bytes)", section)
    *_, accepted, horizon, refused = registry.simulate(
        [later_fact.setup[-1], false_hash, lowered, STATE_HORIZON, later_fact.calldata]
    )
    assert accepted.success
    assert int.from_bytes(horizon.data) == 12
    assert error_name("NativeRegistry", refused.data) == "BeyondHorizon"


@pytest.mark.parametrize("contract", sorted({attack.contract for attack in ATTACKS.values()}))
def test_attacks_are_refused_with_their_error(shared_node: LocalNode, contract: str) -> None:
    attacks = {name: attack for name, attack in ATTACKS.items() if attack.contract == contract}
    deploy = partial(DeployedContract, shared_node)
    errors = {name: attack.run(deploy) for name, attack in attacks.items()}
    assert errors == {name: attack.refusal for name, attack in attacks.items()}


# Without a check


@pytest.fixture(scope="module")
def deploy_switched(shared_node: LocalNode) -> Deploy:
    build = switched_build(ALL_CHECKS)

    def deploy(name: str, arguments: bytes = b"") -> DeployedContract:
        return DeployedContract(shared_node, name, arguments, build[name])

    return deploy


@pytest.fixture(scope="module")
def switched(deploy_switched: Deploy) -> DeployedContract:
    return deploy_switched("SettableRegistry", encode(["bool", "bool"], [True, True]))


def succeeds(registry: DeployedContract, forged: Forgery) -> bool:
    """Whether a forgery is accepted, alone or after a section, and something untrue is read."""
    return any(is_accepted(registry, call) for call in (forged, forged.after(SECTION, SETUP)))


def is_accepted(registry: DeployedContract, forged: Forgery) -> bool:
    questions = [forged.read_call] if forged.read_call else []
    outcomes = registry.simulate([*forged.setup, forged.calldata, *questions])
    sent = outcomes[len(forged.setup)]
    assert all(call.success for call in outcomes[: len(forged.setup)])
    is_lie = (outcomes[-1].data == forged.read_result) == bool(forged.error)
    return sent.success and (is_lie or not forged.read_call)


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_without_a_check_its_attack_succeeds(
    check: Check, switched: DeployedContract, deploy_switched: Deploy
) -> None:
    with without(ALL_CHECKS, check, switched.node):
        if check.attack in ATTACKS:
            assert not ATTACKS[check.attack].run(deploy_switched)
        else:
            assert succeeds(switched, FORGERIES[check.attack])


@pytest.mark.parametrize("guard", [None, *GUARDS], ids=str)
def test_without_a_guard_no_attack_succeeds(
    guard: Check | None, switched: DeployedContract, deploy_switched: Deploy
) -> None:
    """None is also refused with all checks and guards (None)."""
    with without(ALL_CHECKS, guard, switched.node):
        attacks = [
            attack
            for attack in ATTACKS.values()
            if guard is None or attack.contract == guard.contract
        ]
        assert all(attack.run(deploy_switched) for attack in attacks)
        if guard is None or not attacks:
            assert not any(succeeds(switched, forged) for forged in FORGERIES.values())


# The tables are complete


def test_every_revert_is_in_the_tables() -> None:
    """A revert is listed by its text or its error."""
    missing = [
        f"{contract}.{function}: {error}"
        for contract, function, error in _refusals()
        if not any(
            (row.contract, row.function) == (contract, function)
            and (f"revert {error}(" in row.text or row.error == error)
            for row in (
                *ALL_CHECKS,
                *BEACON_CHECKS,
                *BEACON_GUARDS,
                *EVENT_CHECKS,
                *EVENT_GUARDS,
                *ROUTER_CHECKS,
                *ROUTER_GUARDS,
                *LOOKUP_CHECKS,
                *LOOKUP_GUARDS,
            )
        )
    ]
    assert missing == []


def _refusals() -> Iterator[tuple[str, str, str]]:
    for file, source in read_sources().items():
        if file.startswith(("demo/", "interfaces/", "Courier")):  # test_courier has its checks
            continue
        for match in re.finditer(
            r"^( *)(?:function (\w+)|(constructor))\([^;{]*\{", source, re.MULTILINE
        ):
            text = source[match.end() : source.index(f"\n{match[1]}}}\n", match.end())]
            for error in re.findall(r"revert (?:\w+\.)?([A-Z]\w+)\(", text):
                yield Path(file).stem, match[2] or match[3], error


def test_every_invariant_of_the_audit_names_existing_attacks(repository: Path) -> None:
    text = (repository / "queries" / "contracts" / "AUDIT.md").read_text()
    section = text.partition("## What soundness rests on")[2].partition("\n## ")[0]
    names = set(re.findall(r"`([a-z]+_\w+_\w+)`", section))
    tests = {
        name
        for file in Path(__file__).parents[1].rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
    }
    assert len(names) > 60
    named = {check.attack for check in (*ROUTER_CHECKS, *LOOKUP_CHECKS)}
    attacks = ATTACKS, BEACON_ATTACKS, COURIER_ATTACKS
    known = (FORGERIES, *attacks, EVENT_FORGERIES, TRIE_FORGERIES, named, LIES)
    assert names.difference(tests, *known) == set()
