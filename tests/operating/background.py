"""Named processes that outlive the command that started them."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

STOP_SECONDS = 60  # seconds


def start(
    name: str, command: Sequence[str], cwd: Path, environment: Mapping[str, str], state: Path
) -> None:
    """Start a process whose output is written to `state`/NAME.log."""
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
    """Send SIGTERM to the processes whose names match, and wait for their end."""
    files = list(state.glob(f"{pattern}.pid"))
    processes = [int(file.read_text()) for file in files]
    for file, process in zip(files, processes, strict=True):
        file.unlink()
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while running := [process for process in processes if _is_running(process)]:
        assert time.monotonic() < deadline, f"{running} do not stop"
        time.sleep(0.05)


def _is_running(process: int) -> bool:
    """Zombies have ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
