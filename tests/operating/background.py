"""Processes that go on after the command that started them, by their names."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

ENDED_WITHIN = 60  # seconds


def start(
    name: str, command: Sequence[str], cwd: Path, environment: Mapping[str, str], state: Path
) -> None:
    """What it prints is in `state`/NAME.log."""
    with (state / f"{name}.log").open("a") as log:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    (state / f"{name}.pid").write_text(str(process.pid))


def stop(pattern: str, state: Path) -> None:
    """All that run and whose names match, by SIGTERM."""
    files = list(state.glob(f"{pattern}.pid"))
    processes = [int(file.read_text()) for file in files]
    for file, process in zip(files, processes, strict=True):
        file.unlink()
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)
    until = time.monotonic() + ENDED_WITHIN
    while running := [each for each in processes if _runs(each)]:
        assert time.monotonic() < until, f"{running} do not stop"
        time.sleep(0.05)


def _runs(process: int) -> bool:
    """One that has ended and that nobody has waited for does not count."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
