"""What only sign-in needs is slow to load: a command that signs nobody in is spared it."""

from pathlib import Path

import pytest

from tests.commands import PRODUCTION, Manage
from tests.served import served

pytestmark = pytest.mark.no_database

TOLD = {"PYTHONPROFILEIMPORTTIME": "1"}  # stderr names each module that is loaded


def _loaded(said: str) -> set[str]:
    return {
        line.rpartition("|")[2].strip().partition(".")[0]
        for line in said.splitlines()
        if line.startswith("import time:")
    }


def test_a_command_loads_nothing_of_it(manage: Manage) -> None:
    """`check` loads every page."""
    ended = manage("check", DEVELOPMENT="1", **TOLD)
    assert ended.returncode == 0, ended.stderr
    assert {"accounts", "explorer", "queries"} <= _loaded(ended.stderr)
    assert not {"abnf", "aiohttp", "siwe", "web3"} & _loaded(ended.stderr)


def test_in_production_the_first_visitor_does_not_wait_for_it(
    repository: Path, tmp_path: Path
) -> None:
    static = tmp_path / "static"
    static.mkdir()
    (static / "staticfiles.json").write_text('{"paths": {}, "version": "1.1", "hash": ""}')
    production = {**PRODUCTION, "BEHIND_PROXY": "1", "STATIC_ROOT": str(static)}
    with served(repository, tmp_path, **production, **TOLD):
        assert "siwe" in _loaded((tmp_path / "log").read_text())
