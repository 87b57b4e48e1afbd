"""`tacitus deploy_registry`: deploys missing registries with their events verifiers, and the
destination's courier, and prints a new one's route.

Only lines that ROUTES_FILE lacks go to stdout, so that `>> routes.toml` appends them.
"""

from argparse import ArgumentParser
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import CommandError
from django.db import DatabaseError

from queries.amounts import gwei, short_amount
from queries.chain import BeaconError, CallRevertedError, ChainClient, ChainError, Signer
from queries.config.chains import Chain
from queries.contracts.create2 import (
    FACTORY,
    SALT,
    courier_address,
    courier_init_code,
    verifier_address,
    verifier_init_code,
)
from queries.management.base import (
    OperatorCommand,
    add_wait_argument,
    configured_routes,
    configured_signer,
)
from queries.management.light_client_check import add_beacon_advice, check_configuration
from queries.management.sending import TransactionFailedError, send_and_wait
from queries.management.setup_check import add_advice
from queries.management.update_cost import describe_keeping
from queries.planning.dry_runs import GasEstimate
from queries.proving import HORIZON
from queries.sources import (
    KINDS,
    VALID_UNTIL,
    BeaconRegistry,
    Registry,
    Routes,
    SetupError,
    deployment_calldata,
    derived_address,
    format_time,
    has_derived_address,
    lookup_address,
    lookup_init_code,
    read_registry,
    route_lines,
)
from queries.transactions.lane import stopped_lanes

REQUIRED_OPTIONS = ("source", "destination", "kind")


