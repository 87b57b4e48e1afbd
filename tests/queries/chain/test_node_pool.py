"""Fail-over between nodes, cool-downs, lag, errors and invalid answers."""

import time
from dataclasses import replace
from typing import Any

import pytest

from explorer.demo.local_node import LocalNode
from queries.chain.client import ChainClient
from queries.chain.errors import CallRevertedError, StateNotAvailableError, WrongChainIdError
from queries.chain.node_pool import NodePool
from queries.config.chains import Chain
from queries.config.limits import Limits
from tests.queries.chain.node_requests import ask, block_number, failure, number, quick_pool
from tests.rigs.faulty_node import NotHandledError, RequestLog, chain_with_nodes, refusal, relay
from tests.rigs.stub_node import StubNode, json_bytes, result

pytestmark = pytest.mark.no_database
NO_ACCOUNT = "0x00000000000000000000000000000000000dEaD1"


# Cool-down


def fail_first(log: RequestLog, times: int, status: int = 502) -> Any:
    """Answer the first requests with this status; with 200, that too many were made."""

    def fail(node: StubNode, question: Any) -> None:
        if len(log.requests) > times:
            raise NotHandledError
        limited = {"id": question["id"], **refusal("daily request limit reached", -32005)}
        node.answer(json_bytes(limited) if status == 200 else b"not now", status)

    return fail


def with_cooldown(*urls: str, first: float = 0.2, longest: float = 60, **other: Any) -> Chain:
    limits = Limits(initial_cooldown=first, max_cooldown=longest, **other)
    return replace(chain_with_nodes(*urls), limits=limits)


@pytest.mark.parametrize("status", [200, 401, 403, 429, 500, 503])
def test_a_failed_node_gets_no_requests_during_its_cool_down(
    shared_node: LocalNode, status: int
) -> None:
    log = RequestLog()
    with relay(shared_node.url, asked=log, first=fail_first(log, 1, status)) as address:
        chain = with_cooldown(address, shared_node.url, first=60)
        for _ in range(3):  # with separate connections, like other threads
            nodes = NodePool(chain)
            assert number(ask(nodes, "eth_blockNumber")) >= 0
        assert len(log.requests) == 1


def test_a_failed_node_is_asked_again_after_its_cool_down(shared_node: LocalNode) -> None:
    log = RequestLog()
    with relay(shared_node.url, asked=log, first=fail_first(log, 1)) as address:
        nodes = NodePool(with_cooldown(address, shared_node.url, first=0.2))
        ask(nodes, "eth_blockNumber")
        time.sleep(0.3)
        ask(nodes, "eth_blockNumber")
        assert log.methods == ["eth_chainId", "eth_chainId", "eth_blockNumber"]


def test_a_json_rpc_error_counts_more_than_the_http_status(shared_node: LocalNode) -> None:
    """A node without a block's state is still asked the next question."""

    def refuse(node: StubNode, question: Any) -> None:
        if question["method"] != "eth_getBalance":
            raise NotHandledError
        node.answer(json_bytes({"id": question["id"], **refusal("missing trie node")}), 500)

    log = RequestLog()
    with relay(shared_node.url, asked=log, first=refuse) as address:
        nodes = NodePool(chain_with_nodes(address))
        error = failure(nodes, "eth_getBalance", NO_ACCOUNT, "latest")
        assert type(error) is StateNotAvailableError
        assert number(ask(nodes, "eth_blockNumber")) >= 0


# Lag


def heads_from(start: int) -> Any:
    """Change the time of heads."""

    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        if method != "eth_getBlockByNumber":
            return answer
        return {"result": answer["result"] | {"timestamp": hex(start)}}

    return change


def test_a_lagging_node_is_asked_last(shared_node: LocalNode) -> None:
    now, log = int(time.time()), RequestLog()
    with (
        relay(shared_node.url, heads_from(now - 90), log) as lagging,
        relay(shared_node.url, heads_from(now)) as healthy,
    ):
        both = ChainClient(chain_with_nodes(lagging, healthy, finality=0))
        for attempt in (0, 1):
            both.rotate(attempt)
            both.head()
        assert both.head().timestamp == now
        assert log.methods.count("eth_getBlockByNumber") == 1
        assert ChainClient(chain_with_nodes(lagging, finality=0)).head().timestamp == now - 90


