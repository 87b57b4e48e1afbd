"""Errors that an operator can cause are one sentence."""

import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.commands import PRODUCTION, Manage, clean_environment, run_program
from tests.rigs.stub_node import StubNode, stall, stub_node

pytestmark = pytest.mark.no_database


@pytest.mark.parametrize(
    ("command", "variables", "sentence"),
    [
        (
            ["migrate"],
            {"DATABASE_URL": "sqlite:////dev/null/x.sqlite3"},
            "The database cannot be used: unable to open database file. Check DATABASE_URL or",
        ),
        (
            ["collectstatic", "--no-input"],
            {"STATIC_ROOT": "/dev/null/static"},
            "Tacitus cannot continue: [Errno 20] Not a directory: '/dev/null/static",
        ),
    ],
)
def test_an_operators_error_is_one_sentence(
    manage: Manage, command: list[str], variables: dict[str, str], sentence: str
) -> None:
    completed = manage(*command, **PRODUCTION | variables)
    assert completed.returncode == 1
    assert completed.stderr.startswith(sentence)
    assert len(completed.stderr.splitlines()) == 1


def test_a_file_that_is_not_a_database_is_one_sentence(manage: Manage, tmp_path: Path) -> None:
    (tmp_path / "test.sqlite3").write_text(20 * "no database, but text ")
    completed = manage("migrate", **PRODUCTION)
    assert completed.returncode == 1
    assert completed.stderr == (
        "The database cannot be used: file is not a database. "
        "Check DATABASE_URL or DATABASE_URL_FILE.\n"
    )


def test_a_database_that_is_not_migrated_is_one_sentence(manage: Manage, tmp_path: Path) -> None:
    """Also of commands that do not check it first and fail at a missing table."""
    routes = tmp_path / "routes.toml"
    routes.write_text(
        '[chains.1]\nname = "One"\nnodes = ["http://127.0.0.1:1"]\n[[registries]]\n'
        f'kind = "native"\nsource = 1\ndestination = 1\naddress = "0x{40 * "0"}"\n'
    )
    settings = {"DEVELOPMENT": "1", "ROUTES_FILE": str(routes), "SIGNER_KEY": 64 * "1"}
    for command in (["run_prover"], ["attest", "--import", "-"], ["changepassword", "x"]):
        completed = manage(*command, **settings)
        assert completed.returncode == 1, command
        assert completed.stderr.endswith("The database is not migrated. Run: tacitus migrate\n")
        assert len(completed.stderr.splitlines()) == 1, completed.stderr


def test_ctrl_c_ends_a_command_without_a_traceback(repository: Path, tmp_path: Path) -> None:
    has_started = threading.Event()

    def signal_and_stall(node: StubNode, question: Any) -> None:
        has_started.set()
        stall(node, question)

    with stub_node(signal_and_stall) as address:
        routes = tmp_path / "routes.toml"
        routes.write_text(f'[chains.1]\nname = "One"\nnodes = ["{address}"]\n')
        command = subprocess.Popen(
            [sys.executable, "manage.py", "check_setup"],
            cwd=repository,
            env=clean_environment(tmp_path, DEVELOPMENT="1", ROUTES_FILE=str(routes)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert has_started.wait(30)
        command.send_signal(signal.SIGINT)
        _, message = command.communicate(timeout=30)
    assert (command.returncode, message) == (130, "Interrupted.\n")


def test_missing_packages_are_reported_with_instructions(repository: Path) -> None:
    command = [sys.executable, "-S", "manage.py", "check"]  # -S: without site-packages
    completed = run_program(command, cwd=repository)
    assert completed.returncode == 1
    assert completed.stderr == (
        "Tacitus's packages are not installed for this Python: django is missing. After make "
        "setup, use .venv/bin/python manage.py; elsewhere, run: "
        "python -m pip install --require-hashes -r requirements.txt\n"
    )


def test_commands_that_serve_no_requests_need_no_settings(manage: Manage) -> None:
    completed = manage("attest", "--block", "1")
    assert completed.stderr == "Name the chains: --source ID --destination ID.\n"


@pytest.mark.parametrize("arguments", [[], ["help"], ["--help"], ["help", "--commands"]])
def test_our_commands_are_listed_without_any_settings(manage: Manage, arguments: list[str]) -> None:
    completed = manage(*arguments)
    assert completed.returncode == 0
    for command in ("create_api_key", "serve", "check_setup"):
        assert command in completed.stdout
    assert "settings are not properly configured" not in completed.stdout + completed.stderr
