"""Nodes that fail, and what is done about it: the next one, a pause, or a sentence."""

import time
from typing import Any

import pytest

from queries.chain import nodes as chain_nodes
from queries.chain.errors import (
    BlockUnknown,
    CallReverted,
    NodesLie,
    NodesLimited,
    NodesRefuse,
    NodesUnreachable,
    ProofWindowExceeded,
)
from queries.chain.local_node import LocalNode
from queries.chain.nodes import FIRST_PAUSE, Nodes
from queries.proving.errors import AnswerMalformed, ArgumentMalformed
from tests.queries.chain.asking_nodes import NOBODY, failure, impatient, number
from tests.queries.chain.lying_node import NO_ANSWERS, LyingNode, lying_node, stall
from tests.queries.chain.relay import Asked, NotMine, chain_of, refusal, relay

pytestmark = pytest.mark.no_database
NOBODY_AT_ALL = "0x00000000000000000000000000000000000dEaD1"


def test_the_next_node_answers_and_is_remembered(shared_node: LocalNode) -> None:
    first, second = Asked(), Asked()

    def broken(node: LyingNode, _: object) -> None:
        node.answer(b"", 500)

    with (
        relay(shared_node.url, asked=first, first=broken) as one,
        relay(shared_node.url, asked=second) as two,
    ):
        nodes = Nodes(chain_of(one, two))
        for _ in range(3):
            assert number(nodes.ask("eth_chainId")) == 31_337
        nodes.close()
    assert len(first.requests) == 1
    assert second.methods == 4 * ["eth_chainId"]


@pytest.mark.parametrize("kind", sorted(NO_ANSWERS))
def test_a_node_that_gives_no_answer_is_passed_over(shared_node: LocalNode, kind: str) -> None:
    with lying_node(NO_ANSWERS[kind]) as address:
        nodes = impatient(chain_of(address, shared_node.url))
        assert number(nodes.ask("eth_chainId")) == 31_337
        nodes.close()


@pytest.mark.parametrize("kind", sorted(NO_ANSWERS))
def test_a_node_that_gives_no_answer_is_an_error_where_it_is_alone(kind: str) -> None:
    with lying_node(NO_ANSWERS[kind]) as address:
        error = failure(impatient(chain_of(f"{address}/hunter2")))
    expected = NodesLimited if kind == "too many requests" else NodesUnreachable
    assert type(error) is expected
    assert error.retryable


def test_without_any_node_up_it_is_told_in_time() -> None:
    begin = time.monotonic()
    error = failure(Nodes(chain_of(NOBODY), timeout=0.5, patience=1))
    assert type(error) is NodesUnreachable
    assert error.sentence == "No node of Local answers."
    assert 0.3 < time.monotonic() - begin < 3


def test_each_pause_is_about_twice_the_one_before_and_no_two_runs_are_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs: list[list[float]] = []
    for _ in range(2):
        pauses: list[float] = []
        monkeypatch.setattr(time, "sleep", pauses.append)
        failure(Nodes(chain_of(NOBODY), timeout=0.5, patience=10))
        runs.append(pauses)
        assert len(pauses) > 3
        for place, pause in enumerate(pauses):
            whole = FIRST_PAUSE * 2**place
            assert 0.5 * whole <= pause <= 1.5 * whole
    assert runs[0] != runs[1]


def test_a_node_that_comes_back_is_asked_again(shared_node: LocalNode) -> None:
    asked = Asked()

    def down_at_first(node: LyingNode, _: object) -> None:
        if len(asked.requests) > 3:
            raise NotMine
        node.answer(b"", 502)

    with relay(shared_node.url, asked=asked, first=down_at_first) as address:
        nodes = Nodes(chain_of(address))
        assert number(nodes.ask("eth_chainId")) == 31_337
        nodes.close()


def test_a_node_that_hangs_costs_its_time_once(shared_node: LocalNode) -> None:
    with lying_node(stall) as address:
        nodes = Nodes(chain_of(address, shared_node.url), timeout=1)
        begin = time.monotonic()
        for _ in range(5):
            nodes.ask("eth_blockNumber")
        nodes.close()
    assert time.monotonic() - begin < 3


def test_the_log_tells_when_a_node_begins_to_fail_and_when_it_is_well(
    shared_node: LocalNode, caplog: pytest.LogCaptureFixture
) -> None:
    asked = Asked()

    def down_twice(node: LyingNode, _: object) -> None:
        if len(asked.requests) > 3:
            raise NotMine
        node.answer(b"", 502)

    with relay(shared_node.url, asked=asked, first=down_twice) as address:
        nodes = Nodes(chain_of(f"{address}/hunter2"))
        with caplog.at_level("INFO", logger="tacitus"):
            for _ in range(3):
                nodes.ask("eth_blockNumber")
        nodes.close()
    assert [record.getMessage() for record in caplog.records if record.name == "tacitus"] == [
        "Node 1 of Local fails: nodes_unreachable.",
        "Node 1 of Local answers again.",
    ]
    assert "hunter2" not in caplog.text


# Refusals


def test_a_refusal_of_all_nodes_is_the_error_that_the_table_says(shared_node: LocalNode) -> None:
    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        told = "distance to target block exceeds maximum proof window"
        return refusal(told, -32602) if method == "eth_getProof" else answer

    with relay(shared_node.url, change) as address:
        nodes = Nodes(chain_of(address, address + "/other"))
        begin = time.monotonic()
        error = failure(nodes, "eth_getProof")
        nodes.close()
    assert type(error) is ProofWindowExceeded
    assert not error.retryable
    assert time.monotonic() - begin < 2  # no time mends it


