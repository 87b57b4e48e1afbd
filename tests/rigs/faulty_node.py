"""A node in front of a chain's own that fails or lies as a scenario says: a real HTTP server.

`relay` does so for one test, whose function changes the answers.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import requests
from eth_utils.crypto import keccak

from tests.rigs.anvil import NO_BODIES, Chain
from tests.rigs.stub_node import StubNode, json_bytes, stub_node

Question = dict[str, Any]
# Returns the answer to a request, or None to forward it to the chain's own node.
Fault = Callable[[Question], dict[str, Any] | None]

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


class Node:
    """A node of `chain` with its own URL.

    `calls` counts requests by method, `spoilt` those that a fault answered or refused.
    """

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.calls: Counter[str] = Counter()
        self.spoilt = 0
        self._fault: Fault = lambda _: None
        self._lock = threading.Lock()
        self._running = ExitStack()
        self.url = self._running.enter_context(stub_node(self._say))

    def close(self) -> None:
        self.recover()
        self._running.close()

    def _say(self, connection: StubNode, content: Any) -> None:
        try:
            if isinstance(content, list):
                answer: Any = [self.ask(question) for question in content]
            else:
                answer = self.ask(content)
        except HttpError as error:
            connection.answer(b"not now", error.status)
        except (NoAnswerError, requests.RequestException):
            connection.close_connection = True
        else:
            connection.answer(json_bytes(answer), Content_Type="application/json")

    def ask(self, question: Question) -> dict[str, Any]:
        with self._lock:
            self.calls[question["method"]] += 1
        answer: dict[str, Any] | None = {}  # counts as spoilt if the fault raises
        try:
            answer = self._fault(question)
        finally:
            if answer is not None:
                with self._lock:
                    self.spoilt += 1
        return self.forward(question) if answer is None else answer

    def forward(self, question: Question) -> dict[str, Any]:
        """The answer of the chain's own node."""
        return _post(self.chain, question)

    def set_fault(self, fault: Fault) -> None:
        """Ask `fault` first, for every request from now on."""
        self._fault = fault

    def recover(self) -> None:
        self._fault = lambda _: None

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
        self.set_fault(lambda question: _post(other, question))

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


def _post(chain: Chain, question: Question) -> dict[str, Any]:
    answer: dict[str, Any] = requests.post(chain.url, json=question, timeout=60).json()
    return answer


def _answer(question: Question, result: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": question["id"], "result": result}
