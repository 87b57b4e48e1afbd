"""Finds the commands in the operators' guides, and runs them."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.commands import REPOSITORY, run_program

GUIDES = [REPOSITORY / "explorer" / "docs" / f"{name}.md" for name in ("running", "operating")]
# Here one user runs all commands.
SUDO = """
while [[ $1 == -* ]]; do if [ $1 = -u ]; then shift; fi; shift; done
exec env "$@"
"""
AGREEING = 9 * "y\n"  # to each question, such as before a deployment
BLOCK = re.compile(r"^```sh\b[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def find_commands(part: str) -> str:
    """Return the only block of commands that contains this text."""
    blocks = (block for guide in GUIDES for block in BLOCK.findall(guide.read_text()))
    (match,) = [block for block in blocks if part in block]
    return str(match)


def run(
    commands: str, folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run commands with bash in `folder`; every command must succeed."""
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    completed = run_program(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=folder,
        env={**environment, "PATH": path},
        input=AGREEING,
    )
    assert completed.returncode == 0, f"{commands}\n{completed.stdout}\n{completed.stderr}"
    return completed


def write_stand_in(folder: Path, name: str, script: str) -> None:
    """Write a program that commands in `folder` find by this name."""
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin" / name
    program.write_text(f"#!/bin/bash\n{script}\n")
    program.chmod(0o755)
