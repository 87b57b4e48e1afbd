"""What the operators' commands share."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from accounts.errors import Refusal
from queries.attestations import NotTaken
from queries.chain.deploy import Unfit
from queries.chain.errors import ChainError
from queries.chain.sender import TransactionFailed
from queries.chain.setup_check import with_advice
from queries.chain.signer import Signer, SignerUnusable, open_signer
from queries.routes import Routes, RoutesUnreadable, read_routes

IN_A_FILE = "a file with the address, to keep it out of the process list"


class OperatorCommand(BaseCommand):
    """What goes wrong with files, nodes or the signer ends it in one sentence."""

    def execute(self, *arguments: Any, **options: Any) -> str | None:
        try:
            return super().execute(*arguments, **options)
        except ChainError as error:
            raise CommandError(with_advice(error)) from None
        except (
            NotTaken, Refusal, RoutesUnreadable, SignerUnusable, TransactionFailed, Unfit,
        ) as error:  # fmt: skip
            raise CommandError(str(error)) from None

    def report(self, sentence: str) -> None:
        """On stderr, so that stdout has the result alone."""
        self.stderr.write(sentence, str)  # not in the colour of faults
        self.stderr.flush()


def configured_routes() -> Routes:
    return read_routes(settings.ROUTES_FILE)


def configured_signer() -> Signer:
    return open_signer(settings.SIGNER_KEY, settings.SIGNER_KEYSTORE, settings.SIGNER_PASSWORD)


def address_in(file: Path, option: str) -> str:
    """A node's address out of a file: it often holds a key.

    No refusal repeats the file's name: the node's address may have been given in its place.
    """
    named = f"The file that {option} names"
    try:
        words = file.read_text(encoding="utf-8").split()
    except OSError as fault:
        raise CommandError(f"{named} cannot be read: {fault.strerror}.") from None
    except UnicodeDecodeError:
        raise CommandError(f"{named} is not UTF-8 text.") from None
    if len(words) != 1:
        raise CommandError(f"{named} must hold one address and nothing else.")
    return words[0]
