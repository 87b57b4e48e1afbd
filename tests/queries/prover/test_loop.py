"""The worker threads survive errors, and webhooks do not hold up proofs."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import OperationalError

from queries.chain.signer import Signer
from queries.engines import POST, PROVE
from queries.engines.alarm import Alarm
from queries.prover import loop
from queries.sources.routes import Routes
from queries.transactions.context import ProverContext
from tests.rigs.deployed_contracts import SIGNER_KEY

pytestmark = pytest.mark.no_database


@contextmanager
def _running_loop(
    monkeypatch: pytest.MonkeyPatch, work: Callable[..., bool], deliver: Callable[..., bool]
) -> Iterator[None]:
    work_of_task = {PROVE: work, POST: deliver}
    monkeypatch.setattr(loop, "work_once", lambda task, *_: work_of_task.get(task, bool)())
    monkeypatch.setattr(loop, "seconds_until_due", lambda *_, **__: 0.0)
    monkeypatch.setattr(loop, "PAUSE_AFTER_ERROR", 0.01)
    alarm = Alarm()
    threads = loop.run(lambda: ProverContext(Routes({}), Signer(SIGNER_KEY)), 1, alarm)
    try:
        yield
    finally:
        alarm.stop()
        for thread in threads:
            thread.join(10)


@pytest.mark.parametrize(
    ("error", "line", "has_traceback"),
    [
        (
            OperationalError("connection to server at\n h failed: refused"),
            "The database cannot be used: connection to server at h failed: refused",
            False,
        ),
        (RuntimeError("ours"), "Unexpected error in the worker loop.", True),
    ],
)
def test_a_prover_survives_an_error_and_logs_one_line(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    line: str,
    *,
    has_traceback: bool,
) -> None:
    failed, continued = threading.Event(), threading.Event()

    def work(*_: object) -> bool:
        if failed.is_set():
            continued.set()
            return False
        failed.set()
        raise error

    with caplog.at_level(logging.INFO), _running_loop(monkeypatch, work, lambda *_: False):
        assert continued.wait(10)
    (record,) = [record for record in caplog.records if record.name == "tacitus.prover"]
    assert record.getMessage() == line
    assert bool(record.exc_info) is has_traceback


def test_a_hanging_webhook_receiver_does_not_delay_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    proven, answered = threading.Event(), threading.Event()

    def work(*_: object) -> bool:
        proven.set()
        return False

    with _running_loop(monkeypatch, work, lambda *_: answered.wait(10)):
        for _ in range(3):
            proven.clear()
            assert proven.wait(5)
        answered.set()
