"""The commands that the operators' guides show, and how they are run here."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.commands import REPOSITORY

GUIDES = [REPOSITORY / "explorer" / "docs" / f"{name}.md" for name in ("running", "operating")]
# One user runs all of it here.
SUDO = """
while [[ $1 == -* ]]; do if [ $1 = -u ]; then shift; fi; shift; done
exec env "$@"
"""
BLOCK = re.compile(r"^```sh\b[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def shown(part: str) -> str:
    """The block of commands that contains this text."""
    blocks = (block for guide in GUIDES for block in BLOCK.findall(guide.read_text()))
    (found,) = [block for block in blocks if part in block]
    return str(found)


def run(
    commands: str, folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """As someone types them into bash in `folder`; each command must succeed."""
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=folder,
        env={**environment, "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, f"{commands}\n{ended.stdout}\n{ended.stderr}"
    return ended


def stand_in(folder: Path, name: str, script: str) -> None:
    """A program of this name for commands that run in `folder`."""
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin" / name
    program.write_text(f"#!/bin/bash\n{script}\n")
    program.chmod(0o755)
