"""A node is asked nothing until it has said that it is of the chain."""

import time
from dataclasses import replace
from typing import Any

import pytest

from queries.chain.errors import NodesOfAnotherChain, NodesRefuse, NodesUnreachable
from queries.chain.local_node import LocalNode
from queries.chain.node_pool import NodePool
from queries.limits import Limits
from tests.queries.chain.asking_nodes import ask, failure, impatient, number
from tests.queries.chain.lying_node import LyingNode
from tests.queries.chain.relay import Asked, NotMine, chain_of, refusal, relay

pytestmark = pytest.mark.no_database


def test_a_node_of_another_chain_is_asked_nothing(shared_node: LocalNode) -> None:
    asked = Asked()
    with relay(shared_node.url, foreign, asked) as address:
        nodes = impatient(chain_of(address, shared_node.url))
        assert [number(ask(nodes, "eth_blockNumber")) >= 0 for _ in range(2)] == [True, True]
        nodes.close()
        error = failure(impatient(chain_of(address)))
    assert type(error) is NodesOfAnotherChain
    assert error.retryable
    assert set(asked.methods) == {"eth_chainId"}


def foreign(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
    return {"result": "0x5"} if method == "eth_chainId" else answer


def test_an_address_that_comes_to_lead_to_another_chain_is_found_out(
    shared_node: LocalNode,
) -> None:
    own: list[str] = []

    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        return {"result": own[0]} if own and method == "eth_chainId" else answer

    with relay(shared_node.url, change) as address:
        nodes = NodePool(replace(chain_of(address), limits=Limits(chain_id_age=0.5)))
        ask(nodes, "eth_blockNumber")
        own.append("0x1")
        ask(nodes, "eth_blockNumber")
        time.sleep(0.6)
        assert type(failure(nodes)) is NodesOfAnotherChain
        nodes.close()


def test_threads_check_the_chain_id_of_a_node_once_for_all(shared_node: LocalNode) -> None:
    asked = Asked()
    with relay(shared_node.url, asked=asked) as address:
        for _ in range(3):  # each by a connection of its own, as other threads have
            nodes = NodePool(chain_of(address))
            ask(nodes, "eth_blockNumber")
            nodes.close()
    assert asked.methods == ["eth_chainId", *3 * ["eth_blockNumber"]]


def test_a_node_that_was_away_is_asked_again_what_it_is_of(shared_node: LocalNode) -> None:
    story = iter([None, None, b"", None])  # its chain, an answer, a fault, its chain
    asked = Asked()

    def away(node: LyingNode, _: object) -> None:
        said = next(story, None)
        if said is None:
            raise NotMine
        node.answer(said, 502)

    with relay(shared_node.url, asked=asked, first=away) as address:
        nodes = NodePool(replace(chain_of(address), limits=Limits(cooldown_first=0.1)))
        ask(nodes, "eth_blockNumber")
        failure(nodes)
        time.sleep(0.2)
        ask(nodes, "eth_blockNumber")
        nodes.close()
    of_its_chain, number = "eth_chainId", "eth_blockNumber"
    assert asked.methods == [of_its_chain, number, number, of_its_chain, number]


@pytest.mark.parametrize("said", [None, 31_337, "31337", "0x", [], "0x7a690"])
def test_a_chain_id_that_is_none_is_not_taken(shared_node: LocalNode, said: object) -> None:
    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        return {"result": said} if method == "eth_chainId" else answer

    with relay(shared_node.url, change) as address:
        error = failure(impatient(chain_of(address)))
    assert type(error) in {NodesUnreachable, NodesOfAnotherChain}


@pytest.mark.parametrize("told", ["execution reverted", "nonce too low", "already known"])
def test_a_chain_id_refused_in_words_for_other_questions(shared_node: LocalNode, told: str) -> None:
    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        return refusal(told) if method == "eth_chainId" else answer

    with relay(shared_node.url, change) as address:
        assert type(failure(impatient(chain_of(address)))) is NodesRefuse
