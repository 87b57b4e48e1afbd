"""Nodes that are down, slow, rate-limited, behind or lying delay facts and corrupt none."""

import json
import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from typing import Any

import pytest

from tests.rigs.anvil import Chain, call_data
from tests.rigs.faulty_node import Node, Question
from tests.rigs.service import BALANCE, HOLDER, HOLDER_BALANCE, SIGNER, Process, Service, wait_until
from tests.scenarios.fixtures import Install

pytestmark = pytest.mark.either_database

QUORUM_WAIT = 3  # seconds until one node's answer counts without the other's
SLOW = 5  # seconds per answer of a slow node
FAR = 1_000  # blocks
FACT_READ = call_data("tryAccountField(address,uint256,uint8)")
NOT_PROVEN, PROVEN = f"0x{128 * '0'}", f"0x{1:064x}{HOLDER_BALANCE:064x}"


@dataclass
class Nodes:
    """Three nodes of a chain, the first of which is bad, and a service with one prover."""

    service: Service
    other_chain: Chain
    nodes: list[Node]
    _prover: Process | None = None
    _node_count: int = 0

    @property
    def bad(self) -> Node:
        return self.nodes[0]

    @property
    def log(self) -> str:
        """The prover's."""
        return self._prover.log if self._prover else ""

    def prove(self, count: int) -> None:
        """Run a prover with the first `count` nodes; wait until it calls the bad one."""
        if self._node_count != count:
            self.stop()
            urls = [node.url for node in self.nodes[:count]]
            self._prover = self.service.prove(ROUTES_FILE=self.service.routes_with(nodes=urls))
            self._node_count = count
        self.bad.log.requests.clear()
        wait_until(lambda: self.bad.calls, what="the bad node is called")

    def stop(self) -> None:
        if self._prover:
            self._prover.stop()
        self._prover, self._node_count = None, 0


@pytest.fixture(scope="module")
def running(install: Install) -> Iterator[Nodes]:
    with ExitStack() as stack:
        chain, other = (
            stack.enter_context(closing(Chain(chain_id))) for chain_id in (31337, 31338)
        )
        nodes = [stack.enter_context(closing(Node(chain))) for _ in range(3)]
        service = stack.enter_context(install())
        service.set_limits(
            quorum_wait=QUORUM_WAIT, max_retry_delay=2, max_cooldown=1, poll_interval=1
        )
        service.add_native_chain(chain, *nodes)
        chain.mine(200)
        service.serve()
        yield Nodes(service, other, nodes)


@pytest.fixture
def nodes(running: Nodes) -> Iterator[Nodes]:
    yield running
    running.bad.recover()


def fact_answer(answer: str) -> Callable[[list[Any], Any], Any]:
    """Give this answer to reads of an account's field."""

    def change(params: list[Any], result: Any) -> Any:
        call = params[0].get("data") or params[0].get("input")
        return answer if call.startswith(FACT_READ) else result

    return change


def false_state_root(_: list[Any], result: Any) -> Any:
    return result and result | {"stateRoot": f"0x{64 * '1'}"}


def false_head(params: list[Any], result: Any) -> Any:
    far = {"number": hex(int(result["number"], 16) + FAR)} if result else {}
    return result | far if params[0] in {"latest", "finalized"} else result


def false_receipt_block(_: list[Any], result: Any) -> Any:
    return result and result | {"blockNumber": hex(int(result["blockNumber"], 16) + FAR)}


LIES: dict[str, tuple[str, Callable[[list[Any], Any], Any]]] = {
    "cuts proofs": (
        "eth_getProof",
        lambda _, true: true | {"accountProof": true["accountProof"][:-1]},
    ),
    "invents state roots": ("eth_getBlockByNumber", false_state_root),
    "invents a head": ("eth_getBlockByNumber", false_head),
    "denies receipts": ("eth_getTransactionReceipt", lambda *_: None),
    "invents blocks of receipts": ("eth_getTransactionReceipt", false_receipt_block),
    "invents failures": (
        "eth_getTransactionReceipt",
        lambda _, true: true and true | {"status": "0x0"},
    ),
    "denies facts": ("eth_call", fact_answer(NOT_PROVEN)),
    "invents facts": ("eth_call", fact_answer(PROVEN)),
}


def impersonate_other_chain(nodes: Nodes) -> None:
    """From the prover's start, when it checks the chain id."""
    nodes.stop()
    nodes.bad.impersonate(nodes.other_chain)
    nodes.prove(3)


FAULTS: dict[str, Callable[[Nodes], None]] = {
    "is down": lambda nodes: nodes.bad.hang_up(),
    "is slow": lambda nodes: nodes.bad.delay_answers(SLOW),
    "limits requests": lambda nodes: nodes.bad.fail_with(429),
    "fails": lambda nodes: nodes.bad.fail_with(503),
    "is behind": lambda nodes: nodes.bad.fall_behind(nodes.service.chain.head - 100),
    "is of another chain": impersonate_other_chain,
}


def assert_proven_once(service: Service, block: int) -> None:
    """Check the fact and its one event, and that every transaction proved something."""
    chain = service.chain
    proven = service.events("AccountProven(address,uint256,uint8)", int(HOLDER, 16), block)
    assert len(proven) == 1
    assert service.field(HOLDER, block, BALANCE) == chain.balance(HOLDER, block)
    log_filter = {"address": service.registries[31337, 31337], "fromBlock": "0x0"}
    useful = {log["transactionHash"] for log in chain.rpc("eth_getLogs", log_filter)}
    assert int(chain.rpc("eth_getTransactionCount", SIGNER, "latest"), 16) == len(useful)


