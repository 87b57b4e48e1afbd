"""The Makefile and `.ci/run`, as someone calls them in a shell."""

import fcntl
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from tests.commands import clean_environment, free_port

pytestmark = pytest.mark.no_database

Begin = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def begin(repository: Path, tmp_path: Path) -> Iterator[Begin]:
    """A command in a process group of its own, of which nothing is left after the test."""
    begun: list[subprocess.Popen[str]] = []
    limits: list[threading.Timer] = []

    def run(*command: str, **variables: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command,
            cwd=repository,
            env=clean_environment(tmp_path) | variables,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        begun.append(process)
        limit = threading.Timer(60, os.killpg, (process.pid, signal.SIGKILL))
        limit.start()
        limits.append(limit)
        return process

    yield run
    for limit in limits:
        limit.cancel()
    for process in begun:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=10)


def test_a_demo_at_no_port_says_so(begin: Begin) -> None:
    said, _ = begin("make", "demo", "PORT=none").communicate(timeout=30)
    assert said.startswith(
        "CommandError: --port is 'none'; take a whole number from 1 to 65535, such as make demo "
        "PORT=8001\nmake: "
    )


def test_the_development_server_logs_a_request_once(begin: Begin) -> None:
    port = free_port()
    server = begin("make", "serve", f"PORT={port}")
    while not _answers(f"http://127.0.0.1:{port}/nowhere"):
        assert server.poll() is None  # `begin` ends it after a minute
        time.sleep(0.1)
    os.killpg(server.pid, signal.SIGINT)
    said, _ = server.communicate(timeout=10)
    assert len([line for line in said.splitlines() if "/nowhere" in line]) == 1, said


def _answers(address: str) -> bool:
    try:
        requests.get(address, timeout=30)
    except requests.ConnectionError:
        return False
    return True


@pytest.mark.skipif(not shutil.which("flock"), reason="no flock on this machine: util-linux")
def test_a_second_set_up_waits_for_the_first(repository: Path, begin: Begin) -> None:
    with (repository / "Makefile").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = begin("make", "setup")
        assert second.stdout
        said = second.stdout.readline()
        assert said == "Another make sets this folder up, or sees that it is; waiting for it …\n"
        assert second.poll() is None
    assert second.wait(timeout=10) == 0


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("sqlite:////hunter2", "DATABASE_URL names no PostgreSQL; unset it to use the one at"),
        ("postgres://u:hunter2@127.0.0.1:1/n", "No PostgreSQL answers; start one at 127.0.0.1"),
    ],
)
def test_ci_asks_for_its_database_before_anything_else(
    begin: Begin, url: str, sentence: str
) -> None:
    ci = begin(".ci/run", DATABASE_URL=url)
    said, _ = ci.communicate(timeout=30)
    assert ci.returncode == 1
    assert said.splitlines()[-1].startswith(sentence)
    assert "Lint" not in said
    assert "Traceback" not in said
    assert "hunter2" not in said


def test_ci_reads_no_file_for_its_database(begin: Begin) -> None:
    ci = begin(".ci/run", DATABASE_URL_FILE="/none")
    said, _ = ci.communicate(timeout=30)
    assert ci.returncode == 1
    assert said == "Name the PostgreSQL in DATABASE_URL; DATABASE_URL_FILE is not read here.\n"


def test_ci_tests_both_databases_and_needs_the_browser_and_the_brokers(repository: Path) -> None:
    script = (repository / ".ci" / "run").read_text()
    assert "\nexport REQUIRE_BROWSER=1 REQUIRE_BROKERS=1\n" in script
    assert "\nmake lint\n" in script
    assert '\nwait "$analysing" || analysed=$?\n' in script
    assert '\n[ "$analysed" = 0 ] || exit "$analysed"\n' in script
    assert "\nREQUIRE_VENDOR=sqlite make test\n" in script
    assert (
        "\nDATABASE_URL=$postgres REQUIRE_VENDOR=postgresql "
        "make test ARGS='-m \"not no_database and not either_database\"'\n"
    ) in script


def test_there_are_two_workers_for_each_processor_unless_told_otherwise(begin: Begin) -> None:
    show = ("make", "--eval", "shown: ; @echo $(WORKERS)", "shown")
    usual = begin(*show).communicate(timeout=10)[0]
    assert int(usual) == len(os.sched_getaffinity(0)) * 2
    assert begin(*show, WORKERS="7").communicate(timeout=10)[0] == "7\n"


@pytest.mark.parametrize(("variables", "value"), [({}, "1"), ({"DEVELOPMENT": "0"}, "0")])
def test_a_call_is_in_development_unless_told_otherwise(
    begin: Begin, variables: dict[str, str], value: str
) -> None:
    shown = begin("make", "--eval", "shown: ; @echo $$DEVELOPMENT", "shown", **variables)
    assert shown.communicate(timeout=10)[0] == f"{value}\n"