def test_a_head_in_the_future_is_a_failure(shared_node: LocalNode) -> None:
    now = int(time.time())
    with (
        relay(shared_node.url, heads_from(now + 300)) as future,
        relay(shared_node.url, heads_from(now)) as healthy,
    ):
        assert ChainClient(chain_with_nodes(future, healthy, finality=0)).head().timestamp == now
        # With a single node, this machine's clock may be the wrong one.
        alone = chain_with_nodes(f"{future}/alone", finality=0)
        assert ChainClient(alone).head().timestamp == now + 300


# Refusals


# Checks


# Chain id


def test_a_node_of_another_chain_gets_no_other_requests(shared_node: LocalNode) -> None:
    log = RequestLog()
    with relay(shared_node.url, foreign, log) as address:
        nodes = quick_pool(chain_with_nodes(address, shared_node.url))
        assert [number(ask(nodes, "eth_blockNumber")) >= 0 for _ in range(2)] == [True, True]
        error = failure(quick_pool(chain_with_nodes(address)))
    assert type(error) is WrongChainIdError
    assert error.retryable
    assert set(log.methods) == {"eth_chainId"}


def foreign(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
    return {"result": "0x5"} if method == "eth_chainId" else answer


def test_a_node_that_switches_to_another_chain_is_noticed(shared_node: LocalNode) -> None:
    chain_ids: list[str] = []

    def change(method: str, _: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
        return {"result": chain_ids[0]} if chain_ids and method == "eth_chainId" else answer

    with relay(shared_node.url, change) as address:
        nodes = NodePool(replace(chain_with_nodes(address), limits=Limits(node_check_interval=0.5)))
        ask(nodes, "eth_blockNumber")
        chain_ids.append("0x1")
        ask(nodes, "eth_blockNumber")
        time.sleep(0.6)
        assert type(failure(nodes)) is WrongChainIdError


# Batches


def unchecked(answer: Any) -> Any:
    return answer


def test_a_revert_is_an_answer_of_the_batch(shared_node: LocalNode) -> None:
    nodes = NodePool(chain_with_nodes(shared_node.url))
    codes = ["0x5f5ffd", "0x60aa5f5260205ff3", "0x60bb5f5260205ffd"]
    answers = nodes.fetch_many(
        "eth_call", [[{"data": code}, "latest"] for code in codes], unchecked, (CallRevertedError,)
    )
    assert [type(answer) for answer in answers] == [CallRevertedError, str, CallRevertedError]
    assert answers[1] == f"0x{'aa':0>64}"
    assert isinstance(answers[2], CallRevertedError)
    assert answers[2].data == bytes(31) + b"\xbb"


@pytest.mark.parametrize(
    ("way", "limit"),
    [
        ("refusal", 10),
        ("single answer", 10),
        ("incomplete answer", 10),
        ("too large", 10),
        ("413", 10),
        ("400", 10),
        ("no batches", 1),
    ],
)
def test_batches_shrink_until_the_node_accepts_them(
    shared_node: LocalNode, way: str, limit: int
) -> None:
    log = RequestLog()

    def reject_large_batches(node: StubNode, batch: Any) -> None:
        if not isinstance(batch, list) or (len(batch) <= limit and limit > 1):
            raise NotHandledError
        if way == "refusal":
            node.answer(json_bytes(refusal("batch of more than 10 requests is not allowed")))
        elif way == "no batches":
            node.answer(json_bytes(refusal("batch requests are not supported")))
        elif way == "single answer":
            node.answer(result("0x1"))
        elif way == "too large":
            node.answer(b"[" + b"[]," * 2**20 + b"[]]")
        elif way.isdigit():
            node.answer(b"<h1>no</h1>", int(way))
        else:
            few = [{"jsonrpc": "2.0", "id": call["id"], "result": "0x1"} for call in batch[:10]]
            node.answer(json_bytes(few))

    with relay(shared_node.url, asked=log, first=reject_large_batches) as url:
        blocks = NodePool(chain_with_nodes(url)).fetch_many(
            "eth_getBlockByNumber", [[hex(0), False]] * 100, unchecked
        )
    assert [block_number(block) for block in blocks] == 100 * [0]
    assert [len(request) for request in log.requests[:6]] == [1, 100, 50, 25, 12, 6]
