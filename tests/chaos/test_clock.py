"""The clock of one process is a minute ahead, for all that Python asks it."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.chaos.lines_to_come import counted_lines
from tests.chaos.programs import INSIDE

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
        env={**INSIDE, "CLOCK_AHEAD": ahead},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert ran.stdout == f"{ahead} {ahead}\n", ran.stderr


@pytest.mark.parametrize(("ahead", "lines"), [(60, 3), (0, 0), (-60, 0)])
def test_lines_with_a_time_still_to_come_are_counted(
    tmp_path: Path, ahead: int, lines: int
) -> None:
    log = tmp_path / "prover.log"
    log.write_text("11:11:11 INFO     Long before.\n")
    with counted_lines(log, 60) as counted, log.open("a") as file:
        for _ in range(3):
            at = time.strftime("%H:%M:%S", time.gmtime(time.time() + ahead))
            file.write(f"{at} INFO     ")
            file.flush()
            file.write("Now.\n    Traceback\n")
    assert counted.to_come == lines
