"""Stopping a prover by a signal."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.no_database

# The system delivers the signal to another thread, so the main thread's wait goes on.
SIGNAL_IN_ANOTHER_THREAD = """
import signal, threading, time
from queries.engines.alarm import Alarm

alarm = Alarm()
signal.signal(signal.SIGTERM, lambda *_: alarm.stop())

def take_it():
    time.sleep(0.5)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    time.sleep(30)

threading.Thread(target=take_it, daemon=True).start()
alarm.wait_until_stopped()
"""


def test_a_signal_to_another_thread_stops_the_prover(repository: Path) -> None:
    program = [sys.executable, "-c", SIGNAL_IN_ANOTHER_THREAD]
    assert subprocess.run(program, cwd=repository, timeout=20, check=False).returncode == 0
