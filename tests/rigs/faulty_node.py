"""Nodes in front of a real one, which fail or lie as a test says: real HTTP servers.

`Node` has the faults that scenarios share. `relay` changes answers by one function.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import requests
from eth_utils.crypto import keccak

from queries.config import chains
from tests.rigs.anvil import NO_BODIES, Chain
from tests.rigs.stub_node import Responder, StubNode, json_bytes, stub_node

Question = dict[str, Any]
# Returns the answer to a request, or None to forward it to the real node.
Fault = Callable[[Question], dict[str, Any] | None]
# Takes a method, its parameters and the real answer; returns the answer to give.
Change = Callable[[str, list[Any], dict[str, Any]], dict[str, Any]]

# The position of the block among the parameters.
BLOCK_PARAMETERS = {
    "eth_getBlockByNumber": 0,
    "eth_call": 1,
    "eth_estimateGas": 1,
    "eth_getBalance": 1,
    "eth_getCode": 1,
    "eth_getTransactionCount": 1,
    "eth_getProof": 2,
}


class NoAnswerError(Exception):
    """The connection is closed without an answer."""


class HttpError(Exception):
    """The request is answered with this HTTP status and no JSON-RPC body."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class NotHandledError(Exception):
    """The request is for the real node."""


@dataclass
class RequestLog:
    """The methods that were called, by HTTP request."""

    requests: list[list[str]] = field(default_factory=list)

    @property
    def methods(self) -> list[str]:
        return [method for request in self.requests for method in request]


def refusal(message: str, code: int = -32000) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


class Relay:
    """A node that forwards to the one at `target`, from a URL of its own.

    `first` may answer an HTTP request itself, or raise `NotHandledError`; then a fault is asked.
    `spoilt` counts the requests that a fault answered or refused.
    """

    def __init__(
        self, target: str, log: RequestLog | None = None, first: Responder | None = None
    ) -> None:
        self.log = log or RequestLog()
        self.spoilt = 0
        self._target = target
        self._first = first
        self._fault: Fault = lambda _: None
        self._running = ExitStack()
        self.url = self._running.enter_context(stub_node(self._say))

    def close(self) -> None:
        self.recover()
        self._running.close()

    @property
    def calls(self) -> Counter[str]:
        """How often each method was called."""
        return Counter(self.log.methods)

    def _say(self, connection: StubNode, content: Any) -> None:
        questions = content if isinstance(content, list) else [content]
        self.log.requests.append([question["method"] for question in questions])
        try:
            if self._first is not None:
                try:
                    self._first(connection, content)
                except NotHandledError:
                    pass
                else:
                    return
            answers = [self._ask(question) for question in questions]
        except HttpError as error:
            connection.answer(b"not now", error.status)
        except (NoAnswerError, requests.RequestException):
            connection.close_connection = True
        else:
            answer = json_bytes(answers if isinstance(content, list) else answers[0])
            connection.answer(answer, Content_Type="application/json")

    def _ask(self, question: Question) -> dict[str, Any]:
        answer: dict[str, Any] | None = {}  # counts as spoilt if the fault raises
        try:
            answer = self._fault(question)
        finally:
            if answer is not None:
                self.spoilt += 1
        return self.forward(question) if answer is None else answer

    def forward(self, question: Question) -> dict[str, Any]:
        """The answer of the real node."""
        return _post(self._target, question)

    def set_fault(self, fault: Fault) -> None:
        """Ask `fault` first, for every request from now on."""
        self._fault = fault

    def recover(self) -> None:
        self._fault = lambda _: None


@contextmanager
def relay(
    url: str,
    change: Change | None = None,
    asked: RequestLog | None = None,
    first: Responder | None = None,
) -> Iterator[str]:
    """Run a node that answers as the one at `url` does, after `change`; yield its URL."""
    with closing(Relay(url, asked, first)) as node:

        def fault(question: Question) -> dict[str, Any] | None:
            if change is None:
                return None
            answer = node.forward(question)
            real = {name: value for name, value in answer.items() if name in {"result", "error"}}
            changed = change(question["method"], question["params"], real)
            return {"jsonrpc": "2.0", "id": question["id"], **changed}

        node.set_fault(fault)
        yield node.url


def chain_with_nodes(*urls: str, chain_id: int = 31_337, **other: Any) -> chains.Chain:
    """A chain with these nodes."""
    nodes = tuple(chains.NodeAddress(url) for url in urls)
    return chains.Chain(chain_id, "Local", nodes, **other)


