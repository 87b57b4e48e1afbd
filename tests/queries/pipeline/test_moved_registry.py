"""A route whose registry is another one by now: what the old one holds was never proven there."""

from dataclasses import replace

import pytest
from eth_utils.address import to_checksum_address

from queries.chain.artifacts import load_artifact
from queries.models import SentTransaction
from queries.routes import Routes
from tests.queries.pipeline.service import CHAIN_ID, HOLDER, Service, serving

pytestmark = pytest.mark.django_db(transaction=True)


def test_facts_are_proven_to_the_new_one_as_well(service: Service) -> None:
    """Although they were paid for, and the one node there is says that they are missing."""
    block = service.head() - 2
    service.work(service.ask_balance(HOLDER, block))
    address = to_checksum_address(service.node.deploy(load_artifact("NativeRegistry").bytecode))
    moved = replace(service.registry, address=address)
    with serving(service.node, Routes(service.routes.chains, {(CHAIN_ID, CHAIN_ID): moved})) as it:
        batch = it.ask_balance(HOLDER, block)
        it.work(batch)
        assert it.status(batch)["queryStatus"] == "DONE"
        assert it.reads.account_field(bytes.fromhex(HOLDER[2:]), block, 1) is not None
    assert SentTransaction.objects.count() == 2
