"""The wheel that `make packages` builds, installed where there is no clone."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import REPOSITORY, clean_environment, free_port, run_program

pytestmark = [pytest.mark.no_database, pytest.mark.installation]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the command `tacitus` of a new installation."""
    folder = tmp_path_factory.mktemp("installation")
    uv = shutil.which("uv") or "uv"
    _run([uv, "build", "--wheel", "--out-dir", folder, REPOSITORY], folder)
    (wheel,) = folder.glob("*.whl")
    _run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], folder)
    programs = folder / "venv" / "bin"
    _run([uv, "pip", "install", "--python", programs / "python", wheel], folder)
    return programs


def _run(command: list[str | Path], folder: Path, **variables: str) -> str:
    completed = run_program(command, cwd=folder, env=os.environ | variables)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def _tacitus(
    installed: Path, folder: Path, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = clean_environment(folder, **variables)
    path = f"{installed}:{environment['PATH']}"
    return run_program(["tacitus", *arguments], cwd=folder, env=environment | {"PATH": path})


def test_the_demo_proves_four_facts_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    demo = _tacitus(installed, tmp_path, "demo", "--once", "--port", str(free_port()))
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "Downloaded a local Ethereum node" in demo.stdout
    assert "The registries hold the same values as the chains." in demo.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["var"]


def test_the_commands_are_those_of_a_clone(installed: Path, tmp_path: Path) -> None:
    settings = {"DEVELOPMENT": "1", "DATABASE_URL": "", "DATA_DIR": str(tmp_path / "data")}
    unready = _tacitus(installed, tmp_path, "check_setup", **settings)
    assert "tacitus init writes such a file." in unready.stderr + unready.stdout
    migrated = _tacitus(installed, tmp_path, "migrate", **settings)
    assert migrated.returncode == 0, migrated.stderr
    assert (tmp_path / "data" / "tacitus.sqlite3").exists()
    collected = _tacitus(installed, tmp_path, "collectstatic", "--no-input", **settings)
    assert collected.returncode == 0, collected.stderr
    assert (tmp_path / "data" / "static" / "tacitus.css").exists()
    assert "check_setup" in _tacitus(installed, tmp_path, "help").stdout
