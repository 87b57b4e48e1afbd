"""A node is asked nothing until it has said that it is of the chain."""

import time
from dataclasses import replace
from typing import Any

import pytest

from explorer.demo.local_node import LocalNode
from queries.chain.errors import NodesOfAnotherChain
from queries.chain.node_pool import NodePool
from queries.config.limits import Limits
from tests.queries.chain.asking_nodes import ask, failure, impatient, number
from tests.rigs.relay import Asked, chain_of, relay

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
