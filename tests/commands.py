"""Running `manage.py` in its own process, with a clean environment."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest

REPOSITORY = Path(__file__).parent.parent
PRODUCTION = {
    "SECRET_KEY": "a-long-key-for-the-tests-alone-0123456789-abcdefghijklmnop",
    "SITE_URL": "https://proofs.example.org",
}


class Manage(Protocol):
    def __call__(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]: ...


def clean_environment(folder: Path, **variables: str) -> dict[str, str]:
    """An environment with these variables, a database in `folder`, and nothing of the machine."""
    base = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return base | {"DATABASE_URL": f"sqlite:///{folder}/test.sqlite3"} | variables


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def manage(repository: Path, tmp_path: Path) -> Manage:
    """Run `manage.py` with a database in `tmp_path`."""

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=repository,
            env=clean_environment(tmp_path, **variables),
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    return run