def test_another_node_may_have_what_the_first_has_not(shared_node: LocalNode) -> None:
    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        return refusal("missing trie node") if method == "eth_getBalance" else answer

    with relay(shared_node.url, change) as address:
        nodes = Nodes(chain_of(address, shared_node.url))
        assert number(nodes.ask("eth_getBalance", shared_node.payer, "latest")) > 0
        nodes.close()


def test_where_one_may_come_back_that_is_told(shared_node: LocalNode) -> None:
    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        return refusal("missing trie node") if method == "eth_getBalance" else answer

    with relay(shared_node.url, change) as address:
        nodes = impatient(chain_of(address, NOBODY))
        assert type(failure(nodes, "eth_getBalance")) is NodesUnreachable
        nodes.close()


def test_a_refusal_in_unknown_words_is_told_without_what_could_be_a_key(
    shared_node: LocalNode,
) -> None:
    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        told = "the moon, at http://127.0.0.1/hunter2 (key hunter2), is in its 3rd quarter"
        return refusal(told) if method == "eth_blockNumber" else answer

    with relay(shared_node.url, change) as address:
        error = failure(impatient(chain_of(address)))
    assert type(error) is NodesRefuse
    assert error.sentence == (
        "The nodes of Local refuse eth_blockNumber: the moon, at … (key … is in its … quarter."
    )


def test_what_the_chain_says_is_asked_of_one_node_alone(shared_node: LocalNode) -> None:
    asked = Asked()
    reverting = {"data": "0x60aa5f5260205ffd"}
    with relay(shared_node.url, asked=asked) as address:
        nodes = Nodes(chain_of(shared_node.url, address))
        error = failure(nodes, "eth_call", reverting, "latest")
        nodes.close()
    assert isinstance(error, CallReverted)
    assert error.data == bytes(31) + b"\xaa"
    assert asked.requests == []


# What is checked


def honest_number(answer: Any) -> int:
    if number(answer) > 1_000_000:
        raise AnswerMalformed(f"{answer} hunter2")
    return number(answer)


@pytest.mark.parametrize(("code", "message"), [(3, "execution reverted"), (-32000, "gas limit")])
def test_what_only_a_chain_could_say_is_a_nodes_own_to_any_other_question(
    shared_node: LocalNode, code: int, message: str
) -> None:
    """A gateway says of a plan's gas what a chain would of a transaction's."""

    def refuse(_: str, __: list[Any], ___: dict[str, Any]) -> dict[str, Any]:
        return refusal(message, code)

    with relay(shared_node.url, refuse) as bad:
        nodes = impatient(chain_of(bad))
        assert type(failure(nodes, "eth_getBalance", NOBODY_AT_ALL, "latest")) is NodesRefuse
        nodes.close()
        nodes = impatient(chain_of(bad, shared_node.url))
        assert number(nodes.ask("eth_getBalance", NOBODY_AT_ALL, "latest")) == 0
        nodes.close()


def test_a_slow_node_is_asked_last(shared_node: LocalNode, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answers count; but a look takes many, and whoever looks has only so long."""
    monkeypatch.setattr(chain_nodes, "SLOW", 0.2)
    slow, quick = Asked(), Asked()

    def wait(*_: object) -> None:
        time.sleep(0.3)
        raise NotMine

    with (
        relay(shared_node.url, asked=slow, first=wait) as one,
        relay(shared_node.url, asked=quick) as two,
    ):
        nodes = Nodes(chain_of(one, two))
        for _ in range(3):
            assert number(nodes.ask("eth_blockNumber")) >= 0
        nodes.close()
    assert slow.methods.count("eth_blockNumber") == 1
    assert quick.methods.count("eth_blockNumber") == 2


def test_the_one_to_be_asked_first_is_named_by_its_place(shared_node: LocalNode) -> None:
    asked = [Asked(), Asked()]
    with (
        relay(shared_node.url, asked=asked[0]) as one,
        relay(shared_node.url, asked=asked[1]) as two,
    ):
        nodes = Nodes(chain_of(one, two))
        for turn in (1, 1, 2, 3):
            nodes.ask_first(turn)
            nodes.ask("eth_blockNumber")
        nodes.close()
    assert [each.methods.count("eth_blockNumber") for each in asked] == [1, 3]


def test_where_one_node_lies_another_is_asked(shared_node: LocalNode) -> None:
    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        return {"result": "0xffffff"} if method == "eth_blockNumber" else answer

    with relay(shared_node.url, change) as liar:
        nodes = Nodes(chain_of(liar, shared_node.url))
        assert nodes.checked("eth_blockNumber", [], honest_number) < 1_000_000
        nodes.close()


def test_where_all_lie_it_is_told(shared_node: LocalNode) -> None:
    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        return {"result": "0xffffff"} if method == "eth_blockNumber" else answer

    with relay(shared_node.url, change) as liar:
        nodes = Nodes(chain_of(liar, NOBODY), patience=0)
        with pytest.raises(NodesLie) as lie:
            nodes.checked("eth_blockNumber", [], honest_number)
        nodes.close()
    assert lie.value.retryable
    assert lie.value.sentence == (
        "No node of Local answers eth_blockNumber in a way that checks. "
        "A node's JSON has not the shape of such an answer."
    )


def test_our_own_mistake_is_no_lie(shared_node: LocalNode) -> None:
    def mistaken(_: Any) -> None:
        raise ArgumentMalformed("a key of 31 bytes")

    nodes = Nodes(chain_of(shared_node.url))
    with pytest.raises(ArgumentMalformed):
        nodes.checked("eth_blockNumber", [], mistaken)
    nodes.close()


def test_a_block_that_no_node_knows(shared_node: LocalNode) -> None:
    nodes = Nodes(chain_of(shared_node.url))
    error = failure(nodes, "eth_getBalance", shared_node.payer, hex(10**9))
    nodes.close()
    assert type(error) is BlockUnknown
