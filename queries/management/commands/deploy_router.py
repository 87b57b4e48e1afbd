"""`manage.py deploy_router`: deploys the router over the registries of a destination chain."""

from argparse import ArgumentParser
from contextlib import closing
from typing import Any

from django.core.management.base import CommandError

from queries.chain.client import ChainClient
from queries.config.registries import SALT, create2_address, router_code
from queries.management.base import configured_routes
from queries.management.commands.deploy_registry import Command as DeployRegistry
from queries.management.commands.deploy_registry import add_transaction_arguments


class Command(DeployRegistry):
    help = (
        "Deploys the router over all registries that ROUTES_FILE has on a destination chain, and "
        "prints its address. First stop provers that use the same key."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--destination", type=int, required=True, help="destination chain id")
        add_transaction_arguments(parser)

    def handle(self, **options: Any) -> None:
        routes, chain_id = configured_routes(), options["destination"]
        registries = [
            registry for registry in routes.registries.values() if registry.destination == chain_id
        ]
        if not registries:
            raise CommandError(f"ROUTES_FILE has no registry on chain {chain_id}.")
        code = router_code(registries)
        address = create2_address(code)
        with closing(ChainClient(routes.chains[chain_id])) as destination:
            for registry in registries:
                if not destination.code(registry.address):
                    name = f"The registry of chain {registry.source}"
                    raise CommandError(f"{name} is not deployed. Run manage.py deploy_registry.")
            sentence = self.deploy("router", address, SALT + code, destination, options)
        self.report(sentence)
        self.stdout.write(address)
