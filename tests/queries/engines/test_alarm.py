"""What wakes a prover's workers, and what ends it."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.no_database

# The system gives it to the thread that is named, so that the main thread's wait goes on.
TAKEN_BY_ANOTHER_THREAD = """
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


def test_an_order_that_does_not_interrupt_the_main_thread_ends_it_all_the_same(
    repository: Path,
) -> None:
    program = [sys.executable, "-c", TAKEN_BY_ANOTHER_THREAD]
    assert subprocess.run(program, cwd=repository, timeout=20, check=False).returncode == 0
