"""The README's script, run as it stands there, against a server and a prover as they are run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import Manage
from tests.installation import HOLDER, installation
from tests.queries.pipeline.service import CHAIN_ID

pytestmark = pytest.mark.no_database


def test_it_submits_waits_and_reads_the_same_balance(
    repository: Path, tmp_path: Path, manage: Manage
) -> None:
    readme = (repository / "README.md").read_text()
    script = re.search(r"```python\n(import sys.*?)```", readme, re.DOTALL)
    assert script
    with installation(repository, tmp_path, manage) as it:
        asked = [it.address, it.key, it.node.url, it.registry, str(CHAIN_ID), HOLDER]
        ended = subprocess.run(
            [sys.executable, "-c", script[1], *asked],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (ended.stdout, ended.stderr) == ("DONE 123.0 123.0\n", "")
