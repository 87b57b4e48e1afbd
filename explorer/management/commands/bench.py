"""`manage.py bench`: what the service bears, each figure beside a reference of the same run.

It ends with exit code 1 where a row's target is not met, so that a script can hold the figures. A
row that is a known gap has a floor, which decides in the target's place.
"""

import dataclasses
import json
import logging
import os
import shutil
import signal
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from explorer.bench.measures import NAMES, found, look_for_what_is_recorded
from explorer.bench.rows import Bench, BenchFailed, Row, Sizes
from explorer.bench.table import as_object, head, lines, missed
from explorer.demo.processes import DemoFailed, empty_folder
from queries.chain.errors import ChainError
from queries.chain.gas.corpus import CorpusUnreadable
from queries.chain.gas.trials import TrialFailed
from queries.chain.json_rpc import NodeRefused, NodeUnreachable
from queries.chain.local_node import LocalNodeMissing, TransactionReverted

FAULTS = (
    BenchFailed, DemoFailed, LocalNodeMissing, NodeRefused, NodeUnreachable, TransactionReverted,
    ChainError, CorpusUnreadable, TrialFailed,
)  # fmt: skip


class Command(BaseCommand):
    help = (
        "Measures what the service bears, each figure beside a reference of the same run, on "
        "scratch databases and local chains. DATABASE_URL says on which kind of database."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "rows", nargs="*", metavar="ROW", help=f"all of them, or some of: {', '.join(NAMES)}"
        )
        parser.add_argument("--json", action="store_true", help="a list of objects and no table")
        for size in dataclasses.fields(Sizes):
            parser.add_argument(
                f"--{size.name.replace('_', '-')}",
                type=type(size.default),
                default=size.default,
                help=f"{size.metadata['what']} (%(default)s)",
            )

    def handle(self, **options: Any) -> None:
        wanted = frozenset(options["rows"] or NAMES)
        if unknown := sorted(wanted - set(NAMES)):
            raise CommandError(f"There is no row {unknown[0]}. There are: {', '.join(NAMES)}.")
        sizes = Sizes(**{each.name: options[each.name] for each in dataclasses.fields(Sizes)})
        low = [each for each, value in dataclasses.asdict(sizes).items() if not _enough(value)]
        if low:
            raise CommandError(f"--{low[0].replace('_', '-')} must be more than nothing.")
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        logging.disable(logging.WARNING)  # a line for each request that is answered here
        try:
            look_for_what_is_recorded(wanted, sizes)
            with _folder() as folder:
                bench = Bench(sizes, wanted, folder, self._say)
                rows = self._measure(bench, as_json=options["json"])
        except FAULTS as fault:
            raise CommandError(" ".join(str(fault).split())) from fault
        finally:
            logging.disable(logging.NOTSET)
        if sentence := missed(rows):
            raise CommandError(sentence)

    def _measure(self, bench: Bench, *, as_json: bool) -> list[Row]:
        """A list is whole also where a row fails or someone interrupts: the others took long."""
        rows: list[Row] = []
        if not as_json:
            machine = f"{connection.vendor}, {os.cpu_count()} processors"
            chain = f", nodes a chain: {bench.sizes.nodes}" if bench.sizes.nodes > 1 else ""
            self.stdout.write(f"{machine}{chain}\n\n{head()}")
        try:
            for row in found(bench):
                rows.append(row)
                if not as_json:
                    self._show(row)
        finally:
            if as_json:
                self.stdout.write(json.dumps([as_object(row) for row in rows], indent=1))
                self.stdout.flush()
        return rows

    def _show(self, row: Row) -> None:
        for line in lines(row):
            self.stdout.write(line)
        self.stdout.flush()

    def _say(self, what: str) -> None:
        self.stderr.write(f"… {what}", self.style.NOTICE)
        self.stderr.flush()


def _enough(value: object) -> bool:
    return not isinstance(value, int | float) or value > 0


@contextmanager
def _folder() -> Iterator[Path]:
    """Where logs are kept: gone afterwards, unless something failed."""
    folder = empty_folder(settings.VAR_DIR / f"bench-{os.getpid()}")
    try:
        yield folder
    except BaseException:
        if not any(folder.iterdir()):
            folder.rmdir()  # nothing had been started
        raise
    shutil.rmtree(folder)
