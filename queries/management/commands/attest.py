"""`manage.py attest`: sign the hashes of blocks for an attested registry."""

import signal
import sys
import time
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any, NoReturn

from django.conf import settings
from django.core.management.base import CommandError
from django.db import InterfaceError, OperationalError, close_old_connections

from accounts.shared.database_state import refuse_unmigrated
from accounts.shared.errors import Refusal
from queries.attestations.body import SignedAttestation, read_attestation, read_line
from queries.attestations.records import attested_by, registry_of, take, wanted
from queries.attestations.remote import Installation, NotTaken
from queries.attestations.signing import Attester
from queries.chain.errors import ChainError
from queries.chain.signer import Signer, SignerUnusable
from queries.config.registries import Registry
from queries.config.routes import Routes
from queries.management.base import OperatorCommand, add_url_argument, configured_routes
from queries.management.setup_check import add_advice

LOOKS_EVERY, ASKS_EVERY = 1.0, 5.0  # seconds: of the database, of another installation


class LocalInstallation:
    """This installation, whose provers use the same database."""

    def __init__(self, routes: Routes, signer: Signer) -> None:
        self._routes = routes
        self._signer = signer

    def wanted(self, registry: Registry) -> set[int]:
        return set(wanted(registry)) - attested_by(self._signer.address, registry)

    def give(self, content: Mapping[str, str]) -> None:
        try:
            take(self._routes, read_attestation(content))
        except Refusal as refusal:
            raise NotTaken(refusal.sentence, retryable=refusal.retryable) from None


class Command(OperatorCommand):
    help = (
        "Signs the hash of a final source-chain block with ATTESTER_KEY and prints the result as "
        "a line. --keep stores it for the provers here, --post sends it to another server; "
        "--watch runs until stopped and signs each block that queries wait for; --take "
        "reads others' lines."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--source", type=int, help="source chain id")
        parser.add_argument("--destination", type=int, help="destination chain id")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--block", type=int, help="number of the block")
        what.add_argument("--watch", action="store_true", help="every block that queries wait for")
        what.add_argument(
            "--take", action="store_true", help="store the lines of other signers, from stdin"
        )
        to = parser.add_mutually_exclusive_group()
        to.add_argument("--keep", action="store_true", help="for this installation's provers")
        add_url_argument(to, "post", "send to the Tacitus server at this address")

    def handle(self, **options: Any) -> None:
        try:
            self._handle(**options)
        except KeyboardInterrupt:
            self.stdout.write("Ended.")

    def _handle(self, *, watch: bool, keep: bool, post: str | None, **options: Any) -> None:
        routes = configured_routes()
        if options["take"] and (keep or post):
            raise CommandError("--take keeps what it reads; leave --keep and --post out.")
        if options["take"] or keep or (watch and not post):
            refuse_unmigrated()
        if options["take"]:
            self._take(routes)
            return
        if options["source"] is None or options["destination"] is None:
            raise CommandError("Name the chains: --source ID --destination ID.")
        registry = registry_of(routes, options["source"], options["destination"])
        attester = Attester(routes, registry, _attester(registry))
        to = (
            Installation(post, routes.limits)
            if post
            else LocalInstallation(routes, attester.signer)
        )
        if watch:
            self._watch(attester, to)  # until it is interrupted
        signed = attester.sign(options["block"])
        if keep or post:
            to.give(signed.content())
        self.stdout.write(signed.line())

    def _take(self, routes: Routes) -> None:
        for line in filter(str.strip, sys.stdin):
            signed = read_line(line)
            signer = take(routes, signed)
            self.stdout.write(f"Block {signed.attested.block:,}, by {signer}: taken.")

    def _watch(self, attester: Attester, to: Installation | LocalInstallation) -> NoReturn:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        self.stdout.write(f"Signing as {attester.signer.address} (Ctrl-C ends it)")
        self.stdout.flush()
        settled: set[int] = set()  # taken, or never to be
        while True:
            try:
                asked = set(to.wanted(attester.registry))
                settled &= asked
                for signed in attester.sign_final(asked - settled):
                    self._give(signed, to, settled)
            except (ChainError, NotTaken) as fault:
                self.stderr.write(add_advice(fault))
            except (OperationalError, InterfaceError) as fault:
                self.stderr.write(f"The database cannot be used: {' '.join(str(fault).split())}")
                close_old_connections()
            time.sleep(LOOKS_EVERY if isinstance(to, LocalInstallation) else ASKS_EVERY)

    def _give(
        self, signed: SignedAttestation, to: Installation | LocalInstallation, settled: set[int]
    ) -> None:
        try:
            to.give(signed.content())
        except NotTaken as fault:
            if fault.retryable:
                raise
            self.stderr.write(f"Block {signed.attested.block:,}: {fault}")
        else:
            self.stdout.write(signed.line())
            self.stdout.flush()
        settled.add(signed.attested.block)


def _attester(registry: Registry) -> Signer:
    if not settings.ATTESTER_KEY:
        raise CommandError(
            "ATTESTER_KEY is not set. Set it to the key of one of the registry's signers."
        )
    try:
        signer = Signer(settings.ATTESTER_KEY)
    except SignerUnusable:
        raise CommandError("ATTESTER_KEY is not a private key (32 bytes in hex).") from None
    if signer.address not in registry.signers:
        raise CommandError(f"{signer.address} is not one of the registry's signers.")
    return signer
