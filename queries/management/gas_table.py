"""The gas report as lines for a terminal, and as objects for a program."""

import re
from collections.abc import Iterator
from typing import Any

from accounts.counting import counted
from queries.chain.gas.chains import RegistryKind
from queries.chain.gas.trials import Measured

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


class GasTable:
    """Writes rows as they come, under a heading for each file and registry."""

    def __init__(self) -> None:
        self._group: tuple[str, RegistryKind] | None = None

    def head(self) -> Iterator[str]:
        yield from _LEGEND.splitlines()

    def lines(self, measured: Measured) -> Iterator[str]:
        file, _, rest = measured.case.partition("/")
        if self._group != (file, measured.registry):
            self._group = (file, measured.registry)
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
        if measured.parts and file != "reads":
            yield f"      {_why_above(measured)}"


def as_object(measured: Measured) -> dict[str, Any]:
    """A case as `--json` writes it."""
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
    if measured.above_floor:
        written["above_floor"] = {"gas": measured.above_floor, "execution": measured.parts}
    return written


def _row(name: str, *cells: str) -> str:
    widths = (8, 10, 10, 10, 6, 6)
    figures = " ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=False))
    return f"  {name:40} {figures}  {cells[-1]}".rstrip()


def _remark(measured: Measured) -> str:
    remarks = [measured.note] if measured.note else []
    if measured.per_account is not None:
        count = measured.transactions
        remarks.append(f"{measured.per_account:,} each")
        remarks.append(counted(count, "transaction"))
    elif measured.transactions > 1:
        remarks.append(counted(measured.transactions, "transaction"))
    return ", ".join(remarks)


def _why_above(measured: Measured) -> str:
    covered = measured.execution_gas - measured.above_floor
    parts = ", ".join(f"{name} {gas:,}" for name, gas in measured.parts.items())
    above = f"{measured.above_floor:,} above the floor"
    return f"{above}, which pays for {covered:,} of execution: {parts}"
