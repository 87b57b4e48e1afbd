"""Print Slither's findings as JSON, from our compiler's output (standard input).

Runs in the analyser's own environment, which does not have the project.
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

# Required, but not read: Slither analyses the syntax tree.
_NO_CODE = {"object": "", "sourceMap": ""}


class Built(SolcStandardJson):  # type: ignore[misc]
    """Compiled sources."""

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
    results = slither.run_detectors()
    return sorted(
        (
            {
                "detector": finding["check"],
                "impact": finding["impact"],
                "place": _place(finding),
                "description": " ".join(finding["description"].split()),
            }
            for detector_results in results
            for finding in detector_results
        ),
        key=lambda finding: (finding["detector"], finding["place"], finding["description"]),
    )


def _place(finding: dict[str, Any]) -> str:
    """The first element: its contract, function and variable."""
    names: list[str] = []
    element = finding["elements"][0]
    while element and element["type"] in {"contract", "function", "variable"}:
        names.insert(0, element["name"])
        element = element.get("type_specific_fields", {}).get("parent")
    return ".".join(names)


if __name__ == "__main__":
    arguments = json.load(sys.stdin)
    json.dump(findings(arguments["output"], arguments["version"]), sys.stdout)
