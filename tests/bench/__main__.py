"""`make bench`: benchmarks, each figure next to a reference value from the same run.

They run on scratch databases, of the kind that DATABASE_URL names, and local chains.
"""

import dataclasses
import json
import logging
import os
import shutil
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import connection

from explorer.demo.processes import empty_folder
from tests.bench.command import BenchError, run, set_up_django

set_up_django()

from tests.bench import claiming, lookups, many_batches, one_block, polling
from tests.bench.rows import Bench, Row, Sizes, head, lines, missed_targets, to_json_object

# Rows in the order of the table, with what measures them; the rows of a tuple share a set-up.
MEASURES: dict[tuple[str, ...], Callable[[Bench], Iterator[Row]]] = {
    ("status_polling",): polling.status_polling,
    ("status_growth",): polling.status_growth,
    claiming.CLAIMS: claiming.claiming,
    (one_block.WAITING, one_block.PIPELINED): one_block.thousand_accounts,
    (many_batches.MANY_BATCHES,): many_batches.many_batches,
    (many_batches.TWO_WORKERS,): many_batches.two_workers,
    (one_block.LATENCY,): one_block.latency,
    (one_block.DELIVERY, one_block.FEED): one_block.delivery,
    tuple(one_block.NODE_REQUESTS): one_block.node_requests,
    (one_block.AMSTERDAM_GAS,): one_block.amsterdam_gas,
    (lookups.LOOKUP,): lookups.lookup,
}
NAMES = tuple(name for names in MEASURES for name in names)


def bench() -> None:
    parser = ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "rows", nargs="*", metavar="ROW", help=f"all of them, or some of: {', '.join(NAMES)}"
    )
    parser.add_argument("--json", action="store_true", help="print a list of objects")
    parser.add_argument(
        "--small", action="store_true", help="small sizes, and no targets: only whether rows run"
    )
    is_small = "--small" in sys.argv
    for size in dataclasses.fields(Sizes):
        parser.add_argument(
            f"--{size.name.replace('_', '-')}",
            type=type(size.default),
            default=size.metadata["small"] if is_small else size.default,
            help=f"{size.metadata['what']} (%(default)s)",
        )
    arguments = parser.parse_args()
    wanted = frozenset(arguments.rows or NAMES)
    if unknown := sorted(wanted - set(NAMES)):
        raise BenchError(f"There is no row {unknown[0]}. There are: {', '.join(NAMES)}.")
    sizes = Sizes(
        **{field.name: getattr(arguments, field.name) for field in dataclasses.fields(Sizes)}
    )
    for name, value in dataclasses.asdict(sizes).items():
        if value <= 0:
            raise BenchError(f"--{name.replace('_', '-')} must be more than 0.")
    logging.disable(logging.WARNING)  # a line for each request that is answered in this process
    with _log_folder() as folder:
        rows = _measure_rows(Bench(sizes, wanted, folder, _say), as_json=arguments.json)
    if not is_small and (sentence := missed_targets(rows)):
        raise BenchError(sentence)


def _measure_rows(bench: Bench, *, as_json: bool) -> list[Row]:
    """Print each row as it is measured, or all as JSON, even if a later row fails."""
    rows: list[Row] = []
    if not as_json:
        machine = f"{connection.vendor}, {os.cpu_count()} processors"
        chain = f", nodes a chain: {bench.sizes.nodes}" if bench.sizes.nodes > 1 else ""
        _print(f"{machine}{chain}\n\n{head()}")
    try:
        for names, measure in MEASURES.items():
            wanted = [name for name in names if name in bench.wanted]
            if not wanted:
                continue
            bench.say(", ".join(wanted))
            for row in measure(bench):
                rows.append(row)
                if not as_json:
                    _print("\n".join(lines(row)))
    finally:
        if as_json:
            _print(json.dumps([to_json_object(row) for row in rows], indent=1))
    return rows


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _say(progress: str) -> None:
    sys.stderr.write(f"… {progress}\n")
    sys.stderr.flush()


@contextmanager
def _log_folder() -> Iterator[Path]:
    """Removed at the end, unless a row fails after a program was started."""
    folder = empty_folder(settings.DATA_DIR / f"bench-{os.getpid()}")
    try:
        yield folder
    except BaseException:
        if not any(folder.iterdir()):
            folder.rmdir()
        raise
    shutil.rmtree(folder)


if __name__ == "__main__":
    run(bench)
