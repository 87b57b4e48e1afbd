"""The measuring programs as processes, for tests of what they print."""

import subprocess
import sys
from pathlib import Path

from tests.commands import clean_environment

REPOSITORY = Path(__file__).parents[2]


def measured(
    module: str, folder: Path, *options: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """`python -m` with this module, run to its end."""
    return subprocess.run(
        [sys.executable, "-m", module, *options],
        cwd=REPOSITORY,
        env=clean_environment(folder, **variables),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
