"""`make analyse`: every finding of the analyser, with why it is no fault; 1 where one is new."""

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
# The syntax trees are all that it looks at, and come in a tenth of the time.
ASKED = {"*": {"*": ["abi"], "": ["ast"]}}


def main() -> int:
    explained = {(row.detector, row.impact, place) for row in EXPLAINED for place in row.places}
    findings = analysed()
    found = {(each["detector"], each["impact"], each["where"]): each["says"] for each in findings}
    for detector, impact, place in sorted(found.keys() - explained):
        says = found[detector, impact, place]
        sys.stdout.write(f"Not explained: {impact} {detector}: {says}\n")
    for detector, _, place in sorted(explained - found.keys()):
        sys.stdout.write(f"Explained, and no longer found: {detector} in {place}\n")
    sys.stdout.write(f"{len(findings)} findings at {len(found)} places\n")
    return 1 if found.keys() != explained else 0


def analysed() -> list[dict[str, str]]:
    """What it finds in the contracts."""
    packages: dict[str, Any] = json.loads((CONTRACTS / "package.json").read_text())
    output = run_compiler(read_sources(), {**SETTINGS, "outputSelection": ASKED})
    ended = subprocess.run(
        [PYTHON, PROGRAM],
        input=json.dumps({"output": output, "version": packages["devDependencies"]["solc"]}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=CONTRACTS,
    )
    findings: list[dict[str, str]] = json.loads(ended.stdout)
    return findings


if __name__ == "__main__":
    sys.exit(main())