class Command(OperatorCommand):
    help = (
        "Deploys the missing registries of ROUTES_FILE, beside each its events verifier and, if it "
        "has lookup_urls, its lookup, and each destination's courier. With --source, --destination "
        "and --kind it deploys a new registry and prints its lines. First stop provers that use "
        "the same key."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--source", type=int, help="a new registry's source chain id")
        parser.add_argument("--destination", type=int, help="destination chain id")
        parser.add_argument("--kind", choices=list(KINDS), help="how it learns block hashes")
        parser.add_argument("--signers", help="0x…,0x… (attested)")
        parser.add_argument("--threshold", type=int, help="how many signers must agree (attested)")
        parser.add_argument(
            "--horizon",
            type=utc_time,
            help=f"when it stops taking headers ({format_time(HORIZON)}); where logs carry value, "
            "at most five years ahead",
        )
        parser.add_argument(
            "--valid-until",
            type=utc_time,
            help=f"when it stops taking attestations (attested; {format_time(VALID_UNTIL)})",
        )
        parser.add_argument("--portal", metavar="0x…", help="the source's OptimismPortal (output)")
        parser.add_argument(
            "--outbox", metavar="0x…", help="the outbox of an Arbitrum source (arbitrum)"
        )
        parser.add_argument(
            "--checkpoint",
            metavar="0x…",
            help="the root of a finalized beacon block of the last seven days (beacon)",
        )
        parser.add_argument(
            "--beyond-fork",
            action="store_true",
            help="deploy a registry that stops at a known fork before its horizon (beacon)",
        )
        parser.add_argument(
            "--lookup-urls",
            metavar="https://…/ccip/{sender}/{data}",
            help="gateways of a lookup beside it, separated by commas (ERC-3668)",
        )
        add_transaction_arguments(parser)

    def handle(self, **options: Any) -> None:
        routes = configured_routes()
        if table := _registry_table(options):
            if missing_options := [f"--{key}" for key in REQUIRED_OPTIONS if key not in table]:
                raise CommandError(f"Name a new registry's {', '.join(missing_options)} as well.")
            registry = read_registry("the new registry", table, routes.chains)
            self._deploy_registry(registry, routes, options)
            if registry not in routes.registries.values():
                self.report("Add these lines to ROUTES_FILE:")
                # The empty line ends a last line of the file that has no newline.
                self.stdout.write("\n".join(["", "[[registries]]", *route_lines(registry)]))
            return
        if not routes.registries:
            arguments = " ".join(f"--{key} {key.upper()}" for key in REQUIRED_OPTIONS)
            raise CommandError(f"ROUTES_FILE names no registry. Name a new one: {arguments}.")
        registries = routes.registries.values()
        results = [self._try_to_deploy(registry, routes, options) for registry in registries]
        if not all(results):
            raise CommandError(f"Not deployed: {results.count(False)} of {len(results)}.")

    def _try_to_deploy(
        self, registry: Registry, routes: Routes, options: Mapping[str, Any]
    ) -> bool:
        """Deploy the registry and its companions. If that fails, report it and return False."""
        try:
            self._deploy_registry(registry, routes, options)
        except (ChainError, CommandError, TransactionFailedError, SetupError) as error:
            source, chain = routes.chains[registry.source], routes.chains[registry.destination]
            subject = f"The {registry.kind} registry of {source.name}'s facts on {chain.name}"
            self.report(f"{subject}: {add_advice(error)}")
            return False
        return True

    def _deploy_registry(
        self, registry: Registry, routes: Routes, options: Mapping[str, Any]
    ) -> None:
        """Deploy the registry, its events verifier and lookup, which need it, and the courier."""
        source, chain = routes.chains[registry.source], routes.chains[registry.destination]
        if not has_derived_address(registry):
            raise SetupError(
                f"ROUTES_FILE has the address {registry.address}, but this version's registry "
                f"would be at {derived_address(registry)}. If you have changed a key of it, such "
                "as `checkpoint` or `forks`, remove `address` to deploy another registry, or "
                "restore the key."
            )
        with closing(ChainClient(chain)) as destination:
            _check_deployable(registry, source, destination)
            if not destination.code(registry.address):
                self._check_beacon_chain(registry, source, destination, options)
                self.report(
                    f"The registry will take headers until {format_time(registry.horizon)}. Only "
                    "that ends its events verifier: no proof can stop it, if a fork changes the "
                    "receipts in a header."
                )
            title = f"{registry.kind} registry of {source.name}'s facts"
            data = deployment_calldata(registry)
            self.report(self.deploy(title, registry.address, data, destination, options))
            verifier = verifier_address(registry.address)
            title, data = f"events verifier {verifier}", SALT + verifier_init_code(registry.address)
            self.report(self.deploy(title, verifier, data, destination, options))
            if registry.lookup_urls:
                lookup = lookup_address(registry)
                title, data = f"lookup {lookup}", SALT + lookup_init_code(registry)
                self.report(self.deploy(title, lookup, data, destination, options))
            courier = courier_address()
            title, data = f"courier {courier}", SALT + courier_init_code()
            self.report(self.deploy(title, courier, data, destination, options))

    def deploy(
        self,
        title: str,
        address: str,
        data: bytes,
        destination: ChainClient,
        options: Mapping[str, Any],
    ) -> str:
        """Send this calldata to the factory if the contract is missing; return what happened."""
        chain = destination.chain
        if destination.code(address):
            return f"The {title} is on {chain.name} already, and nothing was sent."
        if not destination.code(FACTORY):
            raise CommandError(
                f"{chain.name} has no CREATE2 factory at {FACTORY}. Deploy Arachnid's first."
            )
        signer = configured_signer()
        _check_not_stopped(chain, signer)
        self.report(f"Deploying the {title} on {chain.name}, paid for by {signer.address} …")
        try:
            self._show_cost(data, destination, signer)
            if options["dry_run"]:
                return "Nothing was sent, because of --dry-run."
            if not options["yes"]:
                self.confirm("Deploy it?", "Nothing was sent. Where nobody answers, pass --yes.")
            timeout = options["wait"]
            receipt = send_and_wait(destination, signer, FACTORY, data, timeout, self.report)
        except CallRevertedError:
            if options["dry_run"]:
                return "Its cost can be estimated once the contract beside it is deployed."
            sentence = f"Deploying this contract on {chain.name} would revert; nothing was sent."
            raise CommandError(sentence) from None
        if not destination.code(address):
            raise CommandError(
                "The transaction was mined, but the contract at "
                f"{FACTORY} is not the CREATE2 factory."
            )
        cost = short_amount(receipt.cost, chain.currency)
        return f"Deployed in block {receipt.block:,}, for {receipt.gas_used:,} gas, {cost}."

    def _check_beacon_chain(
        self,
        registry: Registry,
        source: Chain,
        destination: ChainClient,
        options: Mapping[str, Any],
    ) -> None:
        """Compare the forks of a beacon registry, which can never change, with those of nodes, and
        report what keeping it awake costs.
        """
        if not isinstance(registry, BeaconRegistry):
            return
        for node in source.beacon:
            for result in check_configuration(source, node):
                if not result.ok:
                    raise CommandError(f"{result.subject}: {result.sentence}")
                if result.is_hint:
                    self.report(f"{result.subject}: {result.sentence}")
        if not options["beyond_fork"]:
            _check_horizon(registry, source)
        self.report(describe_keeping(registry, destination)[0])

    def _show_cost(self, data: bytes, destination: ChainClient, signer: Signer) -> None:
        estimate = estimate_deployment(destination, signer.address, data)
        fees = destination.fees()
        currency = destination.chain.currency
        cost = short_amount(estimate.cost(fees.next_block_fee), currency)
        max_cost = replace(estimate, gas=destination.gas_limit(estimate.gas)).max_cost(fees)
        self.report(
            f"It takes {estimate.gas:,} gas: {cost} at {gwei(fees.next_block_fee)}, and at most "
            f"{short_amount(max_cost, currency)}. The signer has "
            f"{short_amount(destination.balance(signer.address), currency)}."
        )


def _check_horizon(registry: BeaconRegistry, source: Chain) -> None:
    """Check that no fork ends the registry's updates before its horizon."""
    fork = registry.next_fork(source)
    if fork is None or not fork.is_scheduled or registry.horizon <= fork.time:
        return
    begins = format_time(fork.time)
    raise SetupError(
        f"On {begins} {fork.label} begins on the beacon chain of {source.name}, and the registry "
        f"has no entry for it: it would stop then, before its horizon "
        f"{format_time(registry.horizon)}. If this version of Tacitus or a newer one knows the "
        f"fork, name its version in `forks`. Otherwise set the horizon to {begins} or earlier, or "
        "pass --beyond-fork and replace the registry before that day."
    )


def _check_deployable(registry: Registry, source: Chain, destination: ChainClient) -> None:
    """Check that a registry with these arguments would work on the chain."""
    try:
        registry.check_deployable(source, destination)
    except BeaconError as error:
        raise CommandError(add_beacon_advice(error)) from None


def estimate_deployment(destination: ChainClient, sender: str, data: bytes) -> GasEstimate:
    """Estimate the gas and the data fee of sending this calldata to the factory."""
    (fee,) = destination.data_fees([data])
    return GasEstimate(destination.estimate_gas(sender, FACTORY, data), fee)


def add_transaction_arguments(parser: ArgumentParser) -> None:
    add_wait_argument(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask before paying")
    parser.add_argument(
        "--dry-run", action="store_true", help="show what is missing and its cost, and send nothing"
    )


def _registry_table(options: Mapping[str, Any]) -> dict[str, object]:
    """Return the options of a new registry as a table of the routes file."""
    keys = {"kind", *(member.name for kind in KINDS.values() for member in fields(kind))}
    table = {key: value for key, value in options.items() if key in keys and value is not None}
    for key in {"signers", "lookup_urls"} & table.keys():
        table[key] = [entry.strip() for entry in options[key].split(",")]
    return table


def _check_not_stopped(chain: Chain, signer: Signer) -> None:
    with suppress(DatabaseError):  # a first registry is deployed before `migrate`
        if (chain.id, signer.address) in stopped_lanes():
            raise CommandError(
                f"Another program has used the key of {signer.address} on {chain.name}, so nothing "
                f"is sent there. Run tacitus resume_sending {chain.id} when it has stopped."
            )


def utc_time(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
