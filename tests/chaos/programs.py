"""Programs of the service, as processes that may be killed."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tests.commands import clean_environment

REPOSITORY = Path(__file__).parents[2]
ENDED_WITHIN = 30  # seconds
# Python before 3.12.8 keeps the half of a compiled module that a full disk takes, and no program
# starts from it ever again.
UNTOUCHED = {"PYTHONDONTWRITEBYTECODE": "1"}
# What Python is to import before all else, and where that imports from.
INSIDE = {"PYTHONPATH": f"{Path(__file__).parent / 'inside'}:{REPOSITORY}"}


class Program:
    """`manage.py` with some arguments; what it says is appended to a file of its own."""

    def __init__(
        self, folder: Path, name: str, arguments: list[str], settings: Mapping[str, str]
    ) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._folder = folder
        self._command = [sys.executable, "manage.py", *arguments]
        self._settings = dict(settings)
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._may_be_down = True  # not started yet, or ended by us
        self.deaths: list[str] = []  # those that nobody brought about

    def start(self) -> None:
        with self._lock, self.log.open("ab") as log:
            if self.is_running:  # it was killed twice at once
                return
            self._look()
            self._may_be_down = False
            self._process = subprocess.Popen(
                self._command,
                cwd=REPOSITORY,
                env=clean_environment(self._folder, **self._settings, **UNTOUCHED, **INSIDE),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def run(self) -> str:
        """To its end; what it said."""
        self.start()
        assert self._process
        if self._process.wait(timeout=120):
            raise RuntimeError(f"{self.name} failed; see {self.log}")
        return self.log.read_text()

    def kill(self) -> bool:
        """At once and with all that it started, as when the machine takes it; whether it ran."""
        with self._lock:
            ran = self.is_running
            self._look()
            self._may_be_down = True
            if self._process:
                for each in self.processes:
                    with suppress(ProcessLookupError):
                        os.kill(each, signal.SIGKILL)
                self._process.wait(timeout=ENDED_WITHIN)
            return ran

    def look(self) -> None:
        """Whether it has died by itself since it was started."""
        with self._lock:
            self._look()

    def _look(self) -> None:
        if self._process and not self.is_running and not self._may_be_down:
            self.deaths.append(f"{self.name} with exit code {self._process.returncode}")
            self._may_be_down = True

    def end(self) -> None:
        """As an operator does; with force where it does not follow."""
        with self._lock:
            if not self._process:
                return
            self._look()
            self._may_be_down = True
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=ENDED_WITHIN)
        self.kill()

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def processes(self) -> list[int]:
        """Its own, and those that it started."""
        if not self._process:
            return []
        return [each for each in _all_processes() if _session_of(each) == self._process.pid]


def _all_processes() -> list[int]:
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]


def _session_of(process: int) -> int:
    """A server's workers have groups of their own, in its session."""
    try:
        return os.getsid(process)
    except ProcessLookupError:
        return 0
