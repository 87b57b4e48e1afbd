"""A bundle out of a file, for commands."""

from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import CommandError

from queries.management.base import at_least_one
from queries.proving.bundle_checks import MOST_MIB, check_bundle
from queries.proving.bundles import Bundle
from queries.proving.errors import BundleRefused, BundleTooLarge


def add_bundle(parser: ArgumentParser) -> None:
    """The file, and how large it may be."""
    parser.add_argument("file", type=Path, help="as GET /batch-queries/<id>/proof gives it")
    parser.add_argument(
        "--most-mib",
        type=at_least_one,
        default=MOST_MIB,
        metavar="N",
        help="how large a file is read, in MiB (%(default)s); it takes up to eight times as much "
        "memory",
    )


def read_bundle(file: Path, most_mib: int) -> Bundle:
    """Checked; where it is refused, in a sentence."""
    try:
        with file.open("rb") as opened:
            content = opened.read(most_mib * 2**20 + 1)
    except OSError as fault:
        raise CommandError(f"{file} cannot be read: {fault.strerror}.") from None
    try:
        return check_bundle(content, most_mib)
    except BundleTooLarge as refused:
        raise CommandError(
            f"Nothing is proven. {refused} If its server accepts larger batches, raise the limit: "
            f"--most-mib {4 * most_mib}."
        ) from None
    except BundleRefused as refused:
        raise CommandError(f"Nothing is proven. {refused}") from None
