"""`manage.py deploy_router`: deploys a router over the registries of a destination chain."""

from argparse import ArgumentParser
from contextlib import closing
from typing import Any

from django.core.management.base import CommandError

from queries.chain.client import ChainClient
from queries.config.registries import (
    SALT,
    create2_address,
    events_router_init_code,
    router_init_code,
    verifier_address,
)
from queries.management.base import configured_routes
from queries.management.commands.deploy_registry import Command as DeployRegistry
from queries.management.commands.deploy_registry import add_transaction_arguments

MAX_CHAIN_ID = 2**32 - 1  # ICrossL2ProverV2 has no longer ones


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
        events = options["events"]
        registries = [
            registry
            for registry in routes.registries.values()
            if registry.destination == chain_id and not (events and registry.source > MAX_CHAIN_ID)
        ]
        if not registries:
            raise CommandError(f"ROUTES_FILE has no registry on chain {chain_id}.")
        init_code = events_router_init_code(registries) if events else router_init_code(registries)
        title, subject = ("events router", "events verifier") if events else ("router", "registry")
        address = create2_address(init_code)
        with closing(ChainClient(routes.chains[chain_id])) as destination:
            for registry in registries:
                target = verifier_address(registry.address) if events else registry.address
                if not destination.code(target):
                    name = f"The {subject} of chain {registry.source}"
                    raise CommandError(f"{name} is not deployed. Run manage.py deploy_registry.")
            sentence = self.deploy(title, address, SALT + init_code, destination, options)
        self.report(sentence)
        self.stdout.write(address)
