"""Long-running commands end without their database; systemd and Docker restart them."""

from contextlib import closing
from pathlib import Path

import pytest
import requests

from tests.operating.postgres import USER, new_postgres
from tests.rigs.service import SIGNER, SIGNER_KEY, Service, wait_until

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
LONG_RUNNING = {
    "run_prover": "Proving on 1 route",
    "attest --watch --source 1 --destination 2": "Signing as",
}


def test_commands_without_their_database_end_with_a_sentence_and_can_be_restarted(
    tmp_path: Path,
) -> None:
    """The web server starts without it, but is not ready."""
    with new_postgres("hunter2") as server:
        url = f"postgres://{USER}:hunter2@127.0.0.1:{server.port}/{USER}"
        with closing(Service(tmp_path, url)) as service:
            service.routes.write_text(ROUTES)
            service.settings["ATTESTER_KEY"] = SIGNER_KEY
            for command in ("migrate", *LONG_RUNNING):
                completed = service.manage(*command.split(), fails=True)
                assert completed.stderr.startswith("The database cannot be used: connection "), (
                    command
                )
                assert len(completed.stderr.splitlines()) == 1
                assert "hunter2" not in completed.stderr
            service.serve()

            def readiness() -> tuple[int, str]:
                response = requests.get(f"{service.url}/readyz", timeout=30)
                return response.status_code, response.json()["checks"]["database"]

            assert readiness() == (503, "unreachable")
            with server.while_initialising():
                pass
            with server.while_running():
                missing = "The database is not migrated. Run: tacitus migrate"
                wait_until(lambda: readiness() == (503, missing))
                service.manage("migrate")
                wait_until(lambda: readiness() == (200, "ok"))
                for command, line in LONG_RUNNING.items():
                    service.start(*command.split()).await_log(line)
                service.close()
