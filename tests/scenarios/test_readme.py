"""What the README shows works as it stands there."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.service import HELD, HOLDER, REPOSITORY, Service, accounts


def _first_block(language: str) -> str:
    found = re.search(f"```{language}\n(.*?)```", (REPOSITORY / "README.md").read_text(), re.DOTALL)
    assert found
    return found[1]


def test_the_script_of_the_readme_reads_the_balance_it_asked_for(
    shared: Service, tmp_path: Path
) -> None:
    block = str(shared.chain.mine(2) - 1)
    registry = shared.registries[31337, 31337]
    (tmp_path / "ask.py").write_text(_first_block("python"))
    batch = _first_block("json").replace("BLOCK", block).replace("ACCOUNT", HOLDER)
    arguments = [shared.url, shared.chain.url, registry, HOLDER, block]
    ended = subprocess.run(
        [sys.executable, str(tmp_path / "ask.py"), *arguments],
        input=batch,
        env={"TACITUS_KEY": shared.keys[0]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.stdout == f"{HELD}\n{HELD}\n", ended.stderr


@pytest.mark.parametrize(
    ("data", "told"),
    [({}, "data"), ({"31337": {"timestamp:1": accounts(HOLDER)}}, "earliest time")],
    ids=["refused", "rejected"],
)
def test_the_script_of_the_readme_ends_with_the_servers_error(
    shared: Service, tmp_path: Path, data: dict[str, Any], told: str
) -> None:
    (tmp_path / "ask.py").write_text(_first_block("python"))
    ended = subprocess.run(
        [sys.executable, str(tmp_path / "ask.py"), shared.url, "", "", HOLDER, "1"],
        input=json.dumps({"destinationChainId": "31337", "fee": "0", "data": data}),
        env={"TACITUS_KEY": shared.keys[0]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert told in ended.stderr
