"""The router: what a registry says, behind a chain id, for consumers of either order."""

import pytest
from eth_abi.abi import decode, encode

from explorer.demo.local_node import LocalNode
from queries.contracts.abi import call_data
from queries.proving.headers import HeaderField
from queries.proving.registry_calls import HeaderStep, headers_section, prove_call
from tests.builds import contract_of_tests
from tests.queries.attacks.attestations import SOURCE_CHAIN
from tests.queries.attacks.registry_attacks import deploy_attested, deploy_router
from tests.queries.sequences.chains import ALL_FIELDS, CONTRACT, NO_SIGNER, SLOTS, TRUE
from tests.rigs.local_chain import Deployed

pytestmark = pytest.mark.no_database

CHAIN, NOT_ROUTED = 11155111, 6
BLOCK, CHILD = TRUE.blocks[2:4]
TIME = BLOCK.header.timestamp
NO, YES = bytes(32), (1).to_bytes(32, "big")


@pytest.fixture(scope="module")
def registry(shared_node: LocalNode) -> Deployed:
    """It has all kinds of facts, of one block."""
    registry = Deployed(shared_node, "SettableRegistry", encode(["bool", "bool"], [False, False]))
    registry.send(call_data("setHash(uint256,bytes32)", CHILD.number, CHILD.header.hash))
    witness = BLOCK.witness({CONTRACT: SLOTS[:2], NO_SIGNER: []}, ALL_FIELDS)
    steps = [
        HeaderStep(BLOCK.header, witness, fields=frozenset(HeaderField)),
        HeaderStep(CHILD.header, timestamps=(TIME,)),
    ]
    registry.send(prove_call([headers_section(steps)]))
    return registry


@pytest.fixture(scope="module")
def router(shared_node: LocalNode, registry: Deployed) -> Deployed:
    def deploy(name: str, arguments: bytes) -> Deployed:
        return Deployed(shared_node, name, arguments)

    attested = deploy_attested(deploy, [f"0x{1:040x}"], 1)
    return deploy_router(deploy, {CHAIN: registry.address, SOURCE_CHAIN: attested.address})


def word(value: int | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.to_bytes(32, "big")


def readings() -> list[tuple[str, str, tuple[object, ...], bytes]]:
    """Each fact by its function, the types and values behind the chain id, and what is true."""
    found: list[tuple[str, str, tuple[object, ...], bytes]] = []
    for account in (CONTRACT, NO_SIGNER):
        for field, value in enumerate(BLOCK.words(account)):
            found += both_orders("accountField", "uint8", account, field, value)
    for slot in SLOTS[:2]:
        held = BLOCK.slot_word(CONTRACT, slot)
        found += both_orders("storageSlot", "bytes32", CONTRACT, slot, held)
    for field in HeaderField:
        asked = (BLOCK.number, int(field))
        found.append(("headerField", "uint256,uint8", asked, BLOCK.header.word(field)))
    found.append(("timestamp", "uint256", (TIME,), word(BLOCK.number)))
    return found


def both_orders(
    name: str, kind: str, account: bytes, asked: object, value: bytes
) -> list[tuple[str, str, tuple[object, ...], bytes]]:
    return [
        (name, f"uint256,address,{kind}", (BLOCK.number, account, asked), value),
        (name, f"address,uint256,{kind}", (account, BLOCK.number, asked), value),
    ]


def test_each_function_reads_the_registry_of_its_chain(router: Deployed) -> None:
    for name, types, asked, value in readings():
        plain, safe = f"{name}(uint256,{types})", f"{name}Safe(uint256,{types})"
        assert router.ask(call_data(plain, CHAIN, *asked)) == value, plain
        assert router.ask(call_data(safe, CHAIN, *asked)) == YES + value, safe
        for other in (SOURCE_CHAIN, NOT_ROUTED):  # nothing is proven of either
            assert router.ask(call_data(safe, other, *asked)) == NO + NO, safe
        assert router.refusal(call_data(plain, NOT_ROUTED, *asked)) == "SourceNotRouted"
        assert not router.taken([call_data(plain, SOURCE_CHAIN, *asked)])


@pytest.mark.parametrize("order", ["BlockFirst", "AccountFirst"])
def test_a_consumer_of_either_order_reads_unchanged(
    router: Deployed, shared_node: LocalNode, order: str
) -> None:
    strategy = shared_node.deploy(contract_of_tests(f"{order}Strategy"))
    signature = "power(address,uint256,uint256,address,bytes32)"
    asked = call_data(signature, router.address, CHAIN, TIME, CONTRACT, SLOTS[1])
    _, balance, root, _ = BLOCK.words(CONTRACT)
    held = BLOCK.slot_word(CONTRACT, SLOTS[1])
    last = BLOCK.header.state_root if order == "BlockFirst" else root
    assert shared_node.call(strategy, asked) == balance + held + last


def test_it_names_its_registries(router: Deployed, registry: Deployed) -> None:
    (chains,) = decode(["uint256[]"], router.ask(call_data("chainIds()")))
    assert chains == (CHAIN, SOURCE_CHAIN)
    named = router.ask(call_data("registryOf(uint256)", CHAIN))
    assert named[12:] == bytes.fromhex(registry.address[2:])
    assert router.ask(call_data("registryOf(uint256)", NOT_ROUTED)) == NO
