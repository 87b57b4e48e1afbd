"""Recorded proofs cost what the documentation says, and no more gas than the targets."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.demo.local_node import LocalNode
from queries.config.measured_costs import MEASUREMENTS, account_cost
from queries.planning.calls import Anchor, cut_into_pieces, join_pieces
from queries.proving.facts.groups import FactGroups
from queries.proving.keccak import HASH_BYTES
from queries.proving.packing import OSAKA, GasRules
from queries.proving.witnesses import AccountField
from queries.sources.native import NativeRegistry
from tests.bench.corpus import read_corpus
from tests.bench.gas.beacon import (
    ABSENT_COUNTS,
    NEXT_COMMITTEE_TARGET,
    USUALLY_ABSENT,
    beacon_rows,
    committee_name,
    finality_name,
    sample_update,
)
from tests.bench.gas.beacon import TARGETS as BEACON_TARGETS
from tests.bench.gas.cases import BALANCE, NO_FIELDS, file_cases
from tests.bench.gas.deliveries import delivery_rows
from tests.bench.gas.rollups import rollup_rows
from tests.bench.gas.targets import AMSTERDAM, AMSTERDAM_TARGETS, TARGETS
from tests.bench.gas.trials import Measurement, measure

pytestmark = pytest.mark.no_database

CONTRACT = "mainnet_21925176/0x00000000219ab540356cbb839cbe05303d7705fa"
Cases = dict[str, Measurement]


@pytest.fixture(scope="module")
def cases(corpus_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Cases:
    """Every file of the corpus, with at most a hundred accounts per file."""
    folder = tmp_path_factory.mktemp("corpus")
    for file in corpus_folder.glob("*.json"):
        document = json.loads(file.read_text())
        document["accounts"] = document.get("accounts", [])[:100]
        (folder / file.name).write_text(json.dumps(document))
    cases = {trial.case: trial for trial in measure(read_corpus(folder))}
    assert len(cases) > 80
    assert len(cases[f"{CONTRACT}/header+account"].variants) == 4
    return cases


def test_the_targets_are_met(cases: Cases) -> None:
    for target in TARGETS:
        case = cases[target.case]
        assert getattr(case, target.figure) <= target.maximum, target.name
        if target.is_floor:
            assert case.total_gas == case.floor_gas, target.name


def test_the_targets_of_amsterdam_are_met_or_explained(cases: Cases) -> None:
    for target in AMSTERDAM_TARGETS:
        is_met = getattr(cases[target.case], target.figure) <= target.maximum
        assert is_met == (not target.why_not), target.name


FIRST_TARGETS = 3  # which the README has


def test_the_documented_figures_are_the_measured_ones(cases: Cases, repository: Path) -> None:
    audit = (repository / "queries" / "contracts" / "AUDIT.md").read_text()
    for target in (*TARGETS, *AMSTERDAM_TARGETS):
        figure = getattr(cases[target.case], target.figure)
        assert f"{figure:,}" in audit, f"{target.name} is {figure:,} now"
        assert f"{target.maximum:,}" in audit, target.name
    for file in ("README.md", "explorer/docs/how-it-works.md"):
        for target in TARGETS[:FIRST_TARGETS]:
            figure = getattr(cases[target.case], target.figure)
            assert f"| {figure:,} " in (repository / file).read_text(), (file, target.name)


def test_the_documented_gas_of_rollups_is_measured(
    shared_node: LocalNode, repository: Path
) -> None:
    """Approximately: zero bytes in the addresses of stand-ins cost less."""
    audit = (repository / "queries" / "contracts" / "AUDIT.md").read_text()
    for row in rollup_rows(shared_node):
        (line,) = (line for line in audit.splitlines() if line.startswith(f"| {row.name} |"))
        figures = [int(cell.replace(",", "")) for cell in line.split("|")[2:5]]
        assert figures == pytest.approx([row.bytes, row.total, row.floor], rel=0.002), row


def test_the_documented_gas_of_deliveries_is_measured(
    shared_node: LocalNode, repository: Path
) -> None:
    """Approximately: zero bytes in the addresses cost less."""
    audit = (repository / "queries" / "contracts" / "AUDIT.md").read_text()
    for row in delivery_rows(shared_node):
        (line,) = (line for line in audit.splitlines() if line.startswith(f"| {row.name} |"))
        figures = [int(cell.replace(",", "")) for cell in line.split("|")[2:6]]
        measured = [row.bytes, row.direct, row.delivered, row.overhead]
        assert figures == pytest.approx(measured, rel=0.01), row


def test_the_targets_of_sync_committees_are_met(
    shared_node: LocalNode, corpus_folder: Path
) -> None:
    """Estimates use these figures."""
    rows = {row.name: row for row in beacon_rows(shared_node, corpus_folder)}
    for name, maximum in BEACON_TARGETS.items():
        assert rows[name].total <= maximum, name
    for absent in ABSENT_COUNTS:
        more = rows[committee_name(absent)].total - rows[finality_name(absent)].total
        assert more <= NEXT_COMMITTEE_TARGET, absent
    update, whole = (name(USUALLY_ABSENT) for name in (finality_name, committee_name))
    estimated = {name: MEASUREMENTS["gas"][name] for name in ("update", "next-committee")}
    assert estimated == {
        "update": {"gas": rows[update].total, "bytes": rows[update].bytes, "new_slots": 1},
        "next-committee": {
            "gas": rows[whole].total - rows[update].total,
            "bytes": rows[whole].bytes - rows[update].bytes,
            "new_slots": 1,
        },
    }


def test_commands_estimate_the_update_that_was_measured(repository: Path) -> None:
    """If this fails, write what `sample_update()` returns to the file."""
    file = repository / "queries" / "config" / "sample_update.json"
    assert json.loads(file.read_text()) == sample_update()


def test_cost_estimates_use_the_measured_gas(cases: Cases) -> None:
    account, whole = cases[f"{CONTRACT}/account"], cases[f"{CONTRACT}/header+account"]
    as_sent = whole.variants["nothing left out"]  # with the parent's hash and the beacon root
    header_bytes = whole.bytes - account.bytes
    measured = {
        "native-header": {"gas": whole.total_gas - account.total_gas, "bytes": header_bytes},
        "header": {"gas": as_sent - account.total_gas, "bytes": header_bytes + 2 * HASH_BYTES},
    }
    for count in (1, 10, 100):
        name = f"mainnet_one_root_200/accounts-{count}" if count > 1 else f"{CONTRACT}/account"
        case = cases[name]
        measured[f"accounts-{count}"] = {
            "gas": round(case.total_gas / count),
            "bytes": round(case.bytes / count),
            "execution": round((case.intrinsic_gas + case.execution_gas) / count),
            "new_slots": 1,
        }
    assert {name: MEASUREMENTS["gas"][name] for name in measured} == measured


def test_cost_estimates_follow_the_gas_rules(cases: Cases) -> None:
    """By Amsterdam's, the service stores no header that nothing else needs."""

    def estimate(together: int) -> float:
        return account_cost(NativeRegistry.block_work, together, AMSTERDAM).gas

    lone, hundred = f"{CONTRACT}/account-by-header", "mainnet_one_root_200/accounts-100"
    assert estimate(1) == pytest.approx(cases[lone].amsterdam_gas, rel=0.03)
    assert estimate(100) == pytest.approx(cases[hundred].amsterdam_per_account, rel=0.03)


