"""`make gas CORPUS=DIR`: the gas of proofs, measured on a local chain with Osaka's rules.

It proves every recorded block of the folder, and reads every fact back from the registry before it
prints the figures.
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
execution  gas of the call itself, from the node's trace
total      gas used by the transaction
floor      minimum gas for its calldata (EIP-7623)
All facts were read back from the registry after each transaction.
"""

_REGISTRIES = {
    RegistryKind.NATIVE: "NativeRegistry, block hash from the history contract (EIP-2935)",
    RegistryKind.SETTABLE: "SettableRegistry with the block set by hand: no header was recorded",
    RegistryKind.SETTABLE_BY_HASH: (
        "SettableRegistry with the block set by hand, accounts by hash: no address was recorded"
    ),
}
_OTHER_HEADINGS = {
    "reads": "measured as transactions; a contract pays the execution",
    "header": "the most expensive of the headers above, for the target",
}


def report() -> None:
    parser = ArgumentParser(prog="make gas", description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True, help="the folder of *.json files")
    parser.add_argument("--json", action="store_true", help="print a list of objects")
    arguments = parser.parse_args()
    files = read_corpus(arguments.corpus)
    if arguments.json:
        print_line(json.dumps([as_object(measured) for measured in measure(files)], indent=1))
        return
    print_line(_LEGEND.rstrip())
    results: list[Measured] = []
    for measured in measure(files):
        for line in _lines(measured, results[-1] if results else None):
            print_line(line)
        results.append(measured)
    for line in summary(results):
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
        remarks.append(f"{measured.per_account:,} per account")
    if measured.per_account is not None or measured.transactions > 1:
        remarks.append(counted(measured.transactions, "transaction"))
    return ", ".join(remarks)


def as_object(measured: Measured) -> dict[str, Any]:
    """A case as `--json` prints it."""
    content: dict[str, Any] = {
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
        content["per_account"] = measured.per_account
    if measured.note:
        content["note"] = measured.note
    if len(measured.variants) > 1:
        content["variants"] = measured.variants
    return content


if __name__ == "__main__":
    run(report)
