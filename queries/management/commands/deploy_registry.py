"""`manage.py deploy_registry`: deploys registries that are not there yet, and prints their routes.

Only lines that ROUTES_FILE lacks go to stdout, so that `>> routes.toml` appends them; progress and
costs go to stderr.
"""

import sys
import time
from argparse import ArgumentParser
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import CommandError

from queries.amounts import gwei, short_amount
from queries.chain.errors import CallReverted, ChainError
from queries.chain.registry_checks import Unfit, check_chain, newest_game
from queries.chain.sender import Destination, TransactionFailed, send_and_wait
from queries.chain.signer import Signer
from queries.config.registries import (
    FACTORY,
    VALID_UNTIL,
    Registry,
    RegistryKind,
    address_of,
    deployment,
    proves_its_code,
    route_lines,
    time_text,
)
from queries.config.routes import KEYS_OF_KIND, REGISTRY_KEYS, Chain, Routes, read_registry
from queries.management.base import OperatorCommand, add_wait, configured_routes, configured_signer
from queries.management.deployment_cost import deployment_need
from queries.management.setup_check import with_advice
from queries.proving.registry_calls import HORIZON

DELEGATION = bytes.fromhex("ef0100")  # of an EOA to a contract's code (EIP-7702); its key signs
NEEDED = ("source", "destination", "kind")


