"""What the operators' commands share."""

import sys
from argparse import ArgumentParser, ArgumentTypeError, _MutuallyExclusiveGroup
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from accounts.shared.errors import Refusal
from queries.attestations.remote import NotTaken
from queries.chain.errors import ChainError, NodeFault, NodesUnreachable
from queries.chain.json_rpc import JsonRpc
from queries.chain.registry_checks import Unfit
from queries.chain.sender import TransactionFailed
from queries.chain.signer import Signer, SignerUnusable, open_signer
from queries.config.routes import Chain, NodeAddress, Routes, RoutesUnreadable, read_routes
from queries.management.setup_check import with_advice
from queries.proving.errors import ProofError
from queries.proving.json_values import read_quantity


class OperatorCommand(BaseCommand):
    """What goes wrong with files, nodes or the signer ends it in one sentence."""

    # Django's checks import every page, which takes a third of the time that a prover starts in.
    requires_system_checks = ()

    def execute(self, *arguments: Any, **options: Any) -> str | None:
        try:
            return super().execute(*arguments, **options)
        except (
            ChainError, NotTaken, Refusal, RoutesUnreadable, SignerUnusable, TransactionFailed,
            Unfit,
        ) as error:  # fmt: skip
            raise CommandError(with_advice(error)) from None

    def report(self, sentence: str) -> None:
        """On stderr, so that stdout has the result alone."""
        self.stderr.write(sentence, str)  # not in the colour of faults
        self.stderr.flush()

    def ask(self, question: str) -> str:
        """The line that is typed; empty at the end of the input."""
        self.stderr.write(f"{question} ", str, ending="")
        self.stderr.flush()
        return sys.stdin.readline()

    def confirm(self, question: str, otherwise: str) -> None:
        """Ask, and end the command with `otherwise` unless the answer is yes."""
        if self.ask(f"{question} [y/N]").strip().lower() not in {"y", "yes"}:
            raise CommandError(otherwise)


def configured_routes() -> Routes:
    return read_routes(settings.ROUTES_FILE)


def configured_signer() -> Signer:
    return open_signer(settings.SIGNER_KEY, settings.SIGNER_KEYSTORE, settings.SIGNER_PASSWORD)


def chain_at(url: str) -> Chain:
    """The chain of a node that a command line names, with this one node."""
    try:
        with closing(JsonRpc(url)) as rpc:
            chain_id = read_quantity(rpc.ask("eth_chainId"), "eth_chainId")
    except (NodeFault, ProofError, ValueError) as fault:  # the last of an address that is none
        why = fault.why if isinstance(fault, NodeFault) else ""
        raise NodesUnreachable(f"The node at {host_of(url)} does not say its chain{why}.") from None
    return Chain(chain_id, f"chain {chain_id}", (NodeAddress(url),))


def host_of(url: str) -> str:
    """What may be shown of the address: the rest may hold a key."""
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.hostname:
            return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
    return "an address that cannot be read"


def add_wait(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--wait", type=at_least_one, default=600, help="seconds to wait for a receipt (%(default)s)"
    )


def at_least_one(text: str) -> int:
    """For an option's `type`."""
    if int(text) < 1:
        raise ValueError
    return int(text)


def add_address(
    parser: ArgumentParser | _MutuallyExclusiveGroup, name: str, meaning: str, **more: Any
) -> None:
    """The option `--name`, and `--name-file` for an address with a key in it."""
    parser.add_argument(f"--{name}", metavar="URL", help=meaning, **more)
    parser.add_argument(
        f"--{name}-file",
        dest=name.replace("-", "_"),
        type=partial(_address_in, f"--{name}-file"),
        metavar="PATH",
        help="a file with the address, to keep it out of the process list",
        **more,
    )


def _address_in(option: str, file: str) -> str:
    """No refusal repeats the file's name: the node's address may have been given in its place."""
    named = f"the file that {option} names"
    try:
        words = Path(file).read_text(encoding="utf-8").split()
    except OSError as fault:
        raise ArgumentTypeError(f"{named} cannot be read: {fault.strerror}.") from None
    except UnicodeDecodeError:
        raise ArgumentTypeError(f"{named} is not UTF-8 text.") from None
    if len(words) != 1:
        raise ArgumentTypeError(f"{named} must hold one address and nothing else.")
    return words[0]
