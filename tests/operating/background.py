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


def stop(name: str, state: Path) -> None:
    """By SIGTERM, if it runs."""
    file = state / f"{name}.pid"
    if not file.exists():
        return
    process = int(file.read_text())
    file.unlink()
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGTERM)
        until = time.monotonic() + ENDED_WITHIN
        while _runs(process):
            assert time.monotonic() < until, f"{name} does not stop"
            time.sleep(0.05)


def stop_all(state: Path) -> None:
    for file in state.glob("*.pid"):
        stop(file.stem, state)


def _runs(process: int) -> bool:
    """One that has ended and that nobody has waited for does not count."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
