"""Reading facts, accumulated blocks and block hashes from a registry."""

from collections.abc import Iterator

import pytest

from explorer.demo.local_node import LocalNode, local_node
from queries.chain.destination import Destination
from queries.chain.errors import RegistryAbsentError
from queries.chain.registry import FactRead, RegistryFacts
from queries.config.registries import Registry, RegistryKind
from queries.proving.bundles import FactKind
from queries.proving.headers import HeaderField
from queries.proving.registry_calls import HeaderStep, headers_section, prove_call
from tests.queries.attacks.attestations import SOURCE_CHAIN
from tests.queries.attacks.registry_attacks import RECORD, put_predeploy, set_l1_block
from tests.queries.contracts.live_chain import LiveChain
from tests.rigs.deployed_contracts import DeployedContract, reverted_at_end
from tests.rigs.relay import chain_with_nodes

pytestmark = pytest.mark.no_database

PAID, NO_SIGNER = b"\x51" * 20, b"\x77" * 20
PROVEN_AT = 5
HASH, OTHER_HASH = b"\x0a" * 32, b"\x0b" * 32


def reads(node: LocalNode, address: str, kind: RegistryKind, url: str = "") -> RegistryFacts:
    registry = Registry(kind, SOURCE_CHAIN, 31_337, address)
    return RegistryFacts(Destination(chain_with_nodes(url or node.url)), registry)


@pytest.fixture(scope="module")
def live() -> Iterator[LiveChain]:
    with local_node("--slots-in-an-epoch", "1") as node:
        chain = LiveChain(node)
        chain.set_balance(PAID, 77)
        node.rpc.ask("anvil_mine", hex(9), hex(12))
        yield chain


@pytest.fixture(scope="module")
def native(live: LiveChain) -> DeployedContract:
    """A registry with a proven block: two accounts, a slot, a header field and a time."""
    registry = DeployedContract(live.node, "NativeRegistry")
    header = live.header(PROVEN_AT)
    step = HeaderStep(
        header,
        live.witness(PROVEN_AT, {PAID: (), NO_SIGNER: (7,)}),
        accumulate=True,
        fields=frozenset({HeaderField.GAS_LIMIT}),
    )
    child = HeaderStep(live.header(PROVEN_AT + 1), timestamps=(header.timestamp,))
    registry.send(prove_call([headers_section([step, child])]))
    return registry


def test_an_address_without_a_registry_is_an_error(live: LiveChain) -> None:
    reader = reads(live.node, "0x" + "66" * 20, RegistryKind.ATTESTED)
    for ask in (
        lambda: reader.words([FactRead(FactKind.BLOCK_AT_TIME, 1)]),
        lambda: reader.leaves([1]),
        lambda: reader.anchor_blocks([1, 6]),
    ):
        with pytest.raises(RegistryAbsentError, match=r"0x6666.* on Local there is no registry"):
            ask()
    with pytest.raises(RegistryAbsentError, match=r"0x42.* on Local there is no L1Block contract"):
        reader.latest_l1_block()


@pytest.fixture
def optimism(live: LiveChain) -> Iterator[DeployedContract]:
    with reverted_at_end(live.node):
        put_predeploy(live.node)
        yield DeployedContract(live.node, "OptimismRegistry")


# Blocks from which proofs can start


def test_anchor_blocks_finds_accumulated_blocks(live: LiveChain, native: DeployedContract) -> None:
    reader = reads(live.node, native.address, RegistryKind.NATIVE)
    assert reader.anchor_blocks(range(1, PROVEN_AT + 250)) == {PROVEN_AT: True}
    assert reader.anchor_blocks([]) == {}


def test_anchor_blocks_finds_recorded_blocks(live: LiveChain, optimism: DeployedContract) -> None:
    reader = reads(live.node, optimism.address, RegistryKind.OPTIMISM)
    for number, block_hash in ((1100, OTHER_HASH), (900, HASH)):
        set_l1_block(live.node, number, block_hash)
        optimism.send(RECORD)
    assert reader.anchor_blocks(range(890, 1_110)) == {900: False, 1100: False}