@pytest.mark.parametrize(
    ("rules", "case", "slots", "fields"),
    [
        (OSAKA, "header+account", 0, BALANCE),
        (OSAKA, "header+account+slot", 1, BALANCE),  # cheaper with the hashes sent
        (AMSTERDAM, "account-by-header", 0, BALANCE),
        (AMSTERDAM, "slot-by-header", 1, NO_FIELDS),
    ],
)
def test_the_service_sends_the_cheapest_call(
    cases: Cases,
    corpus_folder: Path,
    rules: GasRules,
    case: str,
    slots: int,
    fields: frozenset[AccountField],
) -> None:
    """It leaves out the hashes that a native registry can look up where that is cheaper."""
    name, account = CONTRACT.split("/")
    (file,) = (block for block in read_corpus(corpus_folder) if block.name == name)
    (proof,) = (held.proof for held in file.accounts if held.name == account)
    assert file.block.header
    assert proof.address
    anchor = Anchor(file.block.header, is_accumulated=False, can_look_up_hashes=True)
    shown = replace(proof, slots=proof.slots[:slots])
    wanted = fields, tuple(slot.slot for slot in shown.slots)
    lacking = FactGroups({proof.address: wanted}, frozenset(), ())
    (call,) = join_pieces(cut_into_pieces(0, anchor, lacking, [shown], rules))
    measured = next(built for built in file_cases(file) if built.name == f"{CONTRACT}/{case}")
    result = cases[measured.name]
    totals = result.variants if rules is OSAKA else result.amsterdam_variants
    assert (call.data,) == measured.variants[min(totals, key=lambda name: totals[name])]
