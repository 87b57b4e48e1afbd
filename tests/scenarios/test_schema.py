"""A database that another version of the code has made, and no migration can change."""

import re

import pytest
import requests

from tests.commands import free_port
from tests.rigs.anvil import Chain
from tests.scenarios.fixtures import NewService

COST_COLUMNS = (
    "chain bigint PRIMARY KEY, transactions bigint NOT NULL, gas bigint NOT NULL, "
    "spent varchar(64) NOT NULL"
)


def test_tables_of_another_version_are_found_before_anything_runs(
    new_service: NewService, chain: Chain
) -> None:
    """One that has only added columns does no harm."""
    service = new_service()
    service.add_native_chain(chain)
    service.execute("ALTER TABLE queries_feed ADD COLUMN added integer NOT NULL DEFAULT 1")
    server = service.serve()

    def fault() -> str:
        answer = requests.get(f"{service.url}/readyz", timeout=10)
        assert answer.status_code == 503
        return str(answer.json()["checks"]["database"])

    service.execute("DROP INDEX queries_jobtx_open_pieces")  # no piece is paid for twice
    assert "queries_jobtransaction has no queries_jobtx_open_pieces" in fault()
    service.execute(
        "CREATE UNIQUE INDEX queries_jobtx_open_pieces ON queries_jobtransaction "
        "(job_id, pieces_digest) WHERE open AND pieces_digest <> ''"
    )
    service.execute("ALTER TABLE queries_chaincost RENAME TO queries_away")
    assert "queries_chaincost has no column chain" in fault()
    service.execute(f"CREATE TABLE queries_chaincost ({COST_COLUMNS}, price bigint NOT NULL)")
    assert "queries_chaincost needs a value in the column price" in fault()
    service.execute("DROP TABLE queries_chaincost")
    service.execute("ALTER TABLE queries_away RENAME TO queries_chaincost")
    service.execute("ALTER TABLE queries_feed RENAME COLUMN request TO body")
    assert fault() == (
        "The database is that of another version (queries_feed has no column request): run that "
        "version, or give this one an empty database and run tacitus migrate"
    )

    last_line = service.manage("check_setup", fails=True).stdout.splitlines()[-1]
    assert last_line.startswith("not ok")
    assert last_line.endswith(f"  {fault()}")
    for command in (["serve", "--port", str(free_port())], ["run_prover"]):
        assert service.manage(*command, fails=True).stderr == f"{fault()}\n"
    broker = f"redis://127.0.0.1:{free_port()}/0"
    with pytest.raises(AssertionError, match=re.escape(f"Tacitus cannot start. {fault()}")):
        service.work(PROVER_ENGINE="celery", CELERY_BROKER=broker)

    service.execute("ALTER TABLE queries_feed RENAME COLUMN body TO request")
    assert requests.get(f"{service.url}/readyz", timeout=10).ok
    assert server.runs
