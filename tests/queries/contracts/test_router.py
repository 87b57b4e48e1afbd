"""The router reads the registry of a chain, with either order of arguments."""

import pytest
from eth_abi.abi import decode, encode

from explorer.demo.local_node import LocalNode
from queries.contracts.abi import call_data
from queries.proving.headers import HeaderField
from queries.proving.registry_calls import HeaderStep, headers_section, prove_call
from tests.builds import contract_for_tests
from tests.queries.attacks.attestations import SOURCE_CHAIN
from tests.queries.attacks.registry_attacks import deploy_attested, deploy_router
from tests.queries.sequences.chains import ALL_FIELDS, CONTRACT, NO_SIGNER, SLOTS, TRUE
from tests.rigs.deployed_contracts import DeployedContract

pytestmark = pytest.mark.no_database

CHAIN, NOT_ROUTED = 11155111, 6
BLOCK, CHILD = TRUE.blocks[2:4]
TIME = BLOCK.header.timestamp
NO, YES = bytes(32), (1).to_bytes(32, "big")


@pytest.fixture(scope="module")
def registry(shared_node: LocalNode) -> DeployedContract:
    """A registry with every kind of fact of one block."""
    registry = DeployedContract(
        shared_node, "SettableRegistry", encode(["bool", "bool"], [False, False])
    )
    registry.send(call_data("setHash(uint256,bytes32)", CHILD.number, CHILD.header.hash))
    witness = BLOCK.witness({CONTRACT: SLOTS[:2], NO_SIGNER: []}, ALL_FIELDS)
    steps = [
        HeaderStep(BLOCK.header, witness, fields=frozenset(HeaderField)),
        HeaderStep(CHILD.header, timestamps=(TIME,)),
    ]
    registry.send(prove_call([headers_section(steps)]))
    return registry


@pytest.fixture(scope="module")
def router(shared_node: LocalNode, registry: DeployedContract) -> DeployedContract:
    def deploy(name: str, arguments: bytes) -> DeployedContract:
        return DeployedContract(shared_node, name, arguments)

    attested = deploy_attested(deploy, [f"0x{1:040x}"], 1)
    return deploy_router(deploy, {CHAIN: registry.address, SOURCE_CHAIN: attested.address})


def word(value: int | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.to_bytes(32, "big")


def readings() -> list[tuple[str, str, tuple[object, ...], bytes]]:
    """Function, types and values after the chain id, and the true word, for every fact."""
    rows: list[tuple[str, str, tuple[object, ...], bytes]] = []
    for account in (CONTRACT, NO_SIGNER):
        for field, value in enumerate(BLOCK.words(account)):
            rows += both_orders("accountField", "uint8", account, field, value)
    for slot in SLOTS[:2]:
        value = BLOCK.slot_word(CONTRACT, slot)
        rows += both_orders("storageSlot", "bytes32", CONTRACT, slot, value)
    for field in HeaderField:
        arguments = (BLOCK.number, int(field))
        rows.append(("headerField", "uint256,uint8", arguments, BLOCK.header.word(field)))
    rows.append(("timestamp", "uint256", (TIME,), word(BLOCK.number)))
    return rows


def both_orders(
    name: str, kind: str, account: bytes, key: object, value: bytes
) -> list[tuple[str, str, tuple[object, ...], bytes]]:
    return [
        (name, f"uint256,address,{kind}", (BLOCK.number, account, key), value),
        (name, f"address,uint256,{kind}", (account, BLOCK.number, key), value),
    ]


def test_every_function_reads_the_chains_registry(router: DeployedContract) -> None:
    for name, types, arguments, value in readings():
        plain, safe = f"{name}(uint256,{types})", f"{name}Safe(uint256,{types})"
        assert router.ask(call_data(plain, CHAIN, *arguments)) == value, plain
        assert router.ask(call_data(safe, CHAIN, *arguments)) == YES + value, safe
        for other in (SOURCE_CHAIN, NOT_ROUTED):  # nothing is proven of either
            assert router.ask(call_data(safe, other, *arguments)) == NO + NO, safe
        assert router.refusal(call_data(plain, NOT_ROUTED, *arguments)) == "SourceNotRouted"
        assert not router.taken([call_data(plain, SOURCE_CHAIN, *arguments)])


@pytest.mark.parametrize("order", ["BlockFirst", "AccountFirst"])
def test_a_consumer_of_either_order_reads_unchanged(
    router: DeployedContract, shared_node: LocalNode, order: str
) -> None:
    strategy = shared_node.deploy(contract_for_tests(f"{order}Strategy"))
    signature = "power(address,uint256,uint256,address,bytes32)"
    call = call_data(signature, router.address, CHAIN, TIME, CONTRACT, SLOTS[1])
    _, balance, root, _ = BLOCK.words(CONTRACT)
    slot = BLOCK.slot_word(CONTRACT, SLOTS[1])
    last = BLOCK.header.state_root if order == "BlockFirst" else root
    assert shared_node.call(strategy, call) == balance + slot + last


def test_the_router_lists_its_registries(
    router: DeployedContract, registry: DeployedContract
) -> None:
    (chains,) = decode(["uint256[]"], router.ask(call_data("chainIds()")))
    assert chains == (CHAIN, SOURCE_CHAIN)
    address = router.ask(call_data("registryOf(uint256)", CHAIN))
    assert address[12:] == bytes.fromhex(registry.address[2:])
    assert router.ask(call_data("registryOf(uint256)", NOT_ROUTED)) == NO
