"""The loop that looks for work goes on, and a database that is gone is told in one line."""

import logging
import threading

import pytest
from django.db import OperationalError

from queries.config.routes import Routes
from queries.engines.alarm import Alarm
from queries.prover import loop
from queries.prover.context import Chains

pytestmark = pytest.mark.no_database


@pytest.mark.parametrize(
    ("fault", "said", "traced"),
    [
        (
            OperationalError("connection to server at\n h failed: refused"),
            "The database cannot be used: connection to server at h failed: refused",
            False,
        ),
        (RuntimeError("ours"), "Unexpected error in the worker loop.", True),
    ],
)
def test_a_prover_outlives_what_goes_wrong(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    fault: Exception,
    said: str,
    *,
    traced: bool,
) -> None:
    looked, back = threading.Event(), threading.Event()

    def work(*_: object) -> bool:
        if looked.is_set():
            back.set()
            return False
        looked.set()
        raise fault

    monkeypatch.setattr(loop, "work_once", work)
    monkeypatch.setattr(loop, "deliver_once", lambda *_: False)
    monkeypatch.setattr(loop, "seconds_until_due", lambda *_, **__: None)
    monkeypatch.setattr(loop, "PAUSE_AFTER_ERROR", 0.01)
    alarm = Alarm()
    with caplog.at_level(logging.INFO):
        threads = loop.run(lambda: Chains(Routes({})), 1, alarm, 0.01)
        assert back.wait(10)
        alarm.stop()
        for thread in threads:
            thread.join(10)
    (told,) = [record for record in caplog.records if record.name == "tacitus.prover"]
    assert told.getMessage() == said
    assert bool(told.exc_info) is traced


def test_a_receiver_that_hangs_keeps_no_proof_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    proven, answered = threading.Event(), threading.Event()

    def hang(*_: object) -> bool:
        return answered.wait(10)

    def work(*_: object) -> bool:
        proven.set()
        return False

    monkeypatch.setattr(loop, "deliver_once", hang)
    monkeypatch.setattr(loop, "work_once", work)
    monkeypatch.setattr(loop, "seconds_until_due", lambda *_, **__: None)
    alarm = Alarm()
    threads = loop.run(lambda: Chains(Routes({})), 1, alarm, 0.01)
    try:
        for _ in range(3):
            proven.clear()
            assert proven.wait(5)
    finally:
        answered.set()
        alarm.stop()
        for thread in threads:
            thread.join(10)
