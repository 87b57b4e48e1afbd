"""Errors of a node that does not answer, or answers too much."""

import base64
import logging
import pathlib
import time
import traceback
from typing import Any

import pytest

from queries.chain.errors import NodesUnreachableError, RateLimitedError
from queries.chain.json_rpc import JsonRpc, NodeTransportError
from queries.config.limits import Limits
from tests.rigs.stub_node import INVALID_ANSWERS, StubNode, json_bytes, result, stub_node

pytestmark = pytest.mark.no_database


def _failure_trace(address: str, timeout: float = 30) -> str:
    node = JsonRpc(f"{address}/v3/hunter2", Limits(request_timeout=timeout))
    with pytest.raises(NodeTransportError) as refusal:
        node.ask("eth_blockNumber")
    node.close()
    is_limited = "status 429" in str(refusal.value)
    assert refusal.value.kind is (RateLimitedError if is_limited else NodesUnreachableError)
    return "".join(traceback.format_exception(refusal.value))


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "nonsense://x"])
def test_errors_do_not_repeat_the_nodes_address(address: str) -> None:
    """It may contain the operator's API key."""
    trace = _failure_trace(address)
    assert "eth_blockNumber: the node does not answer (" in trace
    assert "hunter2" not in trace


@pytest.mark.parametrize("kind", INVALID_ANSWERS)
def test_invalid_answers_are_reported_in_time_and_without_the_address(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    start = time.monotonic()
    with stub_node(INVALID_ANSWERS[kind]) as address, caplog.at_level(logging.INFO):
        trace = _failure_trace(address, timeout=0.5)
    assert time.monotonic() < start + 20
    assert "eth_blockNumber: the node" in trace
    assert "hunter2" not in trace + caplog.text


def test_a_redirect_is_not_followed() -> None:
    paths: list[str] = []

    def answer(node: StubNode, _: object) -> None:
        paths.append(node.path)
        node.answer(result("0x1"), 308, Location="/elsewhere")

    with stub_node(answer) as address:
        assert "eth_blockNumber: the node does not answer (TooManyRedirects)" in _failure_trace(
            address
        )
    assert paths == ["/v3/hunter2"]


@pytest.mark.parametrize(
    ("length", "fits"), [(2**20, True), (2**20 + 1, False)], ids=["largest", "one byte more"]
)
def test_answers_have_a_maximum_size(length: int, *, fits: bool) -> None:
    content = result("0x1").ljust(length)
    with stub_node(lambda node, _: node.answer(content)) as address:
        node = JsonRpc(address, Limits(max_answer_mib=1))
        if fits:
            assert node.ask("eth_blockNumber") == "0x1"
        else:
            with pytest.raises(NodeTransportError, match="the node's answer is too large"):
                node.ask("eth_blockNumber")
        node.close()


@pytest.mark.parametrize(
    "answers",
    [
        b'[{"id": 1, "result": "0x1"}]',
        b'[{"id": [], "result": "0x1"}, {"id": 1, "result": "0x1"}]',
        b'[1, {"id": 1, "result": "0x1"}]',
        b'{"id": 1, "result": "0x1"}',
    ],
)
def test_a_batch_answer_must_be_complete(answers: bytes) -> None:
    with stub_node(lambda node, _: node.answer(answers)) as address:
        node = JsonRpc(address)
        with pytest.raises(NodeTransportError, match="eth_getBalance: the node"):
            node.ask_many("eth_getBalance", [["0x1"], ["0x2"]])
        node.close()


def test_batch_answers_may_come_in_any_order() -> None:
    def answer(node: StubNode, questions: Any) -> None:
        answers = [
            {"id": question["id"], "result": question["params"][0]} for question in questions
        ]
        node.answer(json_bytes(answers[::-1]))

    with stub_node(answer) as address:
        node = JsonRpc(address)
        assert node.ask_many("eth_getBalance", [["0x1"], ["0x2"], ["0x3"]]) == ["0x1", "0x2", "0x3"]
        node.close()


def test_netrc_credentials_are_not_sent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    """Credentials are sent only if the operator put them into the node's URL."""
    netrc = tmp_path / "netrc"
    netrc.write_text("default login operator password hunter2\n")
    monkeypatch.setenv("NETRC", str(netrc))
    credentials: list[str | None] = []

    def note(node: StubNode, question: Any) -> None:
        credentials.append(node.headers.get("Authorization"))
        node.answer(result("0x1", question["id"]))

    with stub_node(note) as address:
        for url in (address, address.replace("//", "//me:secret@")):
            node = JsonRpc(url)
            assert node.ask("eth_blockNumber") == "0x1"
            node.close()
    assert credentials == [None, f"Basic {base64.b64encode(b'me:secret').decode()}"]
