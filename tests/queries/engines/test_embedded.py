"""The loop that looks for work outlives a database that is gone, and says so in one line."""

import logging
import threading

import pytest
from django.db import OperationalError

from queries.engines import embedded
from queries.engines.alarm import Alarm
from queries.pipeline.chains import Chains
from queries.routes import Routes

pytestmark = pytest.mark.no_database


def test_a_database_that_is_gone_is_one_line_without_a_trace(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    looked, back = threading.Event(), threading.Event()

    def work(_: Chains) -> bool:
        if looked.is_set():
            back.set()
            return False
        looked.set()
        raise OperationalError("connection to server at\n h failed: refused")

    monkeypatch.setattr(embedded, "work_once", work)
    monkeypatch.setattr(embedded, "next_look", lambda: None)
    monkeypatch.setattr(embedded, "AFTER_A_FAULT", 0.01)
    alarm = Alarm()
    with caplog.at_level(logging.INFO):
        (thread,) = embedded.run(lambda: Chains(Routes({})), 1, alarm, 0.01)
        assert back.wait(10)
        alarm.stop()
        thread.join(10)
    (said,) = [record for record in caplog.records if record.name == "tacitus.prover"]
    assert said.getMessage() == (
        "The database cannot be used: connection to server at h failed: refused"
    )
    assert said.exc_info is None
