"""Many questions at once: in how many requests, and what one node leaves open."""

from typing import Any

import pytest

from explorer.demo.local_node import LocalNode
from queries.chain.errors import CallReverted
from queries.chain.node_pool import NodePool
from tests.queries.chain.asking_nodes import number_of
from tests.rigs.relay import Asked, NotMine, chain_of, refusal, relay
from tests.rigs.stub_node import LyingNode, as_json, result

pytestmark = pytest.mark.no_database


def as_it_is(answer: Any) -> Any:
    return answer


def test_a_revert_stands_in_its_place(shared_node: LocalNode) -> None:
    nodes = NodePool(chain_of(shared_node.url))
    codes = ["0x5f5ffd", "0x60aa5f5260205ff3", "0x60bb5f5260205ffd"]
    answers = nodes.checked_many(
        "eth_call", [[{"data": code}, "latest"] for code in codes], as_it_is, CallReverted
    )
    nodes.close()
    assert [type(answer) for answer in answers] == [CallReverted, str, CallReverted]
    assert answers[1] == f"0x{'aa':0>64}"
    assert isinstance(answers[2], CallReverted)
    assert answers[2].data == bytes(31) + b"\xbb"


@pytest.mark.parametrize(
    "way", ["refusal", "single answer", "nothing for some", "too large", "413", "400"]
)
def test_a_node_that_takes_few_at_once_is_asked_few(shared_node: LocalNode, way: str) -> None:
    asked = Asked()

    def at_most_ten(node: LyingNode, question: Any) -> None:
        if not isinstance(question, list) or len(question) <= 10:
            raise NotMine
        if way == "refusal":
            node.answer(as_json(refusal("batch of more than 10 requests is not allowed")))
        elif way == "single answer":
            node.answer(result("0x1"))
        elif way == "too large":
            node.answer(b"[" + b"[]," * 2**20 + b"[]]")
        elif way.isdigit():
            node.answer(b"<h1>no</h1>", int(way))
        else:
            few = [{"jsonrpc": "2.0", "id": each["id"], "result": "0x1"} for each in question[:10]]
            node.answer(as_json(few))

    with relay(shared_node.url, asked=asked, first=at_most_ten) as address:
        nodes = NodePool(chain_of(address))
        blocks = nodes.checked_many("eth_getBlockByNumber", [[hex(0), False]] * 100, as_it_is)
        nodes.close()
    assert [number_of(block) for block in blocks] == 100 * [0]
    assert [len(request) for request in asked.requests[:6]] == [1, 100, 50, 25, 12, 6]


def test_a_node_that_takes_no_batches_is_asked_one_by_one(shared_node: LocalNode) -> None:
    def never(node: LyingNode, question: Any) -> None:
        if not isinstance(question, list):
            raise NotMine
        node.answer(as_json(refusal("batch requests are not supported")))

    with relay(shared_node.url, first=never) as address:
        nodes = NodePool(chain_of(address))
        assert len(nodes.checked_many("eth_getBlockByNumber", [[hex(0), False]] * 9, as_it_is)) == 9
        nodes.close()
