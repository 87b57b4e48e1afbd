"""`manage.py deploy_registry`: deploys a registry, if it is not there yet, and prints its route.

Only these lines go to stdout, so that `>> routes.toml` appends them; progress goes to stderr.
"""

import re
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from eth_utils.address import is_checksum_address

from queries.chain.deploy import Unfit, check_chain, newest_game
from queries.chain.errors import CallReverted, ChainError
from queries.chain.sender import Destination, TransactionFailed, send_and_wait
from queries.chain.setup_check import with_advice
from queries.chain.signer import SignerUnusable, open_signer
from queries.registries import (
    FACTORY,
    HORIZON,
    Registry,
    RegistryKind,
    address_of,
    deployment,
    time_text,
)
from queries.routes import Chain, Routes, RoutesUnreadable, read_routes

WAIT = 600  # seconds


class Command(BaseCommand):
    help = (
        "Deploys a registry with the signer's key, and prints the lines for ROUTES_FILE. Its "
        "address is the same for everybody; if it is there already, nothing is sent. Do not run it "
        "while a worker sends transactions with the same key."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        kinds = [kind.value for kind in RegistryKind]
        parser.add_argument("--source", type=int, required=True, help="source chain id")
        parser.add_argument("--destination", type=int, required=True, help="destination chain id")
        parser.add_argument("--kind", choices=kinds, required=True, help="how it learns hashes")
        parser.add_argument("--signers", default="", help="of an attested one: 0x…,0x…")
        parser.add_argument("--threshold", type=int, default=0, help="how many of them must agree")
        parser.add_argument(
            "--valid-until",
            default=time_text(HORIZON),
            help="when an attested one stops taking attestations (%(default)s)",
        )
        parser.add_argument(
            "--anchor-state-registry",
            default="",
            metavar="0x…",
            help="of an output one: the rollup's contract that knows which games are valid",
        )
        parser.add_argument("--wait", default=str(WAIT), help="seconds for a block (%(default)s)")

    def handle(self, **options: Any) -> None:
        registry, patience = _registry(options), _seconds(options["wait"])
        try:
            routes = read_routes(settings.ROUTES_FILE)
            source = _chain(routes, registry.source)
            chain = _chain(routes, registry.destination)
            _check_ends(registry)
            with closing(Destination(chain)) as destination:
                check_chain(destination, registry.kind)
                if registry.kind is RegistryKind.OUTPUT:
                    newest_game(registry, destination)
                if destination.code(registry.address):
                    said = f"It is on {chain.name} already, and nothing was sent."
                else:
                    said = self._deploy(destination, source, deployment(registry), patience)
                    _check_there(destination, registry.address)
        except CallReverted:
            raise CommandError(f"{chain.name} would not take this contract.") from None
        except (RoutesUnreadable, SignerUnusable, TransactionFailed, Unfit) as error:
            raise CommandError(str(error)) from None
        except ChainError as error:
            raise CommandError(with_advice(error)) from None
        self._report(f"{said} These lines belong into ROUTES_FILE:")
        # The empty line parts it from a file's last one, even where that is not ended.
        self.stdout.write("\n" + "\n".join(_lines(registry)))

    def _deploy(self, destination: Destination, source: Chain, data: bytes, patience: float) -> str:
        signer = open_signer(
            settings.SIGNER_KEY, settings.SIGNER_KEYSTORE, settings.SIGNER_PASSWORD
        )
        chain = destination.chain
        if not destination.code(FACTORY):
            raise Unfit(
                f"{chain.name} has no CREATE2 factory at {FACTORY}. Deploy that first, by its "
                "published transaction (Arachnid's deterministic-deployment-proxy)."
            )
        self._report(
            f"Deploying a registry of {source.name}'s facts on {chain.name}, paid for by "
            f"{signer.address} …"
        )
        mined = send_and_wait(destination, signer, FACTORY, data, patience, self._report)
        return f"Deployed in block {mined.block}, for {mined.gas_used:,} gas."

    def _report(self, sentence: str) -> None:
        self.stderr.write(sentence, str)  # not in the colour of faults
        self.stderr.flush()


def _check_there(destination: Destination, address: str) -> None:
    if not destination.code(address):
        raise Unfit(
            f"The transaction was mined, and {destination.chain.name} has no contract at "
            f"{address}: its contract at {FACTORY} is not the CREATE2 factory."
        )


def _chain(routes: Routes, chain_id: int) -> Chain:
    chain = routes.chains.get(chain_id)
    if chain is None:
        there = ", ".join(map(str, routes.chains)) or "none"
        raise CommandError(f"ROUTES_FILE has no chain {chain_id}; there: {there}.")
    return chain


def _seconds(text: str) -> float:
    if re.fullmatch(r"\d{1,5}(\.\d{1,3})?", text, re.ASCII):
        return float(text)
    raise CommandError(f"--wait is {text!r}; take a number of seconds, such as {WAIT}.")


def _registry(options: Mapping[str, Any]) -> Registry:
    """What is asked for, with its address."""
    signers = [each.strip() for each in options["signers"].split(",") if each.strip()]
    registry = Registry(
        RegistryKind(options["kind"]),
        options["source"],
        options["destination"],
        signers=tuple(signers),
        threshold=options["threshold"],
        valid_until=_until(options["valid_until"]),
        anchor_state_registry=options["anchor_state_registry"],
    )
    _check_signers(registry)
    _check_games(registry)
    return replace(registry, address=address_of(registry))


def _check_ends(registry: Registry) -> None:
    if (registry.kind is RegistryKind.NATIVE) != (registry.source == registry.destination):
        raise CommandError(
            "A native registry has one chain as source and destination, others have two."
        )


def _until(text: str) -> int:
    try:
        until = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(
            f"--valid-until is {text!r}; take a day or a time in UTC, such as 2027-12-31."
        ) from None
    return int((until if until.tzinfo else until.replace(tzinfo=UTC)).timestamp())


def _check_signers(registry: Registry) -> None:
    signers, threshold = registry.signers, registry.threshold
    if registry.kind is not RegistryKind.ATTESTED:
        if signers or threshold or registry.valid_until != HORIZON:
            raise CommandError(
                "Only an attested registry has --signers, --threshold and --valid-until."
            )
        return
    wrong = next((each for each in signers if not is_checksum_address(each)), None)
    if wrong is not None:
        raise CommandError(f"--signers: {wrong} is no address with its checksum (EIP-55).")
    if len(set(signers)) < len(signers):
        raise CommandError("--signers: an address stands there twice.")
    if not 1 <= threshold <= len(signers):
        raise CommandError(
            "An attested registry needs --signers, and a --threshold from 1 to their number."
        )
    if registry.valid_until <= time.time():
        raise CommandError("--valid-until is in the past: the registry would take no attestation.")


def _check_games(registry: Registry) -> None:
    asked = registry.anchor_state_registry
    if registry.kind is not RegistryKind.OUTPUT:
        if asked:
            raise CommandError("Only an output registry has --anchor-state-registry.")
    elif not is_checksum_address(asked):
        raise CommandError(
            "An output registry needs --anchor-state-registry, the address of the rollup's "
            "AnchorStateRegistry on the destination with its checksum (EIP-55)."
        )


def _lines(registry: Registry) -> Iterator[str]:
    """Of the routes file."""
    yield "[[registries]]"
    yield f'kind = "{registry.kind}"'
    yield f"source = {registry.source}"
    yield f"destination = {registry.destination}"
    yield f'address = "{registry.address}"'
    if registry.kind is RegistryKind.ATTESTED:
        listed = ", ".join(f'"{each}"' for each in registry.signers)
        yield f"signers = [{listed}]"
        yield f"threshold = {registry.threshold}"
        yield f"valid_until = {time_text(registry.valid_until)}"
    if registry.kind is RegistryKind.OUTPUT:
        yield f'anchor_state_registry = "{registry.anchor_state_registry}"'
