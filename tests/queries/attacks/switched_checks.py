"""One build of the contracts in which every check can be switched off.

Check number n is off while the balance of SWITCH is n. So the compiler runs once for all mutants,
constructors included, and testing one takes an eth_call or two.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from explorer.demo.local_node import LocalNode
from queries.contracts.compiler import SETTINGS, SOURCES, CompilerError
from tests.builds import SETTABLE, SETTABLE_FILE, compile_cached, sources_with_settable

REGISTRIES = (
    "NativeRegistry", "OptimismRegistry", "OutputRegistry", "ArbitrumRegistry", "AttestedRegistry",
)  # fmt: skip
ATTACKED = (*REGISTRIES, "FactsRouter", "DisputeGamesStandIn", "RollupStandIn")
CONTRACT_FILES = {name: SOURCES[name] for name in ATTACKED} | {SETTABLE: SETTABLE_FILE}
SWITCH = "0x00000000000000000000000000000000c4Ec0ff0"
_SWITCH_SOURCE = f"""
pragma solidity 0.8.37;
function intact(uint256 check) view returns (bool) {{
    return address({SWITCH}).balance != check;
}}
"""
# Little optimisation, which takes a third of the time.
_OPTIMIZER = {
    "enabled": False,
    "details": {"yul": True, "yulDetails": {"optimizerSteps": "u:fDnTOcmuO"}},
}


@dataclass(frozen=True)
class Check:
    """A check's exact text in a function, and the replacement that removes it."""

    contract: str
    function: str
    text: str
    replacement: str  # an expression; empty if the text is a whole statement
    attack: str  # the one that succeeds without it; for a guard, why none does
    error: str = ""  # if the text does not name it
    in_assembly: bool = False  # then text and replacement are expressions

    def __str__(self) -> str:
        return f"{self.contract}.{self.function}: {' '.join(self.text.split())[:60]}"


def function_span(source: str, function: str) -> tuple[int, int]:
    """The start and end of a function, or the constructor, in a source."""
    opening = "constructor(" if function == "constructor" else f"function {function}("
    (match,) = re.finditer(rf"^( *){re.escape(opening)}", source, re.MULTILINE)
    return match.start(), source.index(f"\n{match[1]}}}\n", match.start())


def switched_build(
    checks: Sequence[Check], files: Mapping[str, str] = CONTRACT_FILES
) -> dict[str, bytes]:
    """The bytecode of these contracts, with `checks` numbered from one."""
    return _switched_build(checks, tuple(files.items()))


@cache
def _switched_build(
    checks: Sequence[Check], files: tuple[tuple[str, str], ...]
) -> dict[str, bytes]:
    sources = sources_with_settable()
    numbered: dict[tuple[str, str, str], list[tuple[int, str]]] = {}
    assembly = {check.text for check in checks if check.in_assembly}
    for number, check in enumerate(checks, 1):
        place = (check.contract, check.function, check.text)
        numbered.setdefault(place, []).append((number, check.replacement))
    paths = {Path(file).stem: file for file in sources}
    for (contract, function, text), switches in numbered.items():
        file = paths[contract]
        start, end = function_span(sources[file], function)
        assert sources[file].count(text, start, end) == 1, f"{contract}.{function}: {text}"
        sources[file] = (
            sources[file][:start]
            + sources[file][start:end].replace(
                text, (_switched_assembly if text in assembly else _switched)(text, switches)
            )
            + sources[file][end:]
        )
    # A switch reads the chain, which a pure function must not.
    sources = {file: re.sub(r"\bpure\b", "view", text) for file, text in sources.items()}
    for file, text in sources.items():
        if file.startswith("interfaces/"):
            continue
        switch = "../Switch.sol" if "/" in file else "./Switch.sol"
        head, rest = text.split("pragma solidity 0.8.37;\n")
        sources[file] = f'{head}pragma solidity 0.8.37;\nimport {{intact}} from "{switch}";\n{rest}'
    sources["Switch.sol"] = _SWITCH_SOURCE
    selection = {file: {name: ["evm.bytecode.object"]} for name, file in files}
    output: Mapping[str, Any] = compile_cached(
        sources, {**SETTINGS, "optimizer": _OPTIMIZER, "outputSelection": selection}
    )
    errors = [m["formattedMessage"] for m in output["errors"] if m["severity"] == "error"]
    if errors:
        raise CompilerError("\n".join(errors))
    return {
        name: bytes.fromhex(output["contracts"][file][name]["evm"]["bytecode"]["object"])
        for name, file in files
    }


@contextmanager
def without(checks: Sequence[Check], check: Check | None, node: LocalNode) -> Iterator[None]:
    """Switch one of the checks off."""
    number = checks.index(check) + 1 if check else 0
    node.rpc.ask("anvil_setBalance", SWITCH, hex(number))
    try:
        yield
    finally:
        node.rpc.ask("anvil_setBalance", SWITCH, "0x0")


def assert_needed(
    checks: Sequence[Check], check: Check | None, node: LocalNode, succeeds: Callable[[str], bool]
) -> None:
    """Without a check its attack succeeds; with all of them (None), no attack of the table does."""
    names = {row.attack for row in checks} if check is None else {check.attack}
    with without(checks, check, node):
        assert {succeeds(name) for name in names} == {check is not None}


def _switched(text: str, switches: list[tuple[int, str]]) -> str:
    for number, replacement in switches:
        if replacement:
            text = f"(intact({number}) ? ({text}) : ({replacement}))"
        else:
            text = f"if (intact({number})) {{ {text} }}"
    return text


def _switched_assembly(text: str, switches: list[tuple[int, str]]) -> str:
    """Both are evaluated, and one of them is multiplied by zero."""
    for number, replacement in switches:
        is_off = f"eq(balance({SWITCH}), {number})"
        text = f"add(mul(iszero({is_off}), {text}), mul({is_off}, {replacement}))"
    return text
