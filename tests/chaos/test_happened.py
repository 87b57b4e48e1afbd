"""A fault counts for what came of it, and a program that died by itself is told."""

import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.chaos.faults import TRIES_MORE, Fault, Faults, Kind
from tests.chaos.happened import Happened, without_effect
from tests.chaos.nodes_between import NodeBetween, Trouble
from tests.chaos.programs import Program

pytestmark = pytest.mark.no_database


class _Chain(BaseHTTPRequestHandler):
    """A node that answers whatever it is asked with 0x10."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": "0x10"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def node() -> Iterator[NodeBetween]:
    server = HTTPServer(("127.0.0.1", 0), _Chain)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    between = NodeBetween(1, f"http://127.0.0.1:{server.server_port}")
    try:
        yield between
    finally:
        between.disappear()
        server.shutdown()
        thread.join()
        server.server_close()


def _ask(node: NodeBetween, method: str, session: requests.Session | None = None) -> object:
    question = {"jsonrpc": "2.0", "id": 1, "method": method, "params": []}
    answer = (session or requests).post(node.url, json=question, timeout=5)
    return answer.json()["result"] if answer.ok else answer.status_code


def test_a_lie_counts_the_answers_that_it_changed(node: NodeBetween) -> None:
    trouble = Trouble(lie=lambda method, _, true: "0x11" if method == "eth_call" else true)
    with node.has(trouble):
        assert _ask(node, "eth_blockNumber") == "0x10"
        assert trouble.spoilt == 0
        assert _ask(node, "eth_call") == "0x11"
    assert _ask(node, "eth_call") == "0x10"
    assert trouble.spoilt == 1


def test_troubles_of_one_node_end_each_by_itself(node: NodeBetween) -> None:
    refuses, stalls = Trouble(status=429), Trouble(stalls=True)
    with node.has(refuses):
        with node.has(stalls):
            ended = threading.Timer(0.3, lambda: setattr(stalls, "stalls", False))
            ended.start()
            assert _ask(node, "eth_call") == 429
        assert _ask(node, "eth_call") == 429
    assert _ask(node, "eth_call") == "0x10"
    assert (refuses.spoilt, stalls.spoilt) == (2, 1)


def test_a_node_that_is_gone_counts_the_connections_that_it_drops(node: NodeBetween) -> None:
    with requests.Session() as session:
        _ask(node, "eth_call", session)
        assert node.disappear() == 1
        assert node.disappear() == 0
    node.appear(drops=True)
    with pytest.raises(requests.RequestException):
        _ask(node, "eth_call")
    assert node.dropped == 1
    node.appear()
    assert _ask(node, "eth_call") == "0x10"


def test_a_kind_that_never_came_to_anything_is_told() -> None:
    happened = Happened()
    for kind, counts in {"in vain": (0, 0), "now and then": (0, 3)}.items():
        for count in counts:
            happened.begin(kind, "answers changed")
            happened.came(kind, count)
    assert list(without_effect(happened.tallies)) == [
        "in vain: 2 begun, and none had any effect (answers changed)"
    ]
    assert str(happened.tallies["now and then"]) == "2 begun (1 in vain), 3 answers changed"


def test_a_program_that_died_by_itself_is_told_and_one_that_was_killed_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program(tmp_path, "sleeper", [], {})
    monkeypatch.setattr(program, "_command", [sys.executable, "-c", "import time; time.sleep(60)"])
    program.start()
    assert program.kill()
    assert not program.kill()
    program.start()
    assert not program.deaths
    (process,) = program.processes
    os.kill(process, signal.SIGTERM)
    until = time.monotonic() + 10
    while program.is_running and time.monotonic() < until:
        time.sleep(0.05)
    program.start()
    program.end()
    program.look()
    assert program.deaths == ["sleeper with exit code -15"]


class _Twice(Faults):
    """Of one kind, which comes to something the third time, and one that never does."""

    def _kinds(self) -> tuple[Kind, ...]:
        came = iter([0, 0, 5, 7])
        return (
            lambda: Fault("heard late", "answers", lambda: next(came)),
            lambda: Fault("never heard", "answers", lambda: 0),
        )


def test_what_came_to_nothing_is_tried_again_but_not_for_ever() -> None:
    nothing: Any = None
    faults = _Twice(nothing, {}, nothing, nothing, random.Random(1), 0)  # noqa: S311
    faults.run(0, 0.001)
    told = {kind: str(tally) for kind, tally in faults.happened.tallies.items()}
    assert told == {
        "heard late": "3 begun (2 in vain), 5 answers",
        "never heard": f"{1 + TRIES_MORE} begun ({1 + TRIES_MORE} in vain), 0 answers",
    }
    assert list(without_effect(faults.happened.tallies)) == [
        "never heard: 4 begun, and none had any effect (answers)"
    ]
