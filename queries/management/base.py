"""The base class and common options of operators' commands."""

import sys
from argparse import ArgumentParser, ArgumentTypeError, _MutuallyExclusiveGroup
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from accounts.http.errors import RefusalError
from accounts.secret_files import read_secret_file
from queries.attestations.post import AttestationPostError
from queries.chain import (
    ChainError,
    JsonRpc,
    NodeError,
    NodesUnreachableError,
    Signer,
    SignerUnusableError,
    open_signer,
)
from queries.client.python.errors import NotProvenError
from queries.client.python.proofs import read_proof
from queries.config.chains import Chain, NodeAddress
from queries.config.routes_file import RoutesFileError
from queries.management.sending import TransactionFailedError
from queries.management.setup_check import add_advice
from queries.proving import MAX_BUNDLE_MIB, Bundle, ProofError, read_quantity
from queries.sources import Routes, SetupError, read_routes


class OperatorCommand(BaseCommand):
    """Prints errors of files, nodes and the signer as one sentence."""

    # Django's checks import every page, which takes a third of a prover's start time.
    requires_system_checks = ()

    def execute(self, *arguments: Any, **options: Any) -> str | None:
        try:
            return super().execute(*arguments, **options)
        except (
            ChainError, AttestationPostError, RefusalError, RoutesFileError, SetupError,
            SignerUnusableError, TransactionFailedError,
        ) as error:  # fmt: skip
            raise CommandError(add_advice(error)) from None

    def report(self, sentence: str) -> None:
        """Write progress to stderr, so that stdout has only the result."""
        self.stderr.write(sentence, str)  # `str` turns off the colour of errors
        self.stderr.flush()

    def confirm(self, question: str, otherwise: str) -> None:
        """Ask, and end the command with `otherwise` unless the answer is yes."""
        self.stderr.write(f"{question} [y/N] ", str, ending="")
        self.stderr.flush()
        if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
            raise CommandError(otherwise)


def configured_routes() -> Routes:
    return read_routes(settings.ROUTES_FILE)


def configured_signer() -> Signer:
    return open_signer(settings.SIGNER_KEY, settings.SIGNER_KEYSTORE, settings.SIGNER_PASSWORD)


def node_chain(url: str) -> Chain:
    """Ask the node at `url` for its chain id, and return a chain with this node alone."""
    try:
        with closing(JsonRpc(url)) as rpc:
            chain_id = read_quantity(rpc.ask("eth_chainId"), "eth_chainId")
    except (NodeError, ProofError, ValueError) as error:  # ValueError: not a URL
        detail = error.detail if isinstance(error, NodeError) else ""
        sentence = f"The node at {url_host(url)} does not report its chain id{detail}."
        raise NodesUnreachableError(sentence) from None
    return Chain(chain_id, f"chain {chain_id}", (NodeAddress(url),))


def url_host(url: str) -> str:
    """Return the URL's host and port; the rest may contain a key."""
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.hostname:
            return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
    return "a malformed URL"


def add_wait_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--wait",
        type=whole_number(),
        default=600,
        help="seconds to wait for a receipt (%(default)s)",
    )


def whole_number(maximum: int = 10**9) -> Callable[[str], int]:
    """The `type` of an option that takes a number from 1 on."""

    def parse(text: str) -> int:
        is_number = text.isascii() and text.isdigit() and len(text) <= len(str(maximum))
        if not is_number or not 1 <= int(text) <= maximum:
            raise ArgumentTypeError(f"{text!r}; use a whole number from 1 to {maximum}.")
        return int(text)

    return parse


def add_url_argument(
    parser: ArgumentParser | _MutuallyExclusiveGroup, name: str, meaning: str, **options: Any
) -> None:
    """Add the option `--name`, and `--name-file` for a URL that contains a key."""
    parser.add_argument(f"--{name}", metavar="URL", help=meaning, **options)
    parser.add_argument(
        f"--{name}-file",
        dest=name.replace("-", "_"),
        type=partial(_read_url_file, f"--{name}-file"),
        metavar="PATH",
        help="a file with the URL, to keep it out of the process list",
        **options,
    )


def _read_url_file(option: str, file: str) -> str:
    """No error repeats the file's name, which may be the URL by mistake."""
    subject = f"the file that {option} names"
    try:
        url, *others = read_secret_file(Path(file)).split()
    except ValueError as error:
        raise ArgumentTypeError(f"{subject} {error}.") from None
    if others:
        raise ArgumentTypeError(f"{subject} must contain one URL and nothing else.")
    return url


def add_bundle_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="as GET /batch-queries/<id>/proof returns it")
    parser.add_argument(
        "--max-mib",
        type=whole_number(),
        default=MAX_BUNDLE_MIB,
        metavar="N",
        help="maximum size of the file in MiB (%(default)s); it may need 8 times as much memory",
    )


def read_bundle(file: Path, max_mib: int) -> Bundle:
    """Read and check a proof file. Raises CommandError."""
    try:
        with file.open("rb") as stream:
            content = stream.read(max_mib * 2**20 + 1)
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from None
    try:
        return read_proof(content, max_mib)
    except NotProvenError as error:
        raise CommandError(error.sentence) from None
