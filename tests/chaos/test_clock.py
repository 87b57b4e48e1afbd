"""The clock of one process is a minute ahead, for all that Python asks it."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.no_database

SHOWN = """
import time
from datetime import UTC, datetime
true = time.clock_gettime(time.CLOCK_REALTIME)
now = datetime.now(UTC)
assert isinstance(now, datetime)
assert now > datetime(2000, 1, 1, tzinfo=UTC)
print(round(time.time() - true), round(now.timestamp() - true))
"""


@pytest.mark.parametrize("ahead", ["60", "0", "-60"])
def test_a_clock_is_ahead_in_one_process(ahead: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", SHOWN],
        env={"PYTHONPATH": str(Path(__file__).parent / "clock"), "CLOCK_AHEAD": ahead},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert ran.stdout == f"{ahead} {ahead}\n", ran.stderr