def await_proof_of_bad(nodes: Nodes, blocks: Iterator[int]) -> None:
    """Wait until a worker asks the bad node, which it avoids for a second after a fault."""

    def is_asked() -> bool:
        nodes.service.wait(nodes.service.submit_balance(next(blocks)))
        return bool(nodes.bad.calls["eth_getProof"])

    wait_until(is_asked)
    nodes.bad.log.requests.clear()


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_batch_is_done_while_one_of_three_nodes_fails(
    nodes: Nodes, blocks: Iterator[int], fault: Callable[[Nodes], None]
) -> None:
    service, block = nodes.service, next(blocks)
    nodes.prove(3)
    await_proof_of_bad(nodes, blocks)
    fault(nodes)
    service.wait(service.submit_balance(block), seconds=180)  # some 20 slow answers
    assert nodes.bad.calls
    assert_proven_once(service, block)


@pytest.mark.parametrize(("method", "change"), LIES.values(), ids=LIES)
def test_a_batch_gets_the_right_fact_while_one_of_three_nodes_lies(
    nodes: Nodes, blocks: Iterator[int], method: str, change: Callable[[list[Any], Any], Any]
) -> None:
    service, block = nodes.service, next(blocks)
    nodes.prove(3)
    await_proof_of_bad(nodes, blocks)
    nodes.bad.falsify(method, change)
    service.wait(service.submit_balance(block))
    assert nodes.bad.calls[method]
    assert_proven_once(service, block)


def test_a_batch_is_done_while_one_of_two_nodes_is_gone(
    nodes: Nodes, blocks: Iterator[int]
) -> None:
    service, block = nodes.service, next(blocks)
    nodes.prove(2)
    nodes.bad.log.requests.clear()
    nodes.bad.hang_up()
    service.wait(service.submit_balance(block))
    assert nodes.bad.calls
    assert_proven_once(service, block)


@pytest.mark.parametrize(("method", "change"), LIES.values(), ids=LIES)
def test_no_false_fact_is_stored_while_one_of_two_nodes_lies(
    nodes: Nodes, blocks: Iterator[int], method: str, change: Callable[[list[Any], Any], Any]
) -> None:
    """The batch is DONE with the right fact, or waits until the node tells the truth."""
    service, block = nodes.service, next(blocks)
    nodes.prove(2)
    nodes.bad.log.requests.clear()
    nodes.bad.falsify(method, change)
    batch = service.submit_balance(block)
    with suppress(AssertionError):
        wait_until(lambda: service.status(batch)["queryStatus"] != "IN_PROGRESS", seconds=5)
    if service.status(batch)["queryStatus"] != "IN_PROGRESS":
        assert_proven_once(service, block)
    nodes.bad.recover()
    service.wait(batch)
    assert nodes.bad.calls[method]
    assert_proven_once(service, block)


@pytest.mark.parametrize(
    ("fault", "code"), [("is down", "nodes_unreachable"), ("limits requests", "nodes_rate_limited")]
)
def test_a_batch_waits_for_the_only_node(
    nodes: Nodes, blocks: Iterator[int], fault: str, code: str
) -> None:
    """The log says so once a minute, however often the node is asked."""
    service, block = nodes.service, next(blocks)
    nodes.prove(1)
    FAULTS[fault](nodes)
    batch = service.submit_balance(block)
    service.wait_for(batch, code)
    requests = len(nodes.bad.log.requests)
    wait_until(lambda: len(nodes.bad.log.requests) > requests + 4)
    nodes.bad.recover()
    service.wait(batch)
    assert_proven_once(service, block)
    texts = [line.split(maxsplit=1)[1] for line in nodes.log.splitlines() if "WARNING" in line]
    assert texts
    assert max(Counter(texts).values()) <= 2  # the prover may have run for more than a minute


def test_no_log_has_an_api_key_or_a_nodes_url(nodes: Nodes, blocks: Iterator[int]) -> None:
    """Even if the node's own error quotes its URL with the secret."""
    service, secret = nodes.service, secrets.token_hex(16)
    url = f"{nodes.bad.url}/{secret}"
    error = {"code": -32602, "message": f"invalid argument to {url} for {secret}"}

    def quote_url(question: Question) -> dict[str, Any] | None:
        if question["method"] != "eth_getProof":
            return None
        return {"jsonrpc": "2.0", "id": question["id"], "error": error}

    nodes.stop()
    nodes.bad.set_fault(quote_url)
    nodes.bad.log.requests.clear()
    with service.prove(LOG_LEVEL="DEBUG", ROUTES_FILE=service.routes_with(nodes=[url])):
        batch = service.submit_balance(next(blocks))
        wait_until(lambda: nodes.bad.calls["eth_getProof"] > 1, what="the node is called again")
        status = json.dumps(service.status(batch))
    assert service.get("/api-key", apiKey=service.keys[1]).ok
    logs = "".join(file.read_text() for file in service.folder.glob("*.log"))
    assert "/api-key" in logs
    for text in (secret, *(node.url for node in nodes.nodes), *service.keys):
        assert text not in logs + status
