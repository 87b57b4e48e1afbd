"""Of a block thousands of transactions may have shown something: no SELECT stays open for them."""

import secrets
import threading
from collections.abc import Callable

import pytest
from django.db import connection

from queries import shown_calls
from queries.models import BlockJob, KeptProof
from queries.pipeline.clock import shared_now

pytestmark = pytest.mark.django_db(transaction=True)


def _job(block: int) -> BlockJob:
    return BlockJob.objects.create(source=1, destination=1, block=block, turn=shared_now())


def _of_its_own(act: Callable[[], object]) -> None:
    """In another thread, which has another connection."""

    def acting() -> None:
        act()
        connection.close()

    thread = threading.Thread(target=acting)
    thread.start()
    thread.join()


def test_others_write_and_we_do_while_calls_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """On SQLite whoever reads what is older than the last commit may not write any more."""
    monkeypatch.setattr(shown_calls, "AT_ONCE", 3)
    job, other = _job(1), _job(2)
    calls = [secrets.token_bytes(20) for _ in range(8)]
    KeptProof.objects.bulk_create(KeptProof(job=job, call=call) for call in calls)
    read = []
    for call in shown_calls._kept(job):
        read.append(bytes(call))
        _of_its_own(lambda: BlockJob.objects.filter(pk=other.pk).update(failures=len(read)))
        assert BlockJob.objects.filter(pk=job.pk).update(failures=len(read))
    assert read == calls
    assert BlockJob.objects.get(pk=other.pk).failures == len(calls)
