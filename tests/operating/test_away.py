"""What runs for long, started before its database is there; systemd and Docker start it again."""

from contextlib import closing
from pathlib import Path

import pytest
import requests

from tests.operating.postgres import USER, own_postgres
from tests.rigs.service import SIGNER, SIGNER_KEY, Service, until

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


def test_they_end_with_a_sentence_and_start_once_the_database_is_there(tmp_path: Path) -> None:
    """The web server starts without it, and is not ready until then."""
    with own_postgres("hunter2") as server:
        url = f"postgres://{USER}:hunter2@127.0.0.1:{server.port}/{USER}"
        with closing(Service(tmp_path, url)) as service:
            service.routes.write_text(ROUTES)
            service.settings["ATTESTER_KEY"] = SIGNER_KEY
            for command in ("migrate", *GOING_ON):
                ended = service.manage(*command.split(), fails=True)
                assert ended.stderr.startswith("The database cannot be used: connection "), command
                assert len(ended.stderr.splitlines()) == 1
                assert "hunter2" not in ended.stderr
            service.serve()

            def readiness() -> tuple[int, str]:
                answer = requests.get(f"{service.url}/readyz", timeout=30)
                return answer.status_code, answer.json()["checks"]["database"]

            assert readiness() == (503, "unreachable")
            with server.initialising():
                pass
            with server.ready():
                missing = "migrations are missing: run manage.py migrate"
                until(lambda: readiness() == (503, missing))
                service.manage("migrate")
                until(lambda: readiness() == (200, "ok"))
                for command, said in GOING_ON.items():
                    service.start(*command.split()).await_log(said)
                service.close()
