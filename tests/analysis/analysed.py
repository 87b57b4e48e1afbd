"""What the analyser finds in the contracts."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from queries.contracts.compiler import CONTRACTS, SETTINGS, run_compiler

REPOSITORY = Path(__file__).parents[2]
PYTHON = REPOSITORY / ".venv-analyser" / "bin" / "python"
_PROGRAM = Path(__file__).parent / "slither_run.py"
# The syntax trees are all that it looks at, and come in a tenth of the time.
_ASKED = {"*": {"*": ["abi"], "": ["ast"]}}


@dataclass(frozen=True, slots=True)
class Finding:
    detector: str
    impact: str
    confidence: str
    where: str
    says: str


def analysed(sources: Mapping[str, str]) -> list[Finding]:
    """In the contracts' sources, or in others."""
    packages = json.loads((CONTRACTS / "package.json").read_text())
    output = run_compiler(sources, {**SETTINGS, "outputSelection": _ASKED})
    ended = subprocess.run(
        [PYTHON, _PROGRAM],
        input=json.dumps({"output": output, "version": packages["devDependencies"]["solc"]}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=CONTRACTS,
    )
    return [Finding(**each) for each in json.loads(ended.stdout)]
