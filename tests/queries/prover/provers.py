"""Services whose prover knows the chain by other addresses."""

from dataclasses import replace

from queries.config.routes import NodeAddress
from tests.queries.prover.service import CHAIN_ID, Service


def through(service: Service, *addresses: str) -> Service:
    """The same service, whose prover knows the chain by these addresses alone."""
    nodes = tuple(NodeAddress(address) for address in addresses)
    chain = replace(service.routes.chains[CHAIN_ID], nodes=nodes)
    return replace(service, routes=replace(service.routes, chains={CHAIN_ID: chain}))
