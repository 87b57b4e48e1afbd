"""`measured.json` has the gas of real transactions; see also `tests/bench/test_gas.py`."""

from collections.abc import Callable

import pytest
from eth_abi.abi import encode

from explorer.demo.local_node import LocalNode
from queries.config.measured_costs import MEASUREMENTS
from queries.contracts.abi import selector
from queries.proving.registry_calls import HORIZON
from queries.sources.attested import VALID_UNTIL
from tests.queries.attacks.hash_sources import (
    OUTPUT,
    SIGNERS,
    SOURCE_CHAIN,
    Games,
    Rollup,
    attest,
    output_with_hash,
    record_output,
    signed_by,
)
from tests.queries.attacks.registry_attacks import (
    ACCUMULATE_ASSERTED,
    ASSERTED,
    SEND_ROOT,
    put_predeploy,
    set_l1_block,
)
from tests.rigs.amsterdam_node import DIFF, count_new_slots
from tests.rigs.deployed_contracts import DeployedContract

pytestmark = pytest.mark.no_database
Deploy = Callable[..., DeployedContract]


@pytest.fixture
def deploy(shared_node: LocalNode) -> Deploy:
    return lambda contract, arguments=b"": DeployedContract(shared_node, contract, arguments)


def assert_measured(name: str, registry: DeployedContract, call: bytes) -> None:
    """Compare with a tolerance, because zero bytes in addresses and signatures cost less."""
    receipt = registry.node.send(registry.address, call)
    changes = registry.node.rpc.ask("debug_traceTransaction", receipt.transaction, DIFF)
    gas, new_slots = pytest.approx(receipt.gas_used, rel=0.005), count_new_slots(changes)
    assert MEASUREMENTS["gas"][name] == {"gas": gas, "bytes": len(call), "new_slots": new_slots}


def test_gas_of_recording_an_l1_block(shared_node: LocalNode, deploy: Deploy) -> None:
    put_predeploy(shared_node)
    set_l1_block(shared_node, 20_000_000, b"\xab" * 32)
    assert_measured("recordHash", deploy("OptimismRegistry"), selector("recordHash()"))


def test_gas_of_recording_an_output(deploy: Deploy) -> None:
    """With the stand-in, and what a rollup's real contracts take more: 138,599 in all with
    op-contracts v7.0.0, measured once.
    """
    names = "recordOutput", "output-contracts"
    assert sum(MEASUREMENTS["gas"][name]["gas"] for name in names) == 138_599
    games = Games(deploy)
    registry, game = games.registry(), games.propose(OUTPUT.root)
    games.settle(game, valid=True)
    assert_measured("recordOutput", registry, record_output(game, OUTPUT))


def test_gas_of_asking_the_outbox_of_a_rollup(deploy: Deploy) -> None:
    """What the header of a confirmed block costs more than one of which the hash is recorded."""
    rollup, games = Rollup(deploy), Games(deploy)
    rollup.create(SEND_ROOT, ASSERTED.hash)
    rollup.confirm(SEND_ROOT, ASSERTED.hash)
    output = output_with_hash(ASSERTED.hash)
    game, recorded = games.propose(output.root), games.registry()
    games.settle(game, valid=True)
    recorded.send(record_output(game, output))
    asked = rollup.registry().send(ACCUMULATE_ASSERTED) - recorded.send(ACCUMULATE_ASSERTED)
    gas = pytest.approx(asked, rel=0.005)
    assert MEASUREMENTS["gas"]["outbox"] == {"gas": gas, "bytes": 0}


def test_gas_of_attesting_a_block(deploy: Deploy) -> None:
    signers = [signer.address for signer in SIGNERS[:3]]
    types = ["uint256", "uint256", "address[]", "uint256", "uint256"]
    words = [HORIZON, SOURCE_CHAIN, signers, 2, VALID_UNTIL]
    registry = deploy("AttestedRegistry", encode(types, words))
    block_hash = b"\xab" * 32
    signatures = signed_by(SIGNERS[:2], registry, 20_000_000, block_hash)
    assert_measured("attest", registry, attest(20_000_000, block_hash, signatures))
