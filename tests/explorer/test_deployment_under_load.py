"""A new version comes while visitors submit: migrated first, restarted then. No request fails."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
import requests
from django.db import connection

from tests.commands import Manage, clean_environment, free_port
from tests.installation import Prepared, prepared, proving
from tests.own_database import own_database
from tests.proxy import proxied
from tests.served import served
from tests.visitors import visitors

BLOCKS = 10  # so few that most are asked for again when they are proven
READERS, PAUSE = 2, 0.1
MANY = {"REQUESTS_PER_MINUTE": "1000000", "LOG_LEVEL": "WARNING"}
BODIES = True  # of eth_getBlockByNumber
COUNT = "from queries.models import Batch; print(Batch.objects.count())"
# What a version after this one may do to the busiest tables.
LATER = """
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
WAITS = "A table is in use."


@pytest.fixture
def later(repository: Path, tmp_path: Path) -> dict[str, str]:
    """The variables of a version that has one migration more."""
    package = tmp_path / "later_migrations"
    package.mkdir()
    (package / "__init__.py").touch()
    first = repository / "queries" / "migrations" / "0001_initial.py"
    (package / first.name).write_text(first.read_text())
    (package / "0002_later.py").write_text(LATER)
    (tmp_path / "later.py").write_text(SETTINGS)
    return {"DJANGO_SETTINGS_MODULE": "later", "PYTHONPATH": os.fspath(tmp_path)}


@pytest.mark.django_db
def test_no_request_fails_and_no_batch_is_lost_or_doubled(
    repository: Path, tmp_path: Path, manage: Manage, later: dict[str, str]
) -> None:
    """Without an Idempotency-Key: a batch that was accepted twice would be counted twice."""
    port = str(free_port())
    with (
        own_database(tmp_path, "deployed") as url,
        prepared(tmp_path, manage, BLOCKS + 9, DATABASE_URL=url, **MANY) as it,
        proxied(repository, tmp_path, f"127.0.0.1:{port}") as address,
        ExitStack() as running,
    ):

        def start() -> None:
            """First ends what runs: with code 0, or this fails."""
            running.close()
            running.enter_context(proving(repository, tmp_path, it.settings))
            production = {"BEHIND_PROXY": "1", **it.settings}
            server = served(repository, tmp_path, workers="2", port=port, **production)
            running.enter_context(server)

        if connection.vendor == "postgresql":  # on SQLite whoever writes waits for all of it
            assert manage("shell", "--command", FILL, **it.settings).returncode == 0
        kept = int(manage("shell", "--verbosity", "0", "-c", COUNT, **it.settings).stdout)
        start()
        with visitors(address, it.key, it.node, BLOCKS) as them, _readers(address) as statuses:
            time.sleep(1)
            before = len(them.accepted)
            _migrate(repository, tmp_path, url, it.settings | later)
            start()
            time.sleep(1)
        assert them.statuses() == {"DONE"}
        counted = int(manage("shell", "--verbosity", "0", "-c", COUNT, **it.settings).stdout)
        _assert_each_fact_is_paid_once(it)
    assert them.broken == []
    assert them.refused == them.cut == 0
    assert set(statuses) == {200}
    assert len(statuses) > 10
    assert len(set(them.accepted.values())) == len(them.accepted) > before > 0
    assert counted - kept == len(them.accepted)


def _migrate(repository: Path, folder: Path, url: str, variables: dict[str, str]) -> None:
    """While the version before serves and proves."""
    told = folder / "migrate"
    with told.open("w") as log, _long_read(url, told):
        migrated = subprocess.run(
            [sys.executable, "-u", "manage.py", "migrate"],
            cwd=repository,
            env=clean_environment(folder, **variables),
            stdout=log,
            stderr=log,
            timeout=180,
            check=False,
        )
    assert migrated.returncode == 0, told.read_text()
    assert "Applying queries.0002_later... OK" in told.read_text()
    assert (WAITS in told.read_text()) == (connection.vendor == "postgresql")


@contextmanager
def _long_read(url: str, told: Path) -> Iterator[None]:
    """What a backup does: it reads a table in a transaction, here until the migration waits."""
    if connection.vendor == "sqlite":  # where who reads keeps nobody waiting
        yield
        return
    reads = threading.Event()

    def read() -> None:
        with psycopg.connect(url) as reader:
            reader.execute("SELECT COUNT(*) FROM queries_batch")
            reads.set()
            until = time.monotonic() + 60
            while WAITS not in told.read_text() and time.monotonic() < until:
                time.sleep(0.1)

    thread = threading.Thread(target=read)
    thread.start()
    assert reads.wait(20)
    yield
    thread.join(90)


@contextmanager
def _readers(address: str) -> Iterator[list[int]]:
    """The status of every page that is read inside, again and again."""
    ended, statuses = threading.Event(), list[int]()

    def read() -> None:
        while not ended.wait(PAUSE):
            page = requests.get(f"{address}/explorer/batches", timeout=60)
            statuses.append(page.status_code)

    with ThreadPoolExecutor(READERS) as threads:
        reading = [threads.submit(read) for _ in range(READERS)]
        try:
            yield statuses
        finally:
            ended.set()
        for each in reading:
            each.result()


def _assert_each_fact_is_paid_once(it: Prepared) -> None:
    """Each transaction has proven something new: the registry logs nothing else."""
    ask = it.node.rpc.ask
    newest = int(ask("eth_blockNumber"), 16)
    every = (ask("eth_getBlockByNumber", hex(number), BODIES) for number in range(newest + 1))
    sent = [each for block in every for each in block["transactions"] if each["to"]]
    ours = [each["hash"] for each in sent if each["to"].lower() == it.registry.lower()]
    receipts = [ask("eth_getTransactionReceipt", each) for each in ours]
    assert {each["status"] for each in receipts} == {"0x1"}
    assert all(each["logs"] for each in receipts)
