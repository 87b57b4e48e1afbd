"""Everything moves from SQLite to PostgreSQL, and goes on there."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.operating.postgres import USER, new_postgres
from tests.rigs.anvil import Chain
from tests.rigs.service import HOLDER, OWNERS, Service, accounts, request

pytestmark = pytest.mark.no_database


def test_what_was_proven_waits_and_repeats_goes_on_in_postgresql(
    tmp_path: Path, new_chain: Callable[..., Chain]
) -> None:
    chain = new_chain()
    with (
        new_postgres("hunter2") as server,
        closing(Service(tmp_path, f"sqlite:///{tmp_path / 'tacitus.sqlite3'}")) as service,
    ):
        service.manage("migrate")
        key = service.manage("create_api_key", "--owner", OWNERS[0]).stdout.strip()
        service.keys = (key,)
        service.add_native_chain(chain)
        chain.mine(20)
        server_process, prover = service.serve(), service.prove()
        done = service.submit_balance(5)
        service.wait(done)
        expected = service.status(done)
        waiting = service.submit_balance(60)
        service.wait_for(waiting, "block_not_final")
        feed = _make_feed(service)

        address = tmp_path / "database_url"
        address.write_text(f"postgres://{USER}:hunter2@127.0.0.1:{server.port}/{USER}\n")
        with server.while_initialising():
            pass
        with server.while_running():
            prover.stop()
            server_process.stop()
            service.execute("UPDATE queries_chainrecord SET lease_until = '2100-01-01'")
            busy = service.manage("move_to", str(address), fails=True).stderr
            assert busy.startswith("A prover or a worker is at work.")
            service.execute("UPDATE queries_chainrecord SET lease_until = NULL")

            moved = service.manage("move_to", str(address)).stdout
            assert "Never start it with the old file again" in moved
            again = service.manage("move_to", str(address), fails=True).stderr
            assert again.startswith("That database is not empty")
            assert "hunter2" not in moved + again

            service.database = service.settings["DATABASE_URL"] = address.read_text().strip()
            with service.serve(), service.prove():
                assert service.status(done) == expected
                chain.mine(100)
                service.wait(waiting)
                newer = service.submit_balance(6)
                service.wait(newer)
                assert service.get(f"/feeds/{feed}").json()["id"] == feed
                service.check_facts()


def _make_feed(service: Service) -> str:
    batch = request({31337: {"block:$due": accounts(HOLDER)}})
    answer = service.post("/feeds", {"every": "1000 blocks", "batch": batch})
    return str(answer.json()["id"])
