"""`manage.py deploy_registry`: deploys a registry, if it is not there yet, and prints its route.

Only these lines go to stdout, so that `>> routes.toml` appends them; progress goes to stderr.
"""

import time
from argparse import ArgumentParser
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import CommandError

from queries.chain.deploy import check_chain, newest_game
from queries.chain.errors import CallReverted
from queries.chain.sender import Destination, send_and_wait
from queries.management.base import (
    OperatorCommand,
    at_least_one,
    configured_routes,
    configured_signer,
)
from queries.proving.registry_calls import HORIZON
from queries.registries import (
    FACTORY,
    Registry,
    RegistryKind,
    deployment,
    route_lines,
    time_text,
)
from queries.routes import KEYS_OF_KIND, REGISTRY_KEYS, Chain, read_registry

WAIT = 600  # seconds


class Command(OperatorCommand):
    help = (
        "Deploys a registry with the signer's key and prints the lines for ROUTES_FILE. Its "
        "address follows from its code and arguments; if it is deployed already, nothing is "
        "sent. First stop provers that use the same key."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        kinds = [kind.value for kind in RegistryKind]
        parser.add_argument("--source", type=int, required=True, help="source chain id")
        parser.add_argument("--destination", type=int, required=True, help="destination chain id")
        parser.add_argument("--kind", choices=kinds, required=True, help="how it learns hashes")
        parser.add_argument("--signers", help="of an attested one: 0x…,0x…")
        parser.add_argument("--threshold", type=int, help="how many of them must agree")
        parser.add_argument(
            "--valid-until",
            type=utc_time,
            help=f"when an attested one stops taking attestations ({time_text(HORIZON)})",
        )
        parser.add_argument(
            "--anchor-state-registry",
            metavar="0x…",
            help="of an output one: the rollup's contract that knows which games are valid",
        )
        parser.add_argument(
            "--wait",
            type=at_least_one,
            default=WAIT,
            help="seconds to wait for a receipt (%(default)s)",
        )

    def handle(self, **options: Any) -> None:
        routes = configured_routes()
        registry = read_registry("the new registry", _table(options), routes.chains)
        source, chain = routes.chains[registry.source], routes.chains[registry.destination]
        if registry.kind is RegistryKind.ATTESTED and registry.valid_until <= time.time():
            raise CommandError(
                "--valid-until is in the past: the registry would accept no attestation."
            )
        with closing(Destination(chain)) as destination:
            check_chain(destination, registry.kind)
            if registry.kind is RegistryKind.OUTPUT:
                newest_game(registry, destination)
            if destination.code(registry.address):
                said = f"It is on {chain.name} already, and nothing was sent."
            else:
                said = self._deploy(registry, source, destination, options["wait"])
        self.report(f"{said} Add these lines to ROUTES_FILE:")
        # The empty line separates it from a last line that may lack its newline.
        self.stdout.write("\n".join(["", "[[registries]]", *route_lines(registry)]))

    def _deploy(
        self, registry: Registry, source: Chain, destination: Destination, patience: float
    ) -> str:
        signer, chain = configured_signer(), destination.chain
        if not destination.code(FACTORY):
            raise CommandError(
                f"{chain.name} has no CREATE2 factory at {FACTORY}. Deploy that first, by its "
                "published transaction (Arachnid's deterministic-deployment-proxy)."
            )
        self.report(
            f"Deploying a registry of {source.name}'s facts on {chain.name}, paid for by "
            f"{signer.address} …"
        )
        data = deployment(registry)
        try:
            mined = send_and_wait(destination, signer, FACTORY, data, patience, self.report)
        except CallReverted:
            raise CommandError(
                f"Deploying this contract on {chain.name} would revert; nothing was sent."
            ) from None
        if not destination.code(registry.address):
            raise CommandError(
                f"The transaction was mined, and {chain.name} has no contract at "
                f"{registry.address}: its contract at {FACTORY} is not the CREATE2 factory."
            )
        return f"Deployed in block {mined.block}, for {mined.gas_used:,} gas."


def _table(options: Mapping[str, Any]) -> dict[str, object]:
    """What is asked for, as the routes file would have it."""
    keys = REGISTRY_KEYS.union(*KEYS_OF_KIND.values()) & options.keys()
    table = {key: options[key] for key in keys if options[key] is not None}
    if "signers" in table:
        table["signers"] = [each.strip() for each in options["signers"].split(",")]
    return table


def utc_time(text: str) -> datetime:
    """A day or a time."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
