"""Proofs of facts that come from another chain, or from several."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest
from eth_abi.abi import encode
from eth_utils.address import to_checksum_address

from queries.attestations import take
from queries.chain.solidity import load_artifact
from queries.proving.header_fields import HeaderField
from queries.proving.storage_positions import Position, address_key
from queries.proving.witnesses import AccountField
from queries.routes import Registry, RegistryKind
from tests.queries.pipeline.bundles import whole_proof
from tests.queries.pipeline.service import CHAIN_ID, ETHER, HOLDER, Service, serving
from tests.queries.pipeline.two_chains import SIGNERS, SOURCE, TwoChains, word_of
from tests.registry_reads import RegistryReads

pytestmark = pytest.mark.django_db(transaction=True)
ENTRY = {
    "header": ["TIMESTAMP"],
    "accounts": {HOLDER: {"props": ["BALANCE", "NONCE"], "slots": ["0x1"]}},
}


def test_of_an_l1_on_its_l2(chains: TwoChains) -> None:
    """The call that brought the hash shows nothing, and headers lead down from it."""
    block = chains.final_block()
    chains.final_block()
    with chains.serving_optimism() as service:
        chains.tell_the_l2(block + 3)
        batch = service.submit({str(SOURCE): {f"block:{block}": ENTRY}})
        service.work(batch)
        (proven,) = whole_proof(service, batch).blocks
    assert (proven.chain, proven.destination) == (SOURCE, CHAIN_ID)
    assert (proven.registry.kind, proven.header.hash) == ("optimism", chains.hash_of(block))
    assert len(proven.transactions) == 1


def test_on_signers_word(chains: TwoChains) -> None:
    block = chains.final_block()
    seconds = int(chains.header(block - 1)["timestamp"], 16)
    with chains.serving_attested() as service:
        for signer in SIGNERS[:2]:
            take(service.routes, word_of(service, chains, signer, block))
        selectors = {f"block:{block}": ENTRY, f"timestamp:{seconds}": ENTRY}
        batch = service.submit({str(SOURCE): selectors})
        service.work(batch)
        timed, proven = whole_proof(service, batch).blocks
    assert (proven.registry.kind, proven.header.hash) == ("attested", chains.hash_of(block))
    assert timed.timestamps == (seconds,)
    assert timed.rests_on == proven.header


@pytest.fixture
def both(chains: TwoChains) -> Iterator[Service]:
    """Two source chains with one destination, one of which is itself."""
    native = Registry(
        RegistryKind.NATIVE,
        CHAIN_ID,
        CHAIN_ID,
        to_checksum_address(chains.destination.deploy(load_artifact("NativeRegistry").bytecode)),
    )
    routes = chains.routes(chains.attested_registry())
    registries = {**routes.registries, (CHAIN_ID, CHAIN_ID): native}
    with serving(chains.destination, replace(routes, registries=registries)) as running:
        yield running


def test_of_two_source_chains(both: Service, chains: TwoChains) -> None:
    chains.destination.rpc.ask("anvil_setBalance", HOLDER, hex(3 * ETHER))
    both.mine(2)
    block, own = chains.final_block(), both.head() - 1
    for signer in SIGNERS[:2]:
        take(both.routes, word_of(both, chains, signer, block))
    batch = both.submit(
        {str(SOURCE): {f"block:{block}": ENTRY}, str(CHAIN_ID): {f"block:{own}": ENTRY}}
    )
    both.work(batch)
    bundle = whole_proof(both, batch)
    told = [(each.chain, each.registry.kind, each.header.number) for each in bundle.blocks]
    assert told == [(SOURCE, "attested", block), (CHAIN_ID, "native", own)]
    for proven, amount in zip(bundle.blocks, (55, 3), strict=True):
        registry = f"0x{proven.registry.address.hex()}"
        reads = RegistryReads(partial(chains.destination.call, registry))
        account = bytes.fromhex(HOLDER[2:])
        word = reads.account_field(account, proven.header.number, AccountField.BALANCE)
        assert word == (amount * ETHER).to_bytes(32, "big")
        assert word in [fact.word for fact in proven.facts]


def test_accounts_slots_and_fields_of_several_blocks_of_both(
    both: Service, chains: TwoChains
) -> None:
    """In one batch, each word as the chain that it is of says it."""
    held = {chains.source: 7, chains.destination: 11}
    slot = Position(3).mapping(address_key(bytes.fromhex(HOLDER[2:]))).slot
    tokens = {
        node: to_checksum_address(
            node.deploy(
                load_artifact("DemoToken").bytecode,
                encode(["address[]", "uint256[]"], [[HOLDER], [amount]]),
            )
        )
        for node, amount in held.items()
    }
    newest = chains.final_block()
    both.mine(3)
    for signer in SIGNERS[:2]:
        take(both.routes, word_of(both, chains, signer, newest))
    own = both.head()
    blocks = {chains.source: [newest - 1, newest], chains.destination: [own - 2, own - 1]}
    data = {
        str(chain): {
            f"block:{block}": {
                "header": ["TIMESTAMP"],
                "accounts": {
                    HOLDER: {"props": ["BALANCE"]},
                    tokens[node]: {"props": ["NONCE"], "slots": [hex(slot)]},
                },
            }
            for block in blocks[node]
        }
        for chain, node in ((SOURCE, chains.source), (CHAIN_ID, chains.destination))
    }
    both.work(both.submit(data))
    for chain, node in ((SOURCE, chains.source), (CHAIN_ID, chains.destination)):
        registry = both.routes.registries[chain, CHAIN_ID].address
        reads = RegistryReads(partial(chains.destination.call, registry))
        token = bytes.fromhex(tokens[node][2:])
        for block in blocks[node]:
            answer = node.rpc.ask("eth_getBlockByNumber", hex(block), False)  # noqa: FBT003
            balance = int(node.rpc.ask("eth_getBalance", HOLDER, hex(block)), 16)
            word = reads.account_field(bytes.fromhex(HOLDER[2:]), block, AccountField.BALANCE)
            assert word == balance.to_bytes(32)
            assert reads.slot_value(token, block, slot) == held[node]
            assert reads.account_field(token, block, AccountField.NONCE) == (1).to_bytes(32)
            told = reads.header_field(block, HeaderField.TIMESTAMP)
            assert told == int(answer["timestamp"], 16).to_bytes(32)
