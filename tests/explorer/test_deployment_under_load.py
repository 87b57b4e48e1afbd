"""An upgrade while clients submit: migrate, then restart. No request fails."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import requests

from tests.commands import free_port
from tests.rigs.anvil import Chain
from tests.rigs.proxy import running_proxy
from tests.rigs.service import HOLDER, SIGNER, Service, accounts, request, wait_until

BLOCKS = 10  # few, so that most requests are for proven blocks
VISITORS, READERS, PAUSE = 4, 2, 0.1
MIN_PAGES = 10  # read in all
COUNT = "from queries.models import Batch; print(Batch.objects.count())"
# A migration of the busiest tables, as the next version may have it.
NEXT_MIGRATION = """
from django.db import migrations, models

class Migration(migrations.Migration):
    dependencies = [("queries", "0001_initial")]
    operations = [
        migrations.AddField("batch", "note", models.TextField(null=True)),
        migrations.AddField("query", "weight", models.IntegerField(db_default=1)),
        migrations.CreateModel("Later", [("id", models.BigAutoField(primary_key=True))]),
    ]
"""
SETTINGS = "from explorer.settings import *\nMIGRATION_MODULES = {'queries': 'later_migrations'}\n"
FILL = "from tests.bench.past import fill; fill(20_000)"
LOCK_TIMEOUT = {"PGOPTIONS": "-c lock_timeout=500ms"}


def test_no_request_fails_and_no_batch_is_lost_or_doubled(
    repository: Path, tmp_path: Path, new_service: Callable[[], Service], chain: Chain
) -> None:
    """Without an Idempotency-Key, so that a repeated submission would be counted twice."""
    service, port = new_service(), free_port()
    service.add_chain(chain)
    service.add_registry("native", chain, chain)
    service.settings |= {"BEHIND_PROXY": "1", "LOG_LEVEL": "WARNING"}
    if service.database.startswith("postgres"):  # SQLite would lock for too long
        service.manage("shell", "--command", FILL)
    server = service.start("serve", f"--port={port}", "--workers=2")
    prover = service.prove()
    server.await_log("Tacitus is at")
    with running_proxy(repository, tmp_path, f"127.0.0.1:{port}") as service.url:
        service.wait(service.submit_balance(1))  # the server needs a head
        initial = _batch_count(service)

        def submit(number: int) -> requests.Response:
            content = request({31337: {2 + number % BLOCKS: accounts(HOLDER)}})
            return service.post("/submit-batch-query", content)

        def read(_: int) -> requests.Response:
            return requests.get(f"{service.url}/explorer/batches", timeout=60)

        with _repeating(submit, VISITORS) as submitted, _repeating(read, READERS) as pages:
            wait_until(lambda: len(submitted) > VISITORS)
            _migrate(repository, tmp_path, service)
            for process in (server, prover):
                process.stop()
                process.restart()
            server.await_log("Tacitus is at")
            count = len(submitted)
            wait_until(lambda: len(submitted) > count + VISITORS and len(pages) > MIN_PAGES)
        assert {answer.status_code for answer in (*submitted, *pages)} == {200}
        batches = {answer.json()["internalId"] for answer in submitted}
        assert _batch_count(service) - initial == len(batches) == len(submitted)
        service.wait(*batches)
    for sent in chain.transactions_of(SIGNER):  # the registry emits an event for a new fact
        receipt = chain.receipt(sent["hash"])
        assert (receipt["status"], receipt["logs"] != []) == ("0x1", True)


def _batch_count(service: Service) -> int:
    return int(service.manage("shell", "--verbosity", "0", "-c", COUNT).stdout)


@contextmanager
def _repeating(
    request_once: Callable[[int], requests.Response], threads: int
) -> Iterator[list[requests.Response]]:
    """Repeat the request in threads; yields the growing list of responses."""
    ended, answers = threading.Event(), list[requests.Response]()

    def repeat(number: int) -> None:
        while not ended.wait(PAUSE):
            answers.append(request_once(number))
            number += threads

    with ThreadPoolExecutor(threads) as pool:
        futures: list[Future[None]] = [pool.submit(repeat, number) for number in range(threads)]
        try:
            yield answers
        finally:
            ended.set()
        for future in futures:
            future.result()


def _migrate(repository: Path, folder: Path, service: Service) -> None:
    """Migrate while the previous version runs."""
    package = folder / "later_migrations"
    package.mkdir()
    (package / "__init__.py").touch()
    first = repository / "queries" / "migrations" / "0001_initial.py"
    (package / first.name).write_text(first.read_text())
    (package / "0002_later.py").write_text(NEXT_MIGRATION)
    (folder / "later.py").write_text(SETTINGS)
    later = {"DJANGO_SETTINGS_MODULE": "later", "PYTHONPATH": str(folder), "PYTHONUNBUFFERED": "1"}
    if service.database.startswith("postgres"):  # on SQLite, readers do not block a migration
        # Read a table in a transaction, as a backup does.
        with psycopg.connect(service.database) as reader:
            reader.execute("SELECT COUNT(*) FROM queries_batch")
            failed = service.manage("migrate", fails=True, **later, **LOCK_TIMEOUT)
            assert "lock timeout" in failed.stderr

    def is_migrated() -> bool:
        migrating = service.start("migrate", **later, **LOCK_TIMEOUT)
        wait_until(lambda: not migrating.runs, 180)
        return "Applying queries.0002_later... OK" in migrating.log

    wait_until(is_migrated)
