"""`make analyse`: compare Slither's findings with the explained ones; exit 1 if they differ."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from queries.contracts.compiler import CONTRACTS, SETTINGS, read_sources, run_compiler
from tests.analysis.explained import EXPLAINED

REPOSITORY = Path(__file__).parents[2]
PYTHON = REPOSITORY / ".venv-analyser" / "bin" / "python"
PROGRAM = Path(__file__).parent / "slither_run.py"
# Slither needs only the syntax trees, which take a tenth of the time.
OUTPUT_SELECTION = {"*": {"*": ["abi"], "": ["ast"]}}


def main() -> int:
    explained = {(row.detector, row.impact, place) for row in EXPLAINED for place in row.places}
    findings = run_analyser()
    found = {(row["detector"], row["impact"], row["place"]): row["description"] for row in findings}
    for detector, impact, place in sorted(found.keys() - explained):
        description = found[detector, impact, place]
        sys.stdout.write(f"Not explained: {impact} {detector}: {description}\n")
    for detector, _, place in sorted(explained - found.keys()):
        sys.stdout.write(f"Explained but not found: {detector} in {place}\n")
    sys.stdout.write(f"{len(findings)} findings at {len(found)} places\n")
    return 1 if found.keys() != explained else 0


def run_analyser() -> list[dict[str, str]]:
    packages: dict[str, Any] = json.loads((CONTRACTS / "package.json").read_text())
    output = run_compiler(read_sources(), {**SETTINGS, "outputSelection": OUTPUT_SELECTION})
    process = subprocess.run(
        [PYTHON, PROGRAM],
        input=json.dumps({"output": output, "version": packages["devDependencies"]["solc"]}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=CONTRACTS,
    )
    findings: list[dict[str, str]] = json.loads(process.stdout)
    return findings


if __name__ == "__main__":
    sys.exit(main())
