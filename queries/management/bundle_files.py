"""Read a proof file for commands."""

from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import CommandError

from queries.client.python.errors import NotProvenError
from queries.client.python.proofs import read_proof
from queries.management.base import whole_number
from queries.proving.bundle_checks import MAX_BUNDLE_MIB
from queries.proving.bundles import Bundle


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
