"""Proofs of facts that come from another chain, or from several."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from eth_utils.address import to_checksum_address

from queries.attestations.records import take
from queries.config.registries import Registry, RegistryKind
from queries.contracts.abi import load_artifact
from tests.queries.prover.bundles import whole_proof
from tests.queries.prover.service import CHAIN_ID, HOLDER, Service, serving
from tests.queries.prover.two_chains import SIGNERS, SOURCE, TwoChains, word_of
from tests.rigs.local_chain import HORIZON_WORD

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
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
        to_checksum_address(
            chains.destination.deploy(load_artifact("NativeRegistry").bytecode, HORIZON_WORD)
        ),
    )
    routes = chains.routes(chains.attested_registry())
    registries = {**routes.registries, (CHAIN_ID, CHAIN_ID): native}
    with serving(chains.destination, replace(routes, registries=registries)) as running:
        yield running
