"""The demo's programs: started with their own settings, monitored, and stopped together."""

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

COMMAND = Path(sys.argv[0]).absolute()  # `tacitus`, or `manage.py` in a clone
INHERITED_VARIABLES = ("PATH", "HOME", "LANG")  # an operator's settings are not inherited
START_SECONDS, STOP_SECONDS = 60, 20


class DemoError(Exception):
    """The demo cannot go on; the message is for the user."""


class Programs:
    """A context manager that stops all programs at its end."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        self.folder = folder
        variables = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
        self._environment = variables | dict(settings)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._nodes: dict[str, LocalNode] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes.values()):
            process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for process in self._processes.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(deadline - time.monotonic(), 0))
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def watch_node(self, name: str, node: LocalNode) -> None:
        """Check this node too; its owner stops it."""
        self._nodes[name] = node

    def run(self, name: str, *arguments: str) -> None:
        """Run `tacitus` with these arguments to its end."""
        self.start(name, *arguments)
        if self._processes.pop(name).wait():
            raise DemoError(f"The {name} failed. {self._last_line(name)}")

    def start(self, name: str, *arguments: str, **variables: str) -> None:
        """Start `tacitus` with these arguments; it runs until the end of the demo."""
        with self._log(name).open("wb") as log:
            # In its own session, so that a terminal's Ctrl-C reaches only the demo.
            self._processes[name] = subprocess.Popen(
                [sys.executable, COMMAND, *arguments],
                env=self._environment | variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait_for(self, name: str, is_ready: Callable[[str], bool]) -> None:
        """Wait until `is_ready` accepts what the program has logged."""
        deadline = time.monotonic() + START_SECONDS
        while not is_ready(self._log(name).read_text()):
            self.check()
            if time.monotonic() > deadline:
                raise DemoError(
                    f"The {name} did not start within a minute. {self._last_line(name)}"
                )
            time.sleep(0.05)

    def check(self) -> None:
        """Raise DemoError if a program or node has exited."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                raise DemoError(f"The {name} {_exit_reason(process)}. {self._last_line(name)}")
        for name, node in self._nodes.items():
            if node.process and node.process.poll() is not None:
                raise DemoError(f"The {name} {_exit_reason(node.process)}.")

    def _log(self, name: str) -> Path:
        return self.folder / f"{name.replace(' ', '-')}.log"

    def _last_line(self, name: str) -> str:
        text = self._log(name).read_text(errors="replace").strip()
        path = shown_path(self._log(name))
        if not text:
            return f"Its log, {path}, is empty."
        return f"The last line of its log, {path}: {text.splitlines()[-1][:300]}"


def shown_command() -> str:
    """What a user types for `tacitus`."""
    if COMMAND.suffix == ".py":
        return f"{shown_path(Path(sys.executable))} {shown_path(COMMAND)}"
    return COMMAND.name if shutil.which(COMMAND.name) == str(COMMAND) else str(shown_path(COMMAND))


def _exit_reason(process: subprocess.Popen[bytes]) -> str:
    code = process.returncode
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"


def empty_folder(folder: Path) -> Path:
    """Return the folder without an earlier demo's files, which are of chains that are gone."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    except OSError as error:
        raise DemoError(
            f"The demo cannot write to {shown_path(folder)}: {error.strerror}."
        ) from None
    return folder


def shown_path(path: Path) -> Path:
    """The path from the working directory, if it lies there."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
