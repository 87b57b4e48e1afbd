"""`tacitus deploy_router`: deploys a router over the registries of a destination chain."""

from argparse import ArgumentParser
from contextlib import closing
from typing import Any

from django.core.management.base import CommandError

from queries.chain import ChainClient
from queries.compat.routers import events_router, facts_router
from queries.contracts.create2 import SALT, create2_address
from queries.management.base import configured_routes
from queries.management.commands.deploy_registry import Command as DeployRegistry
from queries.management.commands.deploy_registry import add_transaction_arguments


class Command(DeployRegistry):
    help = (
        "Deploys the router over all registries that ROUTES_FILE has on a destination chain, or "
        "with --events over their events verifiers, and prints its address. First stop provers "
        "that use the same key."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--destination", type=int, required=True, help="destination chain id")
        parser.add_argument(
            "--events", action="store_true", help="for contracts written for ICrossL2ProverV2"
        )
        add_transaction_arguments(parser)

    def handle(self, **options: Any) -> None:
        routes, chain_id = configured_routes(), options["destination"]
        make_router = events_router if options["events"] else facts_router
        router = make_router(
            registry for registry in routes.registries.values() if registry.destination == chain_id
        )
        if not router.addresses:
            raise CommandError(f"ROUTES_FILE has no registry on chain {chain_id}.")
        address = create2_address(router.init_code)
        with closing(ChainClient(routes.chains[chain_id])) as destination:
            for source, target in router.addresses.items():
                if not destination.code(target):
                    name = f"The {router.target} of chain {source}"
                    raise CommandError(f"{name} is not deployed. Run tacitus deploy_registry.")
            data = SALT + router.init_code
            sentence = self.deploy(router.title, address, data, destination, options)
        self.report(sentence)
        self.stdout.write(address)