class Command(OperatorCommand):
    help = (
        "Deploys the registries of ROUTES_FILE that are not there yet, with the signer's key. With "
        "--source, --destination and --kind it deploys a new one and prints its lines for "
        "ROUTES_FILE. The address follows from code and arguments; if it is deployed already, "
        "nothing is sent. First stop provers that use the same key."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        kinds = [kind.value for kind in RegistryKind]
        parser.add_argument("--source", type=int, help="of a new one: source chain id")
        parser.add_argument("--destination", type=int, help="destination chain id")
        parser.add_argument("--kind", choices=kinds, help="how it learns hashes")
        parser.add_argument("--signers", help="of an attested one: 0x…,0x…")
        parser.add_argument("--threshold", type=int, help="how many of them must agree")
        parser.add_argument(
            "--horizon", type=utc_time, help=f"when it stops taking headers ({time_text(HORIZON)})"
        )
        parser.add_argument(
            "--valid-until",
            type=utc_time,
            help=f"when an attested one stops taking attestations ({time_text(VALID_UNTIL)})",
        )
        parser.add_argument(
            "--anchor-state-registry",
            metavar="0x…",
            help="of an output one: the rollup's contract that knows which games are valid",
        )
        add_sending(parser)

    def handle(self, **options: Any) -> None:
        routes = configured_routes()
        if table := _table(options):
            registry = self._new(table, routes)
            said = self._have(registry, routes, options)
            if registry in routes.registries.values():
                self.report(said)
            else:
                self.report(f"{said} Add these lines to ROUTES_FILE:")
                # The empty line separates it from a last line that may lack its newline.
                self.stdout.write("\n".join(["", "[[registries]]", *route_lines(registry)]))
            return
        if not routes.registries:
            raise CommandError(
                "ROUTES_FILE names no registry. Name a new one: --source ID --destination ID "
                "--kind KIND."
            )
        registries = routes.registries.values()
        failed = sum(not self._try(each, routes, options) for each in registries)
        if failed:
            raise CommandError(f"Not deployed: {failed} of {len(registries)}.")

    def _new(self, table: Mapping[str, object], routes: Routes) -> Registry:
        if lacking := [f"--{key}" for key in NEEDED if key not in table]:
            raise CommandError(f"Name a new registry's {', '.join(lacking)} as well.")
        return read_registry("the new registry", table, routes.chains)

    def _try(self, registry: Registry, routes: Routes, options: Mapping[str, Any]) -> bool:
        """Whether it is there now; what is wrong with one must not hold up the others."""
        try:
            said = self._have(registry, routes, options)
        except (ChainError, CommandError, TransactionFailed, Unfit) as fault:
            said = with_advice(fault)
        else:
            self.report(said)
            return True
        source, chain = routes.chains[registry.source], routes.chains[registry.destination]
        self.report(f"The registry of {source.name}'s facts on {chain.name}: {said}")
        return False

    def _have(self, registry: Registry, routes: Routes, options: Mapping[str, Any]) -> str:
        source, chain = routes.chains[registry.source], routes.chains[registry.destination]
        if not proves_its_code(registry):
            raise Unfit(
                f"its address in this version is {address_of(registry)}, but ROUTES_FILE names "
                f"{registry.address}."
            )
        with closing(Destination(chain)) as destination:
            return self._have_on(registry, source, destination, options)

    def _have_on(
        self,
        registry: Registry,
        source: Chain,
        destination: Destination,
        options: Mapping[str, Any],
    ) -> str:
        if registry.kind is RegistryKind.ATTESTED and registry.valid_until <= time.time():
            raise CommandError(
                "--valid-until is in the past: the registry would accept no attestation."
            )
        check_chain(destination, registry.kind)
        if registry.kind is RegistryKind.OUTPUT:
            newest_game(registry, destination)
        for signer in registry.signers:
            code = destination.code(signer)
            if code and not code.startswith(DELEGATION):
                raise CommandError(
                    f"The signer {signer} is a contract on {destination.chain.name}: it has no "
                    "key, and could never sign. Name the address of a key."
                )
        what = f"registry of {source.name}'s facts"
        return self.place(what, registry.address, deployment(registry), destination, options)

    def place(
        self,
        what: str,
        address: str,
        data: bytes,
        destination: Destination,
        options: Mapping[str, Any],
    ) -> str:
        """Send this calldata to the factory, unless the contract is at its address already."""
        chain = destination.chain
        if destination.code(address):
            return f"The {what} is on {chain.name} already, and nothing was sent."
        if not destination.code(FACTORY):
            raise CommandError(
                f"{chain.name} has no CREATE2 factory at {FACTORY}. Deploy that first, by its "
                "published transaction (Arachnid's deterministic-deployment-proxy)."
            )
        signer = configured_signer()
        self.report(f"Deploying a {what} on {chain.name}, paid for by {signer.address} …")
        try:
            self._show_cost(data, destination, signer)
            if not options["yes"] and sys.stdin.isatty():
                self.confirm("Deploy it?", "Nothing was sent.")
            return self._deploy(address, data, destination, signer, options["wait"])
        except CallReverted:
            raise CommandError(
                f"Deploying this contract on {chain.name} would revert; nothing was sent."
            ) from None

    def _show_cost(self, data: bytes, destination: Destination, signer: Signer) -> None:
        need, fees = deployment_need(destination, signer.address, data), destination.fees()
        currency = destination.chain.currency
        now = short_amount(need.gas * fees.enough + need.data_fee, currency)
        most = replace(need, gas=destination.gas_limit(need.gas)).most(fees)
        self.report(
            f"It takes {need.gas:,} gas: {now} at {gwei(fees.enough)}, and at most "
            f"{short_amount(most, currency)}. The signer has "
            f"{short_amount(destination.balance(signer.address), currency)}."
        )

    def _deploy(
        self, address: str, data: bytes, destination: Destination, signer: Signer, patience: float
    ) -> str:
        chain = destination.chain
        mined = send_and_wait(destination, signer, FACTORY, data, patience, self.report)
        if not destination.code(address):
            raise CommandError(
                f"The transaction was mined, but {chain.name} has no contract at "
                f"{address}: its contract at {FACTORY} is not the CREATE2 factory."
            )
        cost = short_amount(mined.cost, chain.currency)
        return f"Deployed in block {mined.block:,}, for {mined.gas_used:,} gas, {cost}."


def add_sending(parser: ArgumentParser) -> None:
    """The options of a command that sends a transaction."""
    add_wait(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask before paying")


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
