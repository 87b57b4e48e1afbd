"""Slither's findings as JSON, from what our own compiler made of the sources (standard input).

Runs in the analyser's own environment, in the folder of the contracts; nothing of the project is
there to import.
"""

import inspect
import json
import sys
from typing import Any

from crytic_compile import CryticCompile
from crytic_compile.compilation_unit import CompilationUnit
from crytic_compile.compiler.compiler import CompilerVersion
from crytic_compile.platform.solc_standard_json import SolcStandardJson, parse_standard_json_output
from slither import Slither
from slither.detectors import all_detectors
from slither.detectors.abstract_detector import AbstractDetector

# It asks of these only that they are there: what it looks at is the syntax tree.
_NO_CODE = {"object": "", "sourceMap": ""}


class Built(SolcStandardJson):  # type: ignore[misc]
    """Sources that are compiled already."""

    def __init__(self, output: dict[str, Any], version: str) -> None:
        super().__init__({"language": "Solidity"})
        self._output = output
        self._version = version

    def compile(self, crytic_compile: CryticCompile, **_options: object) -> None:
        unit = CompilationUnit(crytic_compile, "built")
        unit.compiler_version = CompilerVersion("solc", self._version, optimized=True)
        for contracts in self._output["contracts"].values():
            for contract in contracts.values():
                contract["evm"] = {"bytecode": _NO_CODE, "deployedBytecode": _NO_CODE}
        parse_standard_json_output(self._output, unit)


def findings(output: dict[str, Any], version: str) -> list[dict[str, str]]:
    slither = Slither(CryticCompile(Built(output, version)))
    for detector in vars(all_detectors).values():
        if inspect.isclass(detector) and issubclass(detector, AbstractDetector):
            slither.register_detector(detector)
    found = [finding for of_detector in slither.run_detectors() for finding in of_detector]
    return sorted(
        (
            {
                "detector": finding["check"],
                "impact": finding["impact"],
                "where": _where(finding),
                "says": " ".join(finding["description"].split()),
            }
            for finding in found
        ),
        key=lambda finding: (finding["detector"], finding["where"], finding["says"]),
    )


def _where(finding: dict[str, Any]) -> str:
    """What it names first, with what that is part of: a contract, a function, a variable."""
    names: list[str] = []
    element = finding["elements"][0]
    while element and element["type"] in {"contract", "function", "variable"}:
        names.insert(0, element["name"])
        element = element.get("type_specific_fields", {}).get("parent")
    return ".".join(names)


if __name__ == "__main__":
    given = json.load(sys.stdin)
    json.dump(findings(given["output"], given["version"]), sys.stdout)
