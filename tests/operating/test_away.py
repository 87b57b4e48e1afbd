"""What runs for long, started before its database is there; systemd and Docker start it again."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import requests

from tests.commands import Manage, clean_environment
from tests.operating.postgres import USER, own_postgres
from tests.scenarios.service import SIGNER, SIGNER_KEY, Process, until
from tests.served import served

pytestmark = pytest.mark.no_database
ROUTES = f"""
[chains.1]
name = "One"
nodes = ["http://127.0.0.1:1"]

[chains.2]
name = "Two"
nodes = ["http://127.0.0.1:1"]

[[registries]]
kind = "attested"
source = 1
destination = 2
signers = ["{SIGNER}"]
threshold = 1
"""
GOING_ON = {
    "run_prover": "Proving on 1 route",
    "attest --watch --source 1 --destination 2": "Signing as",
}


@contextmanager
def started(command: str, folder: Path, settings: dict[str, str]) -> Iterator[Process]:
    name, *_ = arguments = command.split()
    environment = clean_environment(folder, **settings)
    with Process(arguments, folder / f"{name}.log", environment) as process:
        yield process


def test_they_end_with_a_sentence_and_start_once_the_database_is_there(
    repository: Path, tmp_path: Path, manage: Manage
) -> None:
    """The web server starts without it, and is not ready until then."""
    (tmp_path / "routes.toml").write_text(ROUTES)
    with own_postgres("hunter2") as server, ExitStack() as running:
        settings = {
            "DEVELOPMENT": "1",
            "DATABASE_URL": f"postgres://{USER}:hunter2@127.0.0.1:{server.port}/{USER}",
            "ROUTES_FILE": str(tmp_path / "routes.toml"),
            "SIGNER_KEY": SIGNER_KEY,
            "ATTESTER_KEY": SIGNER_KEY,
        }
        for command in ("migrate", *GOING_ON):
            ended = manage(*command.split(), **settings)
            assert ended.returncode == 1
            assert ended.stderr.startswith("The database cannot be used: connection "), command
            assert len(ended.stderr.splitlines()) == 1
            assert "hunter2" not in ended.stderr
        address = running.enter_context(served(repository, tmp_path, **settings))

        def readiness() -> tuple[int, str]:
            answer = requests.get(f"{address}/readyz", timeout=30)
            return answer.status_code, answer.json()["checks"]["database"]

        assert readiness() == (503, "unreachable")
        with server.initialising():
            pass
        running.enter_context(server.ready())
        until(lambda: readiness() == (503, "migrations are missing: run manage.py migrate"))
        assert manage("migrate", **settings).returncode == 0
        until(lambda: readiness() == (200, "ok"))
        for command, said in GOING_ON.items():
            running.enter_context(started(command, tmp_path, settings)).await_log(said)
