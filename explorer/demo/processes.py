"""The demo's programs: started with settings of their own, watched, and ended together."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from explorer.demo.local_node import LocalNode

HOUSE = Path(__file__).resolve().parent.parent.parent
PASSED_ON = ("PATH", "HOME", "LANG")  # none of an operator's settings
STARTED_WITHIN, ENDED_WITHIN = 60, 20  # seconds


class DemoFailed(Exception):  # noqa: N818
    """Why the demo ends, in sentences."""


class Programs:
    """Whatever happens inside, none of them outlives it."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        self.folder = folder
        inherited = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        self._environment = inherited | dict(settings)
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._nodes: dict[str, LocalNode] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._running.values()):
            process.terminate()
        until = time.monotonic() + ENDED_WITHIN
        for process in self._running.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(until - time.monotonic(), 0))
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def watch_node(self, name: str, node: LocalNode) -> None:
        """One that was started elsewhere, and is ended there."""
        self._nodes[name] = node

    def run(self, name: str, *arguments: str) -> None:
        """`manage.py` with these arguments, to its end."""
        self.start(name, *arguments)
        if self._running.pop(name).wait():
            raise DemoFailed(f"The {name} failed. {self._last_words(name)}")

    def start(self, name: str, *arguments: str, **variables: str) -> None:
        """`manage.py` with these arguments, until the end of the demo."""
        with self._log(name).open("wb") as log:
            # In a session of its own: a terminal's Ctrl-C is for the demo, which ends them.
            self._running[name] = subprocess.Popen(  # noqa: S603
                [sys.executable, "manage.py", *arguments],
                cwd=HOUSE,
                env=self._environment | variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait_for(self, name: str, is_ready: Callable[[str], bool]) -> None:
        """Until the program is ready, by what it has written."""
        until = time.monotonic() + STARTED_WITHIN
        while not is_ready(self._log(name).read_text()):
            self.check()
            if time.monotonic() > until:
                raise DemoFailed(
                    f"The {name} did not start within a minute. {self._last_words(name)}"
                )
            time.sleep(0.05)

    def check(self) -> None:
        """That all are still there."""
        for name, process in self._running.items():
            if process.poll() is not None:
                raise DemoFailed(f"The {name} {_end_of(process)}. {self._last_words(name)}")
        for name, node in self._nodes.items():
            if node.process and node.process.poll() is not None:
                raise DemoFailed(f"The {name} {_end_of(node.process)}.")

    def _log(self, name: str) -> Path:
        return self.folder / f"{name.replace(' ', '-')}.log"

    def _last_words(self, name: str) -> str:
        said = self._log(name).read_text(errors="replace").strip()
        shown = self._log(name).relative_to(HOUSE)
        if not said:
            return f"It said nothing; its log is {shown}."
        return f"The last it said, in {shown}: {said.splitlines()[-1][:300]}"


def _end_of(process: subprocess.Popen[bytes]) -> str:
    code = process.returncode
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"


def empty_folder(folder: Path) -> Path:
    """The last demo's chains are gone, and what was proven on them means nothing."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    except OSError as fault:
        shown = folder.relative_to(HOUSE)
        raise DemoFailed(f"The demo cannot write to {shown}: {fault.strerror}.") from None
    return folder
