"""`cost` prints a route's costs before anything is deployed, and sends nothing."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings

from explorer.demo.local_node import LocalNode, local_node
from queries.chain.client import GAS_PRICE_ORACLE
from queries.contracts.create2 import FACTORY, SALT, verifier_init_code
from queries.sources.native import NativeRegistry
from queries.sources.registry import deployment_calldata, derived_address
from tests.queries.management.local_setup import CHAIN_ID, LocalSetup
from tests.rigs.deployed_contracts import reverted_at_end

pytestmark = pytest.mark.no_database

SOURCE = 5
# A GasPriceOracle that charges 10^12 wei for any transaction: PUSH5, MSTORE, return of a word.
ORACLE = f"0x64{10**12:010x}60005260206000f3"


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node() as running:
        running.rpc.ask("anvil_mine", hex(3))
        yield running


@pytest.fixture
def setup(settings: LazySettings, tmp_path: Path, node: LocalNode) -> LocalSetup:
    local_setup = LocalSetup(settings, tmp_path)
    local_setup.sign_with("")
    local_setup.add_chain(CHAIN_ID, "Local", [node.url], "daily_budget = 0.05")
    local_setup.add_chain(SOURCE, "Elsewhere", ["http://127.0.0.1:1"])
    return local_setup


def row(printed: str, name: str) -> list[str]:
    """The gas, and the amount in ETH."""
    (match,) = re.findall(rf"^  {name} +([0-9,]+) gas  (\S+) ETH", printed, re.MULTILINE)
    return list(match)


def test_cost_prints_single_and_bundled_facts_at_a_given_gas_price(setup: LocalSetup) -> None:
    setup.add_registry("native", CHAIN_ID, CHAIN_ID)
    printed = setup.run("cost", "--gas-price-gwei", "2")
    assert "Local → Local, native registry" in printed
    assert row(printed, "one balance alone") == ["170,480", "0.0003410"]
    assert row(printed, "100 of a block, each") == ["87,854", "0.0001757"]
    assert "`daily_budget`, 0.05 ETH, pays for 146 single facts, or 284 by the hundred." in (
        printed
    )
    assert "  274,000 to each node in 30 days without facts, plus\n  31 for one" in printed


@pytest.mark.parametrize(
    ("kind", "contracts", "gas", "measured_with"),
    [
        ("output", "portal", "548,319", "op-contracts v7.0.0"),
        ("arbitrum", "outbox", "421,587", "nitro-contracts behind their proxies"),
    ],
)
def test_cost_includes_the_calls_of_a_rollups_real_contracts(
    setup: LocalSetup, kind: str, contracts: str, gas: str, measured_with: str
) -> None:
    line = f'{contracts} = "0x{"65" * 20}"'
    setup.add_registry(kind, SOURCE, CHAIN_ID, "", line)
    printed = setup.run("cost", "--gas-price-gwei", "2")
    assert f"measured with recorded proofs of Ethereum and {measured_with}:" in printed
    assert row(printed, "one balance alone")[0] == gas


def test_cost_includes_contracts_that_are_not_deployed_yet(
    setup: LocalSetup, node: LocalNode
) -> None:
    setup.add_registry("native", CHAIN_ID, CHAIN_ID)
    native = NativeRegistry(CHAIN_ID, CHAIN_ID)
    deployments = deployment_calldata(native), SALT + verifier_init_code(derived_address(native))
    costs = {}
    with reverted_at_end(node):
        for subject, data in zip(
            ("the registry and its events verifier", "the events verifier"),
            deployments,
            strict=True,
        ):
            printed = setup.run("cost", "--gas-price-gwei", "2")
            (gas,) = re.findall(f"Deploying {subject}, once: (.*) gas, 0.0", printed)
            costs[subject] = int(gas.replace(",", "")), node.send(FACTORY, data).gas_used
        printed = setup.run("cost", "--gas-price-gwei", "2")
    assert "The registry and its events verifier are deployed." in printed
    (both, registry), (alone, verifier) = costs.values()
    assert both == pytest.approx(registry + verifier, rel=0.03)
    assert alone == pytest.approx(verifier, rel=0.03)


def test_the_default_gas_price_is_the_next_blocks(setup: LocalSetup, node: LocalNode) -> None:
    """It is shown even above `max_gas_price_gwei`, which limits provers."""
    setup.add_registry("native", CHAIN_ID, CHAIN_ID)
    with reverted_at_end(node):
        node.rpc.ask("anvil_setNextBlockBaseFeePerGas", hex(400 * 10**9))
        node.rpc.ask("evm_mine")
        printed = setup.run("cost")
    assert "Gas at 451 gwei, enough for the next block." in printed
    assert float(row(printed, "one balance alone")[1]) == pytest.approx(0.07689, rel=0.001)


def test_an_op_stack_chains_l1_data_fee_is_included(setup: LocalSetup, node: LocalNode) -> None:
    setup.add_registry("optimism", SOURCE, CHAIN_ID)
    with reverted_at_end(node):
        before = setup.run("cost", "--gas-price-gwei", "0.001")
        node.rpc.ask("anvil_setCode", GAS_PRICE_ORACLE, ORACLE)
        node.rpc.ask("evm_mine")
        printed = setup.run("cost", "--gas-price-gwei", "0.001")
    cost, cost_with_fee = (float(row(text, "one balance alone")[1]) for text in (before, printed))
    assert cost_with_fee - cost == pytest.approx(10**-6, rel=0.01)
    assert printed.count(", 0.000001 of it the L1 data fee") == 3
    assert "L1" not in before


def test_a_destination_without_nodes_leaves_the_other_routes(setup: LocalSetup) -> None:
    setup.add_registry("native", SOURCE, SOURCE)
    setup.add_registry("native", CHAIN_ID, CHAIN_ID)
    printed = setup.run("cost", "--gas-price-gwei", "2")
    assert "Elsewhere → Elsewhere, native registry\n  Gas at 2 gwei.\n  No node of " in printed
    assert row(printed, "one balance alone") == ["170,480", "0.0003410"]
    assert printed.endswith("FAILED: Not computed: 1 of 2 routes.")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "FAILED: ROUTES_FILE names no registry. tacitus init writes such a file."),
        (["--gas-price-gwei", "0"], "FAILED: Error: argument --gas-price-gwei: use a number of"),
        (["--gas-price-gwei", "nan"], "use a number of gwei, such as 0.5"),
    ],
)
def test_invalid_arguments_are_refused(
    setup: LocalSetup, arguments: list[str], sentence: str
) -> None:
    assert sentence in setup.run("cost", *arguments)
