"""What an operator can cause is told in one sentence."""

import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.commands import PRODUCTION, Manage, clean_environment
from tests.rigs.stub_node import LyingNode, lying_node, stall

pytestmark = pytest.mark.no_database


@pytest.mark.parametrize(
    ("command", "variables", "sentence"),
    [
        (
            ["migrate"],
            {"DATABASE_URL": "postgres://u:hunter2@127.0.0.1:1/n"},
            "The database cannot be used: connection ",
        ),
        (
            ["migrate"],
            {"DATABASE_URL": "sqlite:////dev/null/x.sqlite3"},
            "The database cannot be used: unable to open database file. Check DATABASE_URL or",
        ),
        (
            ["collectstatic", "--no-input"],
            {"STATIC_ROOT": "/dev/null/static"},
            "Tacitus cannot go on: [Errno 20] Not a directory: '/dev/null/static",
        ),
        (["migrate"], {"SECRET_KEY": ""}, "Tacitus cannot start. SECRET_KEY is not set."),
    ],
)
def test_it_is_one_sentence(
    manage: Manage, command: list[str], variables: dict[str, str], sentence: str
) -> None:
    ended = manage(*command, **PRODUCTION | variables)
    assert ended.returncode == 1
    assert ended.stderr.startswith(sentence)
    assert len(ended.stderr.splitlines()) == 1
    assert "hunter2" not in ended.stderr


def test_a_file_that_is_no_database_is_one_sentence(manage: Manage, tmp_path: Path) -> None:
    (tmp_path / "test.sqlite3").write_text(20 * "no database, but text ")
    ended = manage("migrate", **PRODUCTION)
    assert ended.returncode == 1
    assert ended.stderr == (
        "The database cannot be used: file is not a database. "
        "Check DATABASE_URL or DATABASE_URL_FILE.\n"
    )


def test_a_database_that_is_not_migrated_is_one_sentence(manage: Manage, tmp_path: Path) -> None:
    """For those that look first, and those that only meet a table that is not there."""
    routes = tmp_path / "routes.toml"
    routes.write_text(
        '[chains.1]\nname = "One"\nnodes = ["http://127.0.0.1:1"]\n[[registries]]\n'
        f'kind = "native"\nsource = 1\ndestination = 1\naddress = "0x{40 * "0"}"\n'
    )
    own = {"DEVELOPMENT": "1", "ROUTES_FILE": str(routes), "SIGNER_KEY": 64 * "1"}
    for command in (["run_prover"], ["attest", "--take"], ["changepassword", "x"]):
        ended = manage(*command, **own)
        assert ended.returncode == 1, command
        assert ended.stderr.endswith("The database is not migrated. Run: manage.py migrate\n")
        assert len(ended.stderr.splitlines()) == 1, ended.stderr


def test_ctrl_c_ends_a_command_without_a_trace(repository: Path, tmp_path: Path) -> None:
    asked = threading.Event()

    def stall_and_tell(node: LyingNode, question: Any) -> None:
        asked.set()
        stall(node, question)

    with lying_node(stall_and_tell) as address:
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
        assert asked.wait(30)
        command.send_signal(signal.SIGINT)
        _, said = command.communicate(timeout=30)
    assert (command.returncode, said) == (130, "Ended before it was done.\n")


def test_without_the_packages_it_says_how_to_get_them(repository: Path) -> None:
    # -S: without site-packages, as a Python that nothing was installed for.
    command = [sys.executable, "-S", "manage.py", "check"]
    ended = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr == (
        "Tacitus's packages are not installed for this Python: there is no django. After make "
        "setup it is .venv/bin/python manage.py; elsewhere, run: "
        "python -m pip install --require-hashes -r requirements.txt\n"
    )


def test_what_serves_nobody_needs_no_settings(manage: Manage) -> None:
    """Nor does building the contracts: see test_build."""
    ended = manage("attest", "--block", "1")
    assert ended.stderr == "CommandError: Name the chains: --source ID --destination ID.\n"


@pytest.mark.parametrize("asked", [[], ["help"], ["--help"]])
def test_our_commands_are_listed_without_any_settings(manage: Manage, asked: list[str]) -> None:
    listed = manage(*asked)
    assert listed.returncode == 0
    for part in ("[accounts]", "create_api_key", "[explorer]", "serve", "[queries]", "check_setup"):
        assert part in listed.stdout
    assert "settings are not properly configured" not in listed.stdout + listed.stderr
