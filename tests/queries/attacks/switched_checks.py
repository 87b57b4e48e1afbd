"""The contracts with a switch for each of their checks, in one build.

Check number n is off while the balance of a certain address is n. So one run of the compiler gives
every mutant, constructors too, and a mutant is an eth_call or two.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from queries.contracts.compiler import SETTINGS, SOURCES, CompilerFailed
from tests.builds import SETTABLE, SETTABLE_FILE, compiled, sources_with_settable

CONTRACT_FILES = SOURCES | {SETTABLE: SETTABLE_FILE}
SWITCH = "0x00000000000000000000000000000000c4Ec0ff0"
_SWITCH_SOURCE = f"""
pragma solidity 0.8.37;
function intact(uint256 check) view returns (bool) {{
    return address({SWITCH}).balance != check;
}}
"""
# Hardly optimised: it is the meaning that counts, and this takes a third of the time.
_OPTIMIZER = {
    "enabled": False,
    "details": {"yul": True, "yulDetails": {"optimizerSteps": "u:fDnTOcmuO"}},
}


@dataclass(frozen=True)
class Check:
    """A check by its exact text in a function, and what stands there without it."""

    contract: str
    function: str
    text: str
    replacement: str  # an expression; nothing where the text is a whole statement
    attack: str  # the attack; for a guard, why there is none
    error: str = ""  # the error it leads to, where its text does not name it

    def __str__(self) -> str:
        return f"{self.contract}.{self.function}: {' '.join(self.text.split())[:60]}"


def function_span(source: str, function: str) -> tuple[int, int]:
    """Where a function, or the constructor, begins and ends in a source."""
    opening = "constructor(" if function == "constructor" else f"function {function}("
    found = list(re.finditer(rf"^( *){re.escape(opening)}", source, re.MULTILINE))
    assert len(found) == 1, f"{function} is defined {len(found)} times"
    return found[0].start(), source.index(f"\n{found[0][1]}}}\n", found[0].start())


@cache
def switched_build(checks: Sequence[Check]) -> dict[str, bytes]:
    """Each contract's bytecode, with `checks` numbered from one."""
    sources = sources_with_settable()
    numbered: dict[tuple[str, str, str], list[tuple[int, str]]] = {}
    for number, check in enumerate(checks, 1):
        place = (check.contract, check.function, check.text)
        numbered.setdefault(place, []).append((number, check.replacement))
    for (contract, function, text), switches in numbered.items():
        file = f"{contract}.sol"
        start, end = function_span(sources[file], function)
        assert sources[file].count(text, start, end) == 1, f"{contract}.{function}: {text}"
        at = sources[file].index(text, start, end)
        switched = _switched(text, switches)
        sources[file] = sources[file][:at] + switched + sources[file][at + len(text) :]
    # A switch is read from the chain's state, which no pure function may.
    sources = {file: re.sub(r"\bpure\b", "view", text) for file, text in sources.items()}
    for file, text in sources.items():
        if file.startswith("interfaces/"):
            continue
        switch = "../Switch.sol" if "/" in file else "./Switch.sol"
        head, rest = text.split("pragma solidity 0.8.37;\n")
        sources[file] = f'{head}pragma solidity 0.8.37;\nimport {{intact}} from "{switch}";\n{rest}'
    sources["Switch.sol"] = _SWITCH_SOURCE
    selection = {file: {name: ["evm.bytecode.object"]} for name, file in CONTRACT_FILES.items()}
    output: Mapping[str, Any] = compiled(
        sources, {**SETTINGS, "optimizer": _OPTIMIZER, "outputSelection": selection}
    )
    refused = [m["formattedMessage"] for m in output["errors"] if m["severity"] == "error"]
    if refused:
        raise CompilerFailed("\n".join(refused))
    return {
        name: bytes.fromhex(output["contracts"][file][name]["evm"]["bytecode"]["object"])
        for name, file in CONTRACT_FILES.items()
    }


def _switched(text: str, switches: list[tuple[int, str]]) -> str:
    for number, replacement in switches:
        if replacement:
            text = f"(intact({number}) ? ({text}) : ({replacement}))"
        else:
            text = f"if (intact({number})) {{ {text} }}"
    return text
