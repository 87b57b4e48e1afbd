"""The README's script, run as it stands there, against a server and a prover as they are run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import Manage
from tests.installation import HOLDER, Installation, installation
from tests.local_chain import ETHER
from tests.readme import batch_of, script

pytestmark = pytest.mark.no_database


def test_it_is_short_and_takes_nothing_but_requests(repository: Path) -> None:
    lines = [line for line in script(repository).splitlines() if line]
    assert len(lines) == 10
    assert max(map(len, lines)) <= 100
    imports = [line for line in lines if "import" in line]
    assert imports == ["import json, os, sys, time, requests as r"]


def test_it_submits_waits_and_reads_the_same_balance(
    repository: Path, tmp_path: Path, manage: Manage
) -> None:
    """And says in a sentence what is refused, at once or later."""
    with installation(repository, tmp_path, manage) as it:
        block = int(it.node.rpc.ask("eth_blockNumber"), 16) - 1
        right = _run(repository, it, it.key, block)
        unknown = _run(repository, it, "tct_wrong", block)
        ahead = _run(repository, it, it.key, block + 10_000)
    assert (right.stdout, right.stderr) == (2 * f"{123 * ETHER}\n", "")
    for refused, said in ((unknown, "This API key is not known"), (ahead, "is no block of chain")):
        assert (refused.returncode, refused.stdout) == (1, "")
        assert said in refused.stderr
        assert len(refused.stderr.splitlines()) == 1


def _run(
    repository: Path, it: Installation, key: str, block: int
) -> subprocess.CompletedProcess[str]:
    named = [it.address, it.node.url, it.registry, HOLDER, str(block)]
    return subprocess.run(
        [sys.executable, "-c", script(repository), *named],
        input=batch_of(repository, HOLDER, block),
        env={**os.environ, "TACITUS_KEY": key},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