class Node(Relay):
    """A node of `chain` that fails or lies as a scenario says."""

    def __init__(self, chain: Chain) -> None:
        super().__init__(chain.url)
        self.chain = chain

    def hang_up(self) -> None:
        """Close connections without an answer."""

        def fault(_: Question) -> None:
            raise NoAnswerError

        self.set_fault(fault)

    def fail_with(self, status: int) -> None:
        """Answer with an HTTP status, such as 429 for a rate limit."""

        def fault(_: Question) -> None:
            raise HttpError(status)

        self.set_fault(fault)

    def delay_answers(self, seconds: float) -> None:
        """Wait before each answer, but not after the node has recovered."""

        def fault(question: Question) -> dict[str, Any]:
            deadline = time.monotonic() + seconds
            while self._fault is fault and time.monotonic() < deadline:
                time.sleep(0.05)
            return self.forward(question)

        self.set_fault(fault)

    def drop_transactions(self) -> None:
        """Accept transactions without passing them on."""

        def fault(question: Question) -> dict[str, Any] | None:
            if question["method"] != "eth_sendRawTransaction":
                return None
            return _answer(question, f"0x{keccak(hexstr=question['params'][0]).hex()}")

        self.set_fault(fault)

    def impersonate(self, other: Chain) -> None:
        """Answer as another chain's node."""
        self.set_fault(lambda question: _post(other.url, question))

    def fall_behind(self, head: int) -> None:
        """Know no block after `head`. Transactions still reach the chain."""
        newest = {"latest": hex(head), "finalized": hex(max(head - 2, 0))}

        def is_unknown(block: Any) -> bool:
            return isinstance(block, str) and block.startswith("0x") and int(block, 16) > head

        def fault(question: Question) -> dict[str, Any]:
            params = list(question.get("params", []))
            place = BLOCK_PARAMETERS.get(question["method"], len(params))
            for block in params[place : place + 1]:
                params[place] = newest.get(block, block) if isinstance(block, str) else block
            answer = self.forward({**question, "params": params})
            result = answer.get("result")
            if question["method"] == "eth_blockNumber":
                answer["result"] = newest["latest"]
            elif isinstance(result, dict) and is_unknown(result.get("blockNumber")):
                answer["result"] = None  # a receipt
            elif any(map(is_unknown, params[place : place + 1])):
                answer["result"] = None
            return answer

        self.set_fault(fault)

    def make_up_head(self) -> None:
        """Say that the newest block is 1,000 blocks and half a minute after the chain's own."""

        def lie(params: list[Any], true: Any) -> Any:
            if params[0] != "latest" or not true:
                return true
            number, timestamp = (int(true[name], 16) for name in ("number", "timestamp"))
            return true | {"number": hex(number + 1_000), "timestamp": hex(timestamp + 30)}

        self.falsify("eth_getBlockByNumber", lie)

    def keep_proofs(self, *kept: dict[str, Any]) -> None:
        """Still return these results of `Chain.proof`, which the chain's own node has pruned."""
        proofs = {(proof["block"], proof["address"].lower()): proof for proof in kept}

        def fault(question: Question) -> dict[str, Any] | None:
            if question["method"] != "eth_getProof":
                return None
            address, slots, block = question["params"]
            proof = proofs.get((block["blockHash"], address.lower()))
            if proof is None:
                return None
            storage = [slot for slot in proof["storageProof"] if slot["key"] in slots]
            return _answer(question, {**proof, "storageProof": storage})

        self.set_fault(fault)

    def prune_proofs(self, kept: int) -> None:
        """Return proofs only at the newest `kept` blocks."""

        def fault(question: Question) -> dict[str, Any] | None:
            if question["method"] != "eth_getProof":
                return None
            block_hash = question["params"][2]["blockHash"]
            block = int(self.chain.rpc("eth_getBlockByHash", block_hash, NO_BODIES)["number"], 16)
            if block > self.chain.head - kept:
                return None
            error = {"code": -32000, "message": "missing trie node"}
            return {"jsonrpc": "2.0", "id": question["id"], "error": error}

        self.set_fault(fault)

    def list_few_logs(self, blocks: int) -> None:
        """Refuse requests for logs of more blocks, with a gateway's error."""

        def fault(question: Question) -> dict[str, Any] | None:
            if question["method"] != "eth_getLogs":
                return None
            (log_filter,) = question["params"]
            first, last = (int(log_filter[name], 16) for name in ("fromBlock", "toBlock"))
            if last - first < blocks:
                return None
            error = refusal("query returned more than 10000 results", code=-32005)
            return {"jsonrpc": "2.0", "id": question["id"], **error}

        self.set_fault(fault)

    def falsify(self, method: str, change: Callable[[list[Any], Any], Any]) -> None:
        """Answer calls of `method` with `change(params, result)`."""

        def fault(question: Question) -> dict[str, Any] | None:
            if question["method"] != method:
                return None
            answer = self.forward(question)
            if "result" in answer:
                answer["result"] = change(question.get("params", []), answer["result"])
            return answer

        self.set_fault(fault)


def _post(url: str, question: Question) -> dict[str, Any]:
    answer: dict[str, Any] = requests.post(url, json=question, timeout=60).json()
    return answer


def _answer(question: Question, result: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": question["id"], "result": result}
