"""`cost` says what a route costs before anything is deployed, and sends nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings

from explorer.demo.local_node import LocalNode, local_node
from queries.chain.sender import GAS_PRICE_ORACLE
from tests.queries.management.local_setup import CHAIN_ID, LocalSetup
from tests.rigs.local_chain import undone

pytestmark = pytest.mark.no_database

SOURCE = 5
# A GasPriceOracle that charges 10^12 wei for any transaction: PUSH5, MSTORE, return of a word.
ORACLE = f"0x64{10**12:010x}60005260206000f3"


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node() as one:
        one.rpc.ask("anvil_mine", hex(3))
        yield one


@pytest.fixture
def setup(settings: LazySettings, tmp_path: Path, node: LocalNode) -> LocalSetup:
    one = LocalSetup(settings, tmp_path)
    one.sign_with("")
    one.add_chain(CHAIN_ID, "Local", [node.url], "most_a_day = 0.05")
    one.add_chain(SOURCE, "Elsewhere", ["http://127.0.0.1:1"])
    return one


def add(setup: LocalSetup, kind: str, source: int) -> None:
    ends = f"source = {source}", f"destination = {CHAIN_ID}"
    setup.add("[[registries]]", f'kind = "{kind}"', *ends)


def row(printed: str, name: str) -> list[str]:
    (line,) = (each for each in printed.splitlines() if each.strip().startswith(name))
    return line.split()[-4:]


def test_facts_alone_and_together_at_a_given_price(setup: LocalSetup) -> None:
    add(setup, "native", CHAIN_ID)
    printed = setup.run("cost", "--gas-price-gwei", "2", "--facts-a-day", "1000")
    assert "Local → Local, native registry" in printed
    assert "Deploying the registry, once: 4,0" in printed
    assert row(printed, "one balance alone") == ["170,480", "0.0003410", "0.3410", "10.23"]
    assert row(printed, "100 of a block, each") == ["87,854", "0.0001757", "0.1757", "5.271"]
    assert "`most_a_day`, 0.05 ETH, pays for 146 facts alone, or 284 a hundred at a time." in (
        printed
    )
    assert "  265,000 to each node in 30 days without facts, plus\n  123 for one" in printed


def test_the_next_block_s_price_is_taken(setup: LocalSetup, node: LocalNode) -> None:
    """However dear: the most that the operator pays is for provers."""
    add(setup, "native", CHAIN_ID)
    with undone(node):
        node.rpc.ask("anvil_setNextBlockBaseFeePerGas", hex(400 * 10**9))
        node.rpc.ask("evm_mine")
        printed = setup.run("cost")
    assert "Gas at 451 gwei, enough for the next block." in printed
    assert float(row(printed, "one balance alone")[1]) == pytest.approx(0.07689, rel=0.001)


def test_an_op_stack_chain_charges_for_its_l1(setup: LocalSetup, node: LocalNode) -> None:
    add(setup, "optimism", SOURCE)
    with undone(node):
        before = setup.run("cost", "--gas-price-gwei", "0.001")
        node.rpc.ask("anvil_setCode", GAS_PRICE_ORACLE, ORACLE)
        node.rpc.ask("evm_mine")
        printed = setup.run("cost", "--gas-price-gwei", "0.001")
    alone, with_data = (float(row(each, "one balance alone")[1]) for each in (before, printed))
    assert with_data - alone == pytest.approx(10**-6, rel=0.01)
    for_its_l1 = [line.split()[5:] for line in printed.splitlines() if "of it L1 data fee" in line]
    assert for_its_l1 == 3 * [["0.000001", "0.0001", "0.003"]]
    assert "L1" not in before


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "FAILED: ROUTES_FILE names no registry. manage.py init writes such a file."),
        (["--gas-price-gwei", "0"], "FAILED: Error: argument --gas-price-gwei: take a number of"),
        (["--gas-price-gwei", "nan"], "take a number of gwei, such as 0.5"),
        (["--facts-a-day", "0"], "argument --facts-a-day: "),
    ],
)
def test_what_cannot_be_shown(setup: LocalSetup, arguments: list[str], sentence: str) -> None:
    assert sentence in setup.run("cost", *arguments)
