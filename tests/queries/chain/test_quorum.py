"""Two nodes have to give the same answer if a wrong one would reject a batch or cost money."""

import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from explorer.demo.local_node import LocalNode
from queries.chain.client import ChainClient
from queries.chain.errors import CallRevertedError, ChainError, NoQuorumError
from queries.config.limits import Limits
from tests.rigs.faulty_node import NotHandledError, RequestLog, chain_with_nodes, refusal, relay

pytestmark = pytest.mark.no_database
ACCOUNT = "0x00000000000000000000000000000000000000Aa"
WAIT = 0.6  # seconds
GONE, PRUNED, LATE = "gone", "pruned", "late"
QUESTION_IDS = count()


class Nodes:
    """Nodes that report these balances, or fail in this way."""

    def __init__(self, stack: ExitStack, url: str, *balances: int | str) -> None:
        self.balances = list(balances)
        self.logs = [RequestLog() for _ in balances]
        urls = [
            stack.enter_context(
                relay(url, self._change(index), self.logs[index], self._first(index))
            )
            for index in range(len(balances))
        ]
        limits = Limits(quorum_wait=WAIT, initial_cooldown=0.05, max_cooldown=1)
        self.destination = ChainClient(replace(chain_with_nodes(*urls), limits=limits))
        self.key = next(QUESTION_IDS)

    def _first(self, index: int) -> Any:
        def first(node: Any, _: object) -> None:
            if self.balances[index] != GONE:
                raise NotHandledError
            node.close_connection = True

        return first

    def _change(self, index: int) -> Any:
        def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
            balance = self.balances[index]
            if method == "eth_getBlockByNumber" and balance == LATE:
                answer["result"]["timestamp"] = hex(int(answer["result"]["timestamp"], 16) - 1_000)
            if method != "eth_getBalance":
                return answer
            if balance == PRUNED:
                return refusal("missing trie node")
            return {"result": hex(1 if balance == LATE else int(balance))}

        return change

    def balance(self) -> int:
        return self.destination.ask_quorum(_balance, self.key)

    def seconds_to_seven(self) -> float:
        """Seconds without a quorum until the balance is 7."""
        start = time.monotonic()
        while True:
            try:
                assert self.balance() == 7
            except NoQuorumError:
                time.sleep(0.05)
            else:
                return time.monotonic() - start

    def error(self) -> ChainError:
        with pytest.raises(ChainError) as caught:
            self.balance()
        return caught.value


def _balance(node: ChainClient, _: int) -> int:
    node.head()
    return node.balance(ACCOUNT)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize(
    ("balances", "answer"),
    [
        ((7,), 7),
        ((7, 7), 7),
        ((1, 7, 7), 7),
        ((7, 1, 7), 7),
        ((7, PRUNED, 7), 7),
        ((GONE, 7, 7), 7),
    ],
)
def test_two_equal_answers_or_a_single_node_are_enough(
    stack: ExitStack, shared_node: LocalNode, balances: tuple[int | str, ...], answer: int
) -> None:
    assert Nodes(stack, shared_node.url, *balances).balance() == answer


def test_the_log_has_the_answers_that_differ(
    stack: ExitStack, shared_node: LocalNode, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        assert isinstance(Nodes(stack, shared_node.url, 1, 2).error(), NoQuorumError)
    assert "The nodes of Local do not agree: 1; 2" in caplog.text


@pytest.mark.parametrize("balances", [(1, 2), (1, 2, 3), (1, 2, GONE), (PRUNED, 1, 2)])
def test_there_is_no_quorum_while_nodes_disagree(
    stack: ExitStack, shared_node: LocalNode, balances: tuple[int | str, ...]
) -> None:
    nodes = Nodes(stack, shared_node.url, *balances)
    start = time.monotonic()
    while time.monotonic() < start + WAIT + 0.3:
        error = nodes.error()
        assert type(error) is NoQuorumError
        assert (error.code, error.retryable) == ("no_quorum", True)
        assert "they will be asked again" in error.sentence
        time.sleep(0.1)


@pytest.mark.parametrize(
    "balances", [(7, GONE), (GONE, 7), (7, PRUNED), (7, PRUNED, GONE), (LATE, 7)]
)
def test_a_single_answer_counts_after_the_quorum_wait(
    stack: ExitStack, shared_node: LocalNode, balances: tuple[int | str, ...]
) -> None:
    assert Nodes(stack, shared_node.url, *balances).seconds_to_seven() > WAIT


def test_a_third_node_is_not_asked_if_two_agree(stack: ExitStack, shared_node: LocalNode) -> None:
    nodes = Nodes(stack, shared_node.url, 7, 7, 7)
    nodes.balance()
    assert not nodes.logs[2].requests


def test_reverts_are_answers_and_compared_by_their_data(
    stack: ExitStack, shared_node: LocalNode
) -> None:
    def reverting(words: str, data: str) -> Any:
        def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
            error = {"code": 3, "message": f"execution reverted: {words}", "data": data}
            return {"error": error} if method == "eth_estimateGas" else answer

        return change

    def ask(*changes: Any) -> ChainError:
        urls = [stack.enter_context(relay(shared_node.url, change)) for change in changes]
        with pytest.raises(ChainError) as caught:
            ChainClient(chain_with_nodes(*urls)).ask_quorum(
                ChainClient.estimate_gas, ACCOUNT, ACCOUNT, b""
            )
        return caught.value

    reverted = ask(reverting("no", "0xaa"), reverting("nein", "0xaa"))
    assert isinstance(reverted, CallRevertedError)
    assert reverted.data == b"\xaa"
    assert type(ask(reverting("no", "0xaa"), reverting("no", "0xbb"))) is NoQuorumError
