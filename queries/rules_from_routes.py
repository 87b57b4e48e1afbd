"""What requests are held against, from what the operator configured."""

from queries.routes import Routes
from queries.schema.batch_rules import BatchLimits, BatchRules


def rules_from(routes: Routes, limits: BatchLimits) -> BatchRules:
    """A request may name every chain of the routes, and ask for what has a registry."""
    names = {
        name: chain.id
        for chain in routes.chains.values()
        for name in (str(chain.id), *chain.aliases)
    }
    ens_chains = {chain.id for chain in routes.chains.values() if chain.ens_registry}
    called = {chain.id: chain.name for chain in routes.chains.values()}
    return BatchRules(limits, names, routes.registries.keys(), ens_chains, called)
