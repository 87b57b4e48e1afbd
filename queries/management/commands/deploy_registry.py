"""`manage.py deploy_registry`: deploys a registry, if it is not there yet, and prints its route.

Only these lines go to stdout, so that `>> routes.toml` appends them; progress goes to stderr.
"""

import re
from argparse import ArgumentParser
from contextlib import closing
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from eth_utils.address import is_checksum_address

from queries.chain.deploy import Unfit, check_chain
from queries.chain.errors import CallReverted, ChainError
from queries.chain.sender import Destination, TransactionFailed, send_and_wait
from queries.chain.setup_check import with_advice
from queries.chain.signer import SignerUnusable, open_signer
from queries.registry_addresses import FACTORY, deployment, registry_address
from queries.routes import Chain, RegistryKind, Routes, RoutesUnreadable, read_routes

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
        parser.add_argument("--wait", default=str(WAIT), help="seconds for a block (%(default)s)")

    def handle(self, **options: Any) -> None:
        kind = RegistryKind(options["kind"])
        signers = [each.strip() for each in options["signers"].split(",") if each.strip()]
        patience = _seconds(options["wait"])
        _check_signers(kind, signers, options["threshold"])
        try:
            routes = read_routes(settings.ROUTES_FILE)
            source = _chain(routes, options["source"])
            chain = _chain(routes, options["destination"])
            _check_ends(kind, source, chain)
            arguments = (kind, source.id, signers, options["threshold"])
            address = registry_address(*arguments)
            with closing(Destination(chain)) as destination:
                check_chain(destination, kind)
                if destination.code(address):
                    said = f"It is on {chain.name} already, and nothing was sent."
                else:
                    said = self._deploy(destination, source, deployment(*arguments), patience)
                    _check_there(destination, address)
        except CallReverted:
            raise CommandError(f"{chain.name} would not take this contract.") from None
        except (RoutesUnreadable, SignerUnusable, TransactionFailed, Unfit) as error:
            raise CommandError(str(error)) from None
        except ChainError as error:
            raise CommandError(with_advice(error)) from None
        self._report(f"{said} These lines belong into ROUTES_FILE:")
        # The empty line parts it from a file's last one, even where that is not ended.
        self.stdout.write(
            f'\n[[registries]]\nkind = "{kind}"\nsource = {source.id}\n'
            f'destination = {chain.id}\naddress = "{address}"'
        )
        if kind is RegistryKind.ATTESTED:
            listed = ", ".join(f'"{each}"' for each in signers)
            self.stdout.write(f"signers = [{listed}]\nthreshold = {options['threshold']}")

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


def _check_ends(kind: RegistryKind, source: Chain, destination: Chain) -> None:
    if (kind is RegistryKind.NATIVE) != (source.id == destination.id):
        raise CommandError(
            "A native registry has one chain as source and destination, others have two."
        )


def _check_signers(kind: RegistryKind, signers: list[str], threshold: int) -> None:
    if kind is not RegistryKind.ATTESTED:
        if signers or threshold:
            raise CommandError("Only an attested registry has signers and a threshold.")
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
