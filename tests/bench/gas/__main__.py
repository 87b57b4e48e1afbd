"""`make gas CORPUS=DIR`: what proofs cost, measured on a local chain with Osaka's rules.

Every recorded block of the folder is proven, and every fact is read back from the registry before
its figures are printed.
"""

import json
import re
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from accounts.shared.wording import counted
from tests.bench.command import run
from tests.bench.corpus import read_corpus
from tests.bench.gas.chains import RegistryKind
from tests.bench.gas.targets import summary
from tests.bench.gas.trials import Measured, measure

_LONG_HEX = re.compile(r"0x([0-9a-fA-F]{4})[0-9a-fA-F]{5,}([0-9a-fA-F]{4})")

_LEGEND = """\
execution  gas of the call itself, as the node traced it
total      what the transaction used, by Osaka's rules
floor      the least that its calldata costs (EIP-7623)
Every figure is of a transaction after which all its facts were read back from the registry.
"""

_REGISTRIES = {
    RegistryKind.NATIVE: "NativeRegistry, the block's hash in the history contract (EIP-2935)",
    RegistryKind.SETTABLE: "SettableRegistry, told the block, because no header was recorded",
    RegistryKind.SETTABLE_BY_HASH: (
        "SettableRegistry, told the block, accounts named by hash, because no address was recorded"
    ),
}
_OTHER_HEADINGS = {
    "reads": "measured as transactions; what a contract pays for one is the execution",
    "header": "one of the headers above again, for the target",
}


def report() -> None:
    parser = ArgumentParser(prog="make gas", description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True, help="the folder of *.json files")
    parser.add_argument("--json", action="store_true", help="a list of objects and no table")
    asked = parser.parse_args()
    files = read_corpus(asked.corpus)
    if asked.json:
        print_line(json.dumps([as_object(measured) for measured in measure(files)], indent=1))
        return
    print_line(_LEGEND.rstrip())
    everything: list[Measured] = []
    for measured in measure(files):
        for line in _lines(measured, everything[-1] if everything else None):
            print_line(line)
        everything.append(measured)
    for line in summary(everything):
        print_line(line)


def print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _lines(measured: Measured, before: Measured | None) -> Iterator[str]:
    """A row, below a heading if the file or the registry changes."""
    file, _, rest = measured.case.partition("/")
    group = (file, measured.registry)
    if before is None or group != (before.case.partition("/")[0], before.registry):
        yield ""
        yield f"{file}: {_OTHER_HEADINGS.get(file) or _REGISTRIES[measured.registry]}"
        yield _row("", "bytes", "execution", "total", "floor", "ratio", "facts", "")
    yield _row(
        _LONG_HEX.sub(r"0x\1…\2", rest),
        f"{measured.bytes:,}",
        f"{measured.execution_gas:,}",
        f"{measured.total_gas:,}",
        f"{measured.floor_gas:,}",
        f"{measured.total_gas / measured.floor_gas:.3f}",
        f"{measured.facts}",
        _remark(measured),
    )


def _row(name: str, *cells: str) -> str:
    widths = (8, 10, 10, 10, 6, 6)
    figures = " ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=False))
    return f"  {name:40} {figures}  {cells[-1]}".rstrip()


def _remark(measured: Measured) -> str:
    remarks = [measured.note] if measured.note else []
    if measured.per_account is not None:
        remarks.append(f"{measured.per_account:,} each")
    if measured.per_account is not None or measured.transactions > 1:
        remarks.append(counted(measured.transactions, "transaction"))
    return ", ".join(remarks)


def as_object(measured: Measured) -> dict[str, Any]:
    """A case as `--json` prints it."""
    written: dict[str, Any] = {
        "case": measured.case,
        "registry": measured.registry.name.lower(),
        "bytes": measured.bytes,
        "execution_gas": measured.execution_gas,
        "total_gas": measured.total_gas,
        "floor_gas": measured.floor_gas,
        "facts": measured.facts,
        "transactions": measured.transactions,
    }
    if measured.per_account is not None:
        written["per_account"] = measured.per_account
    if measured.note:
        written["note"] = measured.note
    if len(measured.ways) > 1:
        written["ways"] = measured.ways
    return written


if __name__ == "__main__":
    run(report)
