"""Commands in processes that fork from one which has imported everything, because each start of
Python would take a second.

The server has no thread, connection or database. What it forks begins a session of its own and runs
`manage.py`, or Celery, as the command line does: signals, exit codes and `kill -9` are real.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO

from django.apps import apps
from django.conf import Settings, settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, connections
from django.utils.functional import empty

REPOSITORY = Path(__file__).parents[2]
MAX_REQUEST_BYTES = 1 << 20
PID, EXIT_CODE = struct.Struct("!I"), struct.Struct("!i")
LIBRARIES = (
    "celery.apps.worker", "celery.concurrency.prefork", "concurrent.futures.thread",
    "django.contrib.staticfiles.finders",
    "django.core.handlers.wsgi", "django.core.management", "django.db.backends.postgresql.base",
    "django.db.backends.sqlite3.base", "django.db.migrations.executor",
    "django.template.backends.django", "django.template.defaulttags",
    "django.template.loader_tags", "gunicorn.app.base", "gunicorn.arbiter",
    "gunicorn.workers.gthread", "psycopg", "web3.providers.rpc", "whitenoise.middleware",
)  # fmt: skip
NOT_IMPORTED = (  # they read the settings, or start the application
    "explorer.celery", "explorer.http.wsgi",
)  # fmt: skip


class Fork:
    """A process that the server has forked; the methods are those of `subprocess.Popen`."""

    def __init__(
        self, arguments: Sequence[str], environment: Mapping[str, str], out: IO[str], err: IO[str]
    ) -> None:
        self.returncode: int | None = None
        self._lock = threading.Lock()  # the exit code is read once
        self._status, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        request = json.dumps([list(arguments), dict(environment)]).encode()
        files = [out.fileno(), err.fileno(), theirs.fileno()]
        with theirs:
            socket.send_fds(_server(), [request], files)
        (self.pid,) = PID.unpack(self._status.recv(PID.size))

    def poll(self) -> int | None:
        with suppress(TimeoutError):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float) -> int:
        """Return the exit code, negative after a signal; raise TimeoutError."""
        with self._lock:
            if self.returncode is None:
                self._status.settimeout(timeout)
                try:
                    answer = self._status.recv(EXIT_CODE.size)
                except BlockingIOError:
                    raise TimeoutError from None
                (self.returncode,) = EXIT_CODE.unpack(answer)
                self._status.close()
            return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Send SIGKILL to its whole session, and do not wait."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._status.close()


def run_manage(
    *arguments: str, environment: Mapping[str, str], timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, and keep its output."""
    command = ["manage.py", *arguments]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        fork = Fork(command, environment, out, err)
        try:
            code = fork.wait(timeout)
        except BaseException:  # a time-out, or Ctrl-C, which its session does not get
            fork.kill()
            raise
        for file in (out, err):
            file.seek(0)
        return subprocess.CompletedProcess(command, code, out.read(), err.read())


@cache
def _server() -> socket.socket:
    """Start the server of this process; it ends with it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.rigs.fork_server", str(theirs.fileno())],
            cwd=REPOSITORY,
            env={},
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )

    def end() -> None:
        ours.close()
        process.wait(30)

    atexit.register(end)
    return ours


# In the server


def _serve(control: socket.socket) -> tuple[bytes, list[int]]:
    """Fork for each request; return the request in the forked process."""
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not control:
                    _report_exit(selector, key)
                    continue
                request, files, _, _ = socket.recv_fds(control, MAX_REQUEST_BYTES, 3)
                if not request:  # the tests have ended, perhaps by a signal
                    for other in selector.get_map().values():
                        if other.data:
                            with suppress(ProcessLookupError):
                                os.killpg(other.data[0], signal.SIGKILL)
                    os._exit(0)
                pid = os.fork()
                if not pid:
                    for other in selector.get_map().values():
                        _, status = other.data or (0, control)
                        status.detach()  # of its file, which _begin_command closes
                    return request, files
                for file in files[:2]:
                    os.close(file)
                status = socket.socket(fileno=files[2])
                selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, status))


def _report_exit(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    pid, status = key.data
    _, result = os.waitpid(pid, 0)
    with status, suppress(OSError):  # the test may have ended
        status.send(EXIT_CODE.pack(os.waitstatus_to_exitcode(result)))
    selector.unregister(key.fileobj)
    os.close(key.fd)


def _begin_command(request: bytes, files: Sequence[int]) -> None:
    """Give this process what the command line would start with."""
    arguments, environment = json.loads(request)
    os.setsid()
    os.write(files[2], PID.pack(os.getpid()))
    for place, file in enumerate([os.open(os.devnull, os.O_RDONLY), *files[:2]]):
        os.dup2(file, place)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = arguments
    if environment.get("PYTHONPATH"):
        sys.path[1:1] = environment["PYTHONPATH"].split(os.pathsep)
    if environment.get("PYTHONUNBUFFERED"):
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]


def _run(program: str, *arguments: str) -> None:
    if program == "-m":
        sys.argv[:] = arguments
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(program, run_name="__main__")


class _SettingsForImports:
    """The settings that models ask for when they are imported. An import that reads another one
    fails, because its value may be different in each command.
    """

    NAMES = frozenset({
        "ABSOLUTE_URL_OVERRIDES", "AUTH_USER_MODEL", "BASE_DIR", "DATABASES", "DEBUG",
        "DEFAULT_AUTO_FIELD", "DEFAULT_INDEX_TABLESPACE", "DEFAULT_TABLESPACE", "INSTALLED_APPS",
        "USE_I18N",
    })  # fmt: skip

    def __init__(self) -> None:
        self._settings = Settings("explorer.settings")

    def __getattr__(self, name: str) -> object:
        if name not in self.NAMES:
            raise ImproperlyConfigured(f"{name} is read by an import.")
        return getattr(self._settings, name)


def _import_everything() -> None:
    os.environ["DEVELOPMENT"] = "1"
    settings._wrapped = _SettingsForImports()
    apps.populate(settings.INSTALLED_APPS)
    for name in LIBRARIES:
        importlib.import_module(name)
    for package in ("accounts", "explorer", "queries"):
        for file in sorted((REPOSITORY / package).rglob("*.py")):
            name = ".".join(file.relative_to(REPOSITORY).with_suffix("").parts)
            if name not in NOT_IMPORTED:
                with suppress(ImproperlyConfigured):
                    importlib.import_module(name.removesuffix(".__init__"))
    # A command has settings and a database of its own; models ask for the longest name of a table.
    settings._wrapped = empty
    connections._settings = None  # type: ignore[attr-defined]
    del sys.modules["explorer.settings"], connections.settings, connections[DEFAULT_DB_ALIAS]
    gc.collect()
    gc.freeze()  # so that a forked process copies few pages


if __name__ == "__main__":
    _import_everything()
    _begin_command(*_serve(socket.socket(fileno=int(sys.argv[1]))))
    _run(*sys.argv)
