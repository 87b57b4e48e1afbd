"""A route that gets a new registry."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from eth_utils.address import to_checksum_address

from queries.contracts.abi import load_artifact
from queries.models import Fact, SentTransaction
from queries.sources.routes import Routes
from tests.queries.prover.service import CHAIN_ID, HOLDER, Service, serving
from tests.rigs.deployed_contracts import HORIZON_WORD

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]


@contextmanager
def _with_new_registry(service: Service) -> Iterator[Service]:
    address = to_checksum_address(
        service.node.deploy(load_artifact("NativeRegistry").bytecode, HORIZON_WORD)
    )
    registry = replace(service.registry, address=address)
    routes = Routes(service.routes.chains, {(CHAIN_ID, CHAIN_ID): registry})
    with serving(service.node, routes) as moved:
        yield moved


def test_facts_of_the_old_registry_are_proven_to_the_new_one(service: Service) -> None:
    block = service.head() - 2
    service.work(service.ask_balance(HOLDER, block))
    with _with_new_registry(service) as moved:
        batch = moved.ask_balance(HOLDER, block)
        moved.work(batch)
        assert moved.status(batch)["queryStatus"] == "DONE"
        assert moved.reads.account_field(bytes.fromhex(HOLDER[2:]), block, 1) is not None
    _, new_transaction = SentTransaction.objects.order_by("nonce")
    assert Fact.objects.get().transaction == new_transaction
