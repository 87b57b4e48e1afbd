"""`manage.py attest`: a signer of an attested registry says which hash a block has.

It asks the signer's own nodes, and speaks of final blocks alone: the registry keeps the first word
for ever.
"""

import sys
import time
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from accounts.database_state import refuse_unmigrated
from queries.attestations import (
    AttestationRefused,
    SignedWord,
    read_line,
    registry_of,
    take,
    wanted,
)
from queries.chain.advice import with_advice
from queries.chain.errors import ChainError
from queries.chain.signer import Signer, SignerUnusable
from queries.chain.source import SourceChain
from queries.models import Attestation
from queries.proving.attestations import Attested
from queries.routes import Registry, Routes, RoutesUnreadable, read_routes

LOOKS_EVERY = 1.0  # seconds


class Command(BaseCommand):
    help = (
        "Signs for the hash of a source chain's final block, with ATTESTER_KEY. Prints the word as "
        "a line; --keep gives it to this installation's provers; --watch does so for every block "
        "that queries wait for, until it is ended; --take reads others' lines."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--source", type=int, help="whose block it is: a chain id")
        parser.add_argument("--destination", type=int, help="where the registry stands")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--block", type=int, help="its number")
        what.add_argument("--watch", action="store_true", help="all that queries wait for")
        what.add_argument("--take", action="store_true", help="lines of others, from stdin")
        parser.add_argument("--keep", action="store_true", help="for this installation's provers")

    def handle(self, **options: Any) -> None:
        try:
            routes = read_routes(settings.ROUTES_FILE)
            if options["take"] or options["watch"] or options["keep"]:
                refuse_unmigrated()
            if options["take"]:
                self._take(routes)
                return
            if options["source"] is None or options["destination"] is None:
                raise CommandError("Name the chains: --source ID --destination ID.")
            registry = registry_of(routes, options["source"], options["destination"])
            speaker = Speaker(routes, registry, _attester(registry))
            if options["watch"]:
                self._watch(speaker)
            else:
                word = speaker.word_on(options["block"])
                if options["keep"]:
                    take(routes, word)
                self.stdout.write(word.line())
        except (RoutesUnreadable, SignerUnusable, AttestationRefused) as fault:
            raise CommandError(str(fault)) from None
        except ChainError as fault:
            raise CommandError(with_advice(fault)) from None
        except KeyboardInterrupt:
            self.stdout.write("Ended.")

    def _take(self, routes: Routes) -> None:
        for line in filter(str.strip, sys.stdin):
            word = read_line(line)
            signer = take(routes, word)
            self.stdout.write(f"Block {word.attested.block:,}, by {signer}: taken.")

    def _watch(self, speaker: "Speaker") -> None:
        self.stdout.write(f"Speaking as {speaker.signer.address} (Ctrl-C ends it)")
        self.stdout.flush()
        while True:
            try:
                for word in speaker.words_that_are_wanted():
                    take(speaker.routes, word)
                    self.stdout.write(word.line())
                    self.stdout.flush()
            except ChainError as fault:
                self.stderr.write(fault.sentence)
            time.sleep(LOOKS_EVERY)


class Speaker:
    """A signer with nodes of his own."""

    def __init__(self, routes: Routes, registry: Registry, signer: Signer) -> None:
        self.routes = routes
        self.registry = registry
        self.signer = signer
        self._source = SourceChain(routes.chains[registry.source])

    def word_on(self, block: int) -> SignedWord:
        head = self._source.head()
        if not 0 <= block <= head.final_number:
            raise AttestationRefused(
                f"Block {block:,} is not final: the last final one is {head.final_number:,}."
            )
        header = self._source.header(block)
        told = Attested(
            self.registry.source,
            self.registry.destination,
            bytes.fromhex(self.registry.address[2:]),
            block,
            header.hash,
        )
        return SignedWord(told, self.signer.sign_digest(told.digest))

    def words_that_are_wanted(self) -> list[SignedWord]:
        """Of each waiting block, once it is final, unless this signer has spoken."""
        spoken = Attestation.objects.filter(
            source=self.registry.source,
            destination=self.registry.destination,
            registry=self.registry.address,
            signer=self.signer.address,
        )
        waiting = set(wanted(self.registry)) - set(spoken.values_list("block", flat=True))
        final = self._source.head().final_number
        return [self.word_on(block) for block in sorted(waiting) if block <= final]


def _attester(registry: Registry) -> Signer:
    if not settings.ATTESTER_KEY:
        raise CommandError("ATTESTER_KEY is not set: the key of one of the registry's signers.")
    signer = Signer(settings.ATTESTER_KEY)
    if signer.address not in registry.signers:
        raise CommandError(f"{signer.address} is none of the registry's signers.")
    return signer
