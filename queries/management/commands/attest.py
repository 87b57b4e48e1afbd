"""`tacitus attest`: sign the hashes of blocks for an attested registry."""

import signal
import sys
import time
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from django.conf import settings
from django.core.management.base import CommandError
from django.db import close_old_connections

from accounts.database_state import OUTAGE_ERRORS, describe_outage, require_schema
from accounts.http.errors import RefusalError
from queries.attestations.body import SignedAttestation, read_attestation, read_line
from queries.attestations.post import AttestationClient, AttestationPostError
from queries.attestations.records import (
    attested_blocks,
    attested_registry,
    store_attestation,
    wanted_blocks,
)
from queries.attestations.signing import Attester
from queries.chain import ChainError, Signer, SignerUnusableError
from queries.management.base import OperatorCommand, add_url_argument, configured_routes
from queries.management.setup_check import add_advice
from queries.sources import AttestedRegistry, Routes

DATABASE_POLL_SECONDS, SERVER_POLL_SECONDS = 1.0, 5.0


class LocalStore:
    """Stores attestations for this installation's provers."""

    def __init__(self, routes: Routes, signer: Signer) -> None:
        self._routes = routes
        self._signer = signer

    def wanted_blocks(self, registry: AttestedRegistry) -> set[int]:
        return set(wanted_blocks(registry)) - attested_blocks(self._signer.address, registry)

    def submit(self, content: Mapping[str, str]) -> None:
        try:
            store_attestation(self._routes, read_attestation(content))
        except RefusalError as error:
            raise AttestationPostError(error.sentence, retryable=error.retryable) from None


class Command(OperatorCommand):
    help = (
        "Signs hashes of final blocks with ATTESTER_KEY, and prints each attestation as a line. "
        "Can also store it (--store; the default of --watch) or post it (--post)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--source", type=int, help="source chain id")
        parser.add_argument("--destination", type=int, help="destination chain id")
        blocks = parser.add_mutually_exclusive_group(required=True)
        blocks.add_argument("--block", type=int, help="block number")
        blocks.add_argument(
            "--watch", action="store_true", help="attest blocks that queries need, until stopped"
        )
        blocks.add_argument(
            "--import",
            dest="import_file",
            metavar="FILE",
            help="store other signers' attestations from this file, one a line; - is stdin",
        )
        target = parser.add_mutually_exclusive_group()
        target.add_argument(
            "--store", action="store_true", help="store for the provers of this installation"
        )
        add_url_argument(target, "post", "send to the Tacitus server at this address")

    def handle(self, **options: Any) -> None:
        try:
            self._handle(**options)
        except KeyboardInterrupt:
            self.stdout.write("Stopped.")

    def _handle(self, *, watch: bool, store: bool, post: str | None, **options: Any) -> None:
        routes = configured_routes()
        import_file = options["import_file"]
        if import_file and (store or post):
            raise CommandError("--import stores the lines itself; leave --store and --post out.")
        if import_file or store or (watch and not post):
            require_schema()
        if import_file:
            self._import(routes, import_file)
            return
        if options["source"] is None or options["destination"] is None:
            raise CommandError("Name the chains: --source ID --destination ID.")
        registry = attested_registry(routes, options["source"], options["destination"])
        attester = Attester(routes, registry, _registry_signer(registry))
        local = LocalStore(routes, attester.signer)
        target = AttestationClient(post, routes.limits) if post else local
        if watch:
            self._watch(attester, target)  # until it is interrupted
        signed_attestation = attester.sign(options["block"])
        if store or post:
            target.submit(signed_attestation.content())
        self.stdout.write(signed_attestation.line())

    def _import(self, routes: Routes, file: str) -> None:
        try:
            content = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from None
        except UnicodeDecodeError:
            raise CommandError(f"{file} is not UTF-8 text.") from None
        for line in filter(str.strip, content.splitlines()):
            signed_attestation = read_line(line)
            signer = store_attestation(routes, signed_attestation)
            self.stdout.write(
                f"Stored: block {signed_attestation.attestation.block:,}, by {signer}."
            )

    def _watch(self, attester: Attester, target: AttestationClient | LocalStore) -> NoReturn:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        self.stdout.write(f"Signing as {attester.signer.address} (press Ctrl-C to stop)")
        self.stdout.flush()
        finished_blocks: set[int] = set()  # that were attested, or refused for good
        while True:
            try:
                requested_blocks = set(target.wanted_blocks(attester.registry))
                finished_blocks &= requested_blocks
                for signed_attestation in attester.sign_final(requested_blocks - finished_blocks):
                    self._submit(signed_attestation, target)
                    finished_blocks.add(signed_attestation.attestation.block)
            except (ChainError, AttestationPostError) as error:
                self.stderr.write(add_advice(error))
            except OUTAGE_ERRORS as error:
                self.stderr.write(describe_outage(error))
                close_old_connections()
            is_local = isinstance(target, LocalStore)
            time.sleep(DATABASE_POLL_SECONDS if is_local else SERVER_POLL_SECONDS)

    def _submit(
        self, signed_attestation: SignedAttestation, target: AttestationClient | LocalStore
    ) -> None:
        """Submit the attestation and print its line; report a permanent refusal to stderr. Raises
        `AttestationPostError` only if a retry can help.
        """
        try:
            target.submit(signed_attestation.content())
        except AttestationPostError as error:
            if error.retryable:
                raise
            self.stderr.write(f"Block {signed_attestation.attestation.block:,}: {error}")
        else:
            self.stdout.write(signed_attestation.line())
            self.stdout.flush()


def _registry_signer(registry: AttestedRegistry) -> Signer:
    if not settings.ATTESTER_KEY:
        raise CommandError("Set ATTESTER_KEY to the key of one of the registry's signers.")
    try:
        signer = Signer(settings.ATTESTER_KEY)
    except SignerUnusableError:
        raise CommandError("ATTESTER_KEY is not a private key (32 bytes in hex).") from None
    if signer.address not in registry.signers:
        raise CommandError(f"{signer.address} is not one of the registry's signers.")
    return signer
