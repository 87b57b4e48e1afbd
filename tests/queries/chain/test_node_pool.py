"""Fail-over between nodes, cool-downs, errors, and answers that do not check."""

import time
from dataclasses import replace
from typing import Any

import pytest

from explorer.demo.local_node import LocalNode
from queries.chain.errors import (
    NodesLie,
    NodesLimited,
    NodesRefuse,
    ProofWindowExceeded,
    StateNotAvailable,
)
from queries.chain.node_pool import NodePool
from queries.chain.reader import SourceChain
from queries.config.limits import Limits
from queries.config.routes import Chain
from queries.proving.errors import AnswerMalformed
from tests.queries.chain.asking_nodes import NO_SIGNER, ask, failure, impatient, number
from tests.rigs.relay import Asked, NotMine, chain_of, refusal, relay
from tests.rigs.stub_node import NO_ANSWERS, LyingNode, as_json, lying_node

pytestmark = pytest.mark.no_database
NOBODY_AT_ALL = "0x00000000000000000000000000000000000dEaD1"


@pytest.mark.parametrize("kind", ["a stall", "nothing at all", "no JSON", "a body byte by byte"])
def test_a_node_that_gives_no_answer_is_passed_over(shared_node: LocalNode, kind: str) -> None:
    with lying_node(NO_ANSWERS[kind]) as address:
        nodes = impatient(chain_of(address, shared_node.url))
        assert number(ask(nodes, "eth_chainId")) == 31_337
        nodes.close()


# Cool-down


def down_until(asked: Asked, times: int, status: int = 502) -> Any:
    """The first requests are answered with this status."""

    def say(node: LyingNode, _: object) -> None:
        if len(asked.requests) > times:
            raise NotMine
        node.answer(b"not now", status)

    return say


def soon(*urls: str, first: float = 0.2, longest: float = 60, **other: Any) -> Chain:
    limits = Limits(cooldown_first=first, cooldown_longest=longest, **other)
    return replace(chain_of(*urls), limits=limits)


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
def test_a_failed_node_is_not_asked_before_its_cool_down_ends(
    shared_node: LocalNode, status: int
) -> None:
    asked = Asked()
    with relay(shared_node.url, asked=asked, first=down_until(asked, 1, status)) as address:
        chain = soon(address, shared_node.url, first=0.5)
        for _ in range(3):  # each by connections of its own, as other threads have
            nodes = NodePool(chain)
            assert number(ask(nodes, "eth_blockNumber")) >= 0
        assert len(asked.requests) == 1
        time.sleep(0.6)
        ask(nodes, "eth_blockNumber")
        assert asked.methods == ["eth_chainId", "eth_chainId", "eth_blockNumber"]


def test_an_error_in_the_body_decides_whatever_the_status(shared_node: LocalNode) -> None:
    """A node that lacks one block's state is asked the next question all the same."""

    def refuse(node: LyingNode, question: Any) -> None:
        if question["method"] != "eth_getBalance":
            raise NotMine
        node.answer(as_json({"id": question["id"], **refusal("missing trie node")}), 500)

    asked = Asked()
    with relay(shared_node.url, asked=asked, first=refuse) as address:
        nodes = NodePool(chain_of(address))
        assert type(failure(nodes, "eth_getBalance", NOBODY_AT_ALL, "latest")) is StateNotAvailable
        assert number(ask(nodes, "eth_blockNumber")) >= 0


def test_a_node_that_reports_rate_limiting_cools_down(shared_node: LocalNode) -> None:
    def limit(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        return refusal("daily request limit reached", -32005) if method == "eth_call" else answer

    asked = Asked()
    with relay(shared_node.url, limit, asked) as address:
        nodes = NodePool(chain_of(address))
        assert type(failure(nodes, "eth_call", {}, "latest")) is NodesLimited
        assert type(failure(nodes)) is NodesLimited
    assert asked.methods == ["eth_chainId", "eth_call"]


# Lag


def heads_from(start: int) -> Any:
    """Heads whose time is this."""

    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        if method != "eth_getBlockByNumber":
            return answer
        return {"result": answer["result"] | {"timestamp": hex(start)}}

    return change


def test_a_node_that_lags_is_asked_last(shared_node: LocalNode) -> None:
    now, asked = int(time.time()), Asked()
    with (
        relay(shared_node.url, heads_from(now - 90), asked) as late,
        relay(shared_node.url, heads_from(now)) as well,
    ):
        both = SourceChain(chain_of(late, well, finality=0))
        for attempt in (0, 1):
            both.ask_first(attempt)
            both.head()
        assert both.head().timestamp == now
        assert asked.methods.count("eth_getBlockByNumber") == 1
        assert SourceChain(chain_of(late, finality=0)).head().timestamp == now - 90


def test_a_head_in_the_future_is_a_failure(shared_node: LocalNode) -> None:
    now = int(time.time())
    with (
        relay(shared_node.url, heads_from(now + 300)) as fast,
        relay(shared_node.url, heads_from(now)) as well,
    ):
        assert SourceChain(chain_of(fast, well, finality=0)).head().timestamp == now
        # Of a single node the clock of this machine may be wrong as well.
        alone = chain_of(f"{fast}/alone", finality=0)
        assert SourceChain(alone).head().timestamp == now + 300


# Refusals


def test_a_refusal_of_all_nodes_is_the_error_that_the_table_says(shared_node: LocalNode) -> None:
    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        told = "distance to target block exceeds maximum proof window"
        return refusal(told, -32602) if method == "eth_getProof" else answer

    with relay(shared_node.url, change) as address:
        nodes = NodePool(chain_of(address, address + "/other"))
        begin = time.monotonic()
        error = failure(nodes, "eth_getProof")
        nodes.close()
    assert type(error) is ProofWindowExceeded
    assert not error.retryable
    assert time.monotonic() - begin < 2  # no time mends it


def test_a_refusal_in_unknown_words_is_reported_without_what_could_be_a_key(
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


# What is checked


def honest_number(answer: Any) -> int:
    if number(answer) > 1_000_000:
        raise AnswerMalformed(f"{answer} hunter2")
    return number(answer)


def test_where_one_node_lies_another_is_asked(shared_node: LocalNode) -> None:
    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        return {"result": "0xffffff"} if method == "eth_blockNumber" else answer

    with relay(shared_node.url, change) as liar:
        nodes = NodePool(chain_of(liar, shared_node.url))
        assert nodes.checked("eth_blockNumber", [], honest_number) < 1_000_000
        nodes.close()


def test_where_all_lie_it_is_reported(shared_node: LocalNode) -> None:
    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        return {"result": "0xffffff"} if method == "eth_blockNumber" else answer

    with relay(shared_node.url, change) as liar:
        nodes = NodePool(chain_of(liar, NO_SIGNER))
        with pytest.raises(NodesLie) as lie:
            nodes.checked("eth_blockNumber", [], honest_number)
        nodes.close()
    assert lie.value.retryable
    assert lie.value.sentence == (
        "No node of Local gives a valid answer to eth_blockNumber. "
        "A node's JSON has not the shape of such an answer."
    )
