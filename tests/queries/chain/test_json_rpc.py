"""What is said of a node that does not answer, or answers more than we take."""

import base64
import logging
import pathlib
import time
import traceback
from typing import Any

import pytest

from queries.chain.errors import NodesLimited, NodesUnreachable
from queries.chain.json_rpc import JsonRpc, NodeUnreachable
from queries.config.limits import Limits
from tests.rigs.stub_node import NO_ANSWERS, LyingNode, as_json, lying_node, result

pytestmark = pytest.mark.no_database


def _said(address: str, timeout: float = 30) -> str:
    node = JsonRpc(f"{address}/v3/hunter2", Limits(request_timeout=timeout))
    with pytest.raises(NodeUnreachable) as refusal:
        node.ask("eth_blockNumber")
    node.close()
    is_limited = "status 429" in str(refusal.value)
    assert refusal.value.kind is (NodesLimited if is_limited else NodesUnreachable)
    return "".join(traceback.format_exception(refusal.value))


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "nonsense://x"])
def test_a_nodes_address_is_not_repeated(address: str) -> None:
    """The operator's key is a part of it."""
    said = _said(address)
    assert "eth_blockNumber: the node does not answer (" in said
    assert "hunter2" not in said


@pytest.mark.parametrize("kind", NO_ANSWERS)
def test_what_is_no_answer_is_reported_in_time_and_without_the_address(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    begin = time.monotonic()
    with lying_node(NO_ANSWERS[kind]) as address, caplog.at_level(logging.INFO):
        said = _said(address, timeout=0.5)
    assert time.monotonic() < begin + 20
    assert "eth_blockNumber: the node" in said
    assert "hunter2" not in said + caplog.text


def test_a_redirect_is_not_followed() -> None:
    asked: list[str] = []

    def answer(node: LyingNode, _: object) -> None:
        asked.append(node.path)
        node.answer(result("0x1"), 308, Location="/elsewhere")

    with lying_node(answer) as address:
        assert "eth_blockNumber: the node does not answer (TooManyRedirects)" in _said(address)
    assert asked == ["/v3/hunter2"]


@pytest.mark.parametrize(
    ("length", "taken"), [(2**20, True), (2**20 + 1, False)], ids=["largest", "one byte more"]
)
def test_an_answer_has_a_largest_size(length: int, *, taken: bool) -> None:
    content = result("0x1").ljust(length)
    with lying_node(lambda node, _: node.answer(content)) as address:
        node = JsonRpc(address, Limits(answer_mebibytes=1))
        if taken:
            assert node.ask("eth_blockNumber") == "0x1"
        else:
            with pytest.raises(NodeUnreachable, match="the node's answer is too large"):
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
def test_answers_to_several_questions_are_all_there_or_none(answers: bytes) -> None:
    with lying_node(lambda node, _: node.answer(answers)) as address:
        node = JsonRpc(address)
        with pytest.raises(NodeUnreachable, match="eth_getBalance: the node"):
            node.ask_many("eth_getBalance", [["0x1"], ["0x2"]])
        node.close()


def test_answers_in_another_order_stand_in_their_places() -> None:
    def answer(node: LyingNode, questions: Any) -> None:
        told = [{"id": each["id"], "result": each["params"][0]} for each in questions]
        node.answer(as_json(told[::-1]))

    with lying_node(answer) as address:
        node = JsonRpc(address)
        assert node.ask_many("eth_getBalance", [["0x1"], ["0x2"], ["0x3"]]) == ["0x1", "0x2", "0x3"]
        node.close()


def test_no_netrc_identifies_us_to_a_node(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    """A name and a password are sent where the operator wrote them: into the node's address."""
    netrc = tmp_path / "netrc"
    netrc.write_text("default login operator password hunter2\n")
    monkeypatch.setenv("NETRC", str(netrc))
    heard: list[str | None] = []

    def note(node: LyingNode, question: Any) -> None:
        heard.append(node.headers.get("Authorization"))
        node.answer(result("0x1", question["id"]))

    with lying_node(note) as address:
        for url in (address, address.replace("//", "//me:secret@")):
            node = JsonRpc(url)
            assert node.ask("eth_blockNumber") == "0x1"
            node.close()
    assert heard == [None, f"Basic {base64.b64encode(b'me:secret').decode()}"]
