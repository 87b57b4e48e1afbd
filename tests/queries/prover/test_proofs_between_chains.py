"""Proof files of facts of another chain."""

import pytest

from queries.attestations.records import store_attestation
from tests.queries.prover.bundles import checked_proof
from tests.queries.prover.service import CHAIN_ID, HOLDER
from tests.queries.prover.two_chains import SIGNERS, SOURCE, TwoChains, sign_attestation

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
ENTRY = {
    "header": ["TIMESTAMP"],
    "accounts": {HOLDER: {"props": ["BALANCE", "NONCE"], "slots": ["0x1"]}},
}


def test_a_proof_file_of_an_optimism_route_has_the_headers_and_no_preparation(
    chains: TwoChains,
) -> None:
    block = chains.final_block()
    chains.final_block()
    with chains.serving_optimism() as service:
        chains.set_l1_block(block + 3)
        batch = service.submit({str(SOURCE): {f"block:{block}": ENTRY}})
        service.work(batch)
        (proven,) = checked_proof(service, batch).blocks
    assert (proven.chain, proven.destination) == (SOURCE, CHAIN_ID)
    assert (proven.registry.kind, proven.header.hash) == ("optimism", chains.hash_of(block))
    assert len(proven.transactions) == 1


def test_a_proof_file_of_an_attested_route_has_the_header_after_a_time(chains: TwoChains) -> None:
    block = chains.final_block()
    seconds = int(chains.header(block - 1)["timestamp"], 16)
    with chains.serving_attested() as service:
        for signer in SIGNERS[:2]:
            store_attestation(service.routes, sign_attestation(service, chains, signer, block))
        selectors = {f"block:{block}": ENTRY, f"timestamp:{seconds}": ENTRY}
        batch = service.submit({str(SOURCE): selectors})
        service.work(batch)
        timed, proven = checked_proof(service, batch).blocks
    assert (proven.registry.kind, proven.header.hash) == ("attested", chains.hash_of(block))
    assert timed.timestamps == (seconds,)
    assert timed.trusted_header == proven.header
