"""`make gas`: the gas of proofs, measured on a local chain with Osaka's rules.

It proves every block of `tests/corpus`, or of the folder in `CORPUS=`, and reads every fact back
from the registry before it prints the figures.
"""

import json
import re
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from accounts.wording import format_count
from queries.proving.packing import OSAKA
from tests.bench.command import run
from tests.bench.corpus import read_corpus
from tests.bench.gas.beacon import beacon_lines
from tests.bench.gas.chains import RegistryKind
from tests.bench.gas.deliveries import delivery_lines
from tests.bench.gas.events import event_lines
from tests.bench.gas.lookups import lookup_lines
from tests.bench.gas.rollups import rollup_lines
from tests.bench.gas.targets import AMSTERDAM, summary
from tests.bench.gas.trials import Measurement, measure

_LONG_HEX = re.compile(r"0x([0-9a-fA-F]{4})[0-9a-fA-F]{5,}([0-9a-fA-F]{4})")

_LEGEND = """\
execution  gas of the call itself, from the node's trace
total      gas used by the transaction
floor      minimum gas for its calldata (EIP-7623)
amsterdam  total of the call that is cheapest by that fork's draft, replayed in @ethereumjs/vm
All facts were read back from the registry after each transaction.
"""

_REGISTRIES = {
    RegistryKind.NATIVE: "NativeRegistry, block hash from the history contract (EIP-2935)",
    RegistryKind.SETTABLE: "SettableRegistry with the block set by hand: no header was recorded",
    RegistryKind.SETTABLE_BY_HASH: (
        "SettableRegistry with the block set by hand, accounts by hash: no address was recorded"
    ),
}
_HEADER_HEADING = "the most expensive of the headers above, for the target"


def report() -> None:
    parser = ArgumentParser(prog="make gas", description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True, help="the folder of *.json files")
    parser.add_argument("--json", action="store_true", help="print a list of objects")
    arguments = parser.parse_args()
    files = read_corpus(arguments.corpus)
    if arguments.json:
        print_line(
            json.dumps([to_json_object(measurement) for measurement in measure(files)], indent=1)
        )
        return
    print_line(_LEGEND.rstrip())
    print_line(
        f"By Osaka's prices, {OSAKA.sentence}; by Amsterdam's draft as @ethereumjs/vm has it, "
        f"{AMSTERDAM.sentence}."
    )
    results: list[Measurement] = []
    for measurement in measure(files):
        for line in _lines(measurement, results[-1] if results else None):
            print_line(line)
        results.append(measurement)
    events = arguments.corpus / "events"
    tables = summary(results), event_lines(events), lookup_lines(files), rollup_lines()
    for line in chain(*tables, beacon_lines(arguments.corpus), delivery_lines()):
        print_line(line)


def print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _lines(measurement: Measurement, before: Measurement | None) -> Iterator[str]:
    """A row, below a heading if the file or the registry changes."""
    file, _, rest = measurement.case.partition("/")
    group = (file, measurement.registry)
    if before is None or group != (before.case.partition("/")[0], before.registry):
        yield ""
        heading = _HEADER_HEADING if file == "header" else _REGISTRIES[measurement.registry]
        yield f"{file}: {heading}"
        yield _row("", "bytes", "execution", "total", "floor", "ratio", "amsterdam", "facts", "")
    yield _row(
        _LONG_HEX.sub(r"0x\1…\2", rest),
        f"{measurement.bytes:,}",
        f"{measurement.execution_gas:,}",
        f"{measurement.total_gas:,}",
        f"{measurement.floor_gas:,}",
        f"{measurement.total_gas / measurement.floor_gas:.3f}",
        f"{measurement.amsterdam_gas:,}",
        f"{measurement.facts}",
        _remark(measurement),
    )


def _row(name: str, *cells: str) -> str:
    widths = (8, 10, 10, 10, 6, 10, 6)
    figures = " ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=False))
    return f"  {name:40} {figures}  {cells[-1]}".rstrip()


def _remark(measurement: Measurement) -> str:
    remarks = [measurement.note] if measurement.note else []
    if measurement.per_account is not None:
        remarks.append(f"{measurement.per_account:,} per account")
    if measurement.per_account is not None or measurement.transactions > 1:
        remarks.append(format_count(measurement.transactions, "transaction"))
    return ", ".join(remarks)


def to_json_object(measurement: Measurement) -> dict[str, Any]:
    """A case as `--json` prints it."""
    content: dict[str, Any] = {
        "case": measurement.case,
        "registry": measurement.registry.name.lower(),
        "bytes": measurement.bytes,
        "execution_gas": measurement.execution_gas,
        "total_gas": measurement.total_gas,
        "floor_gas": measurement.floor_gas,
        "amsterdam_gas": measurement.amsterdam_gas,
        "facts": measurement.facts,
        "transactions": measurement.transactions,
    }
    if measurement.per_account is not None:
        content["per_account"] = measurement.per_account
    if measurement.note:
        content["note"] = measurement.note
    if len(measurement.variants) > 1:
        content["variants"] = measurement.variants
    return content


if __name__ == "__main__":
    run(report)
