"""Two nodes have to give the same answer where a wrong one would end or cost something."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from explorer.demo.local_node import LocalNode
from queries.chain.errors import CallReverted, ChainError, NoQuorum
from queries.chain.sender import Destination
from queries.config.limits import Limits
from tests.rigs.relay import Asked, NotMine, chain_of, refusal, relay

pytestmark = pytest.mark.no_database
WHO = "0x00000000000000000000000000000000000000Aa"
REVERTS = {"0xaa": "60aa5f5260205ffd", "0xbb": "60bb5f5260205ffd"}
WAIT = 0.6  # seconds
GONE, PRUNED, LATE, HONEST = "gone", "pruned", "late", None
FRESH = count()


class Nodes:
    """Nodes whose balances are given, one each: a number, or how they fail."""

    def __init__(self, stack: ExitStack, url: str, *given: int | str | None) -> None:
        self.given = list(given)
        self.asked = [Asked() for _ in given]
        urls = [
            stack.enter_context(
                relay(url, self._change(place), self.asked[place], self._first(place))
            )
            for place in range(len(given))
        ]
        limits = Limits(quorum_wait=WAIT, cooldown_first=0.05, cooldown_longest=1)
        self.destination = Destination(replace(chain_of(*urls), limits=limits))
        self.about = next(FRESH)

    def _first(self, place: int) -> Any:
        def first(node: Any, _: object) -> None:
            if self.given[place] != GONE:
                raise NotMine
            node.close_connection = True

        return first

    def _change(self, place: int) -> Any:
        def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
            given = self.given[place]
            if method == "eth_getBlockByNumber" and given == LATE:
                answer["result"]["timestamp"] = hex(int(answer["result"]["timestamp"], 16) - 1_000)
            if method != "eth_getBalance" or given is HONEST:
                return answer
            if given == PRUNED:
                return refusal("missing trie node")
            return {"result": hex(1 if given == LATE else int(given))}

        return change

    def balance(self) -> int:
        def ask(one: Destination) -> int:
            one.head()
            return one.balance(WHO)

        return self.destination.quorum(ask, self.about)

    def seconds_to_seven(self) -> float:
        """How long there is no quorum, from now on, until the balance is 7."""
        begin = time.monotonic()
        while True:
            try:
                assert self.balance() == 7
            except NoQuorum:
                time.sleep(0.05)
            else:
                return time.monotonic() - begin

    def fails(self) -> ChainError:
        with pytest.raises(ChainError) as failed:
            self.balance()
        return failed.value


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as running:
        yield running


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ((7,), 7),
        ((7, 7), 7),
        ((1, 7, 7), 7),
        ((7, 1, 7), 7),
        ((7, PRUNED, 7), 7),
        ((GONE, 7, 7), 7),
    ],
)
def test_two_nodes_agree_or_one_is_alone(
    stack: ExitStack, shared_node: LocalNode, given: tuple[int | str, ...], answer: int
) -> None:
    assert Nodes(stack, shared_node.url, *given).balance() == answer


@pytest.mark.parametrize("given", [(1, 2), (1, 2, 3), (1, 2, GONE), (PRUNED, 1, 2)])
def test_nodes_that_disagree_are_asked_later_for_as_long_as_they_do(
    stack: ExitStack, shared_node: LocalNode, given: tuple[int | str, ...]
) -> None:
    nodes = Nodes(stack, shared_node.url, *given)
    begin = time.monotonic()
    while time.monotonic() < begin + WAIT + 0.3:
        error = nodes.fails()
        assert type(error) is NoQuorum
        assert (error.code, error.retryable) == ("no_quorum", True)
        assert "they will be asked again" in error.sentence
        time.sleep(0.1)


@pytest.mark.parametrize("given", [(7, GONE), (GONE, 7), (7, PRUNED), (7, PRUNED, GONE), (LATE, 7)])
def test_one_answer_counts_once_no_other_node_has_answered_for_long_enough(
    stack: ExitStack, shared_node: LocalNode, given: tuple[int | str, ...]
) -> None:
    assert Nodes(stack, shared_node.url, *given).seconds_to_seven() > WAIT


def test_a_third_node_is_not_asked_where_two_agree(
    stack: ExitStack, shared_node: LocalNode
) -> None:
    nodes = Nodes(stack, shared_node.url, 7, 7, 7)
    nodes.balance()
    assert not nodes.asked[2].requests


def test_a_revert_is_an_answer_and_compared_by_its_data(
    stack: ExitStack, shared_node: LocalNode
) -> None:
    def worded(words: str, data: str) -> Any:
        def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
            error = {"code": 3, "message": f"execution reverted: {words}", "data": data}
            return {"error": error} if method == "eth_estimateGas" else answer

        return change

    def ask(*changes: Any) -> ChainError:
        urls = [stack.enter_context(relay(shared_node.url, each)) for each in changes]
        with pytest.raises(ChainError) as refused:
            Destination(chain_of(*urls)).quorum(
                lambda one: one.gas_needed(WHO, WHO, b""), next(FRESH)
            )
        return refused.value

    said = ask(worded("no", "0xaa"), worded("nein", "0xaa"))
    assert isinstance(said, CallReverted)
    assert said.data == b"\xaa"
    assert type(ask(worded("no", "0xaa"), worded("no", "0xbb"))) is NoQuorum
