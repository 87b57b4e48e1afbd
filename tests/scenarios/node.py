"""A node in front of a chain's own one that fails or lies as a scenario orders: a real server."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

import requests
from eth_utils.crypto import keccak

from tests.rigs.quiet_server import QuietServer
from tests.scenarios.chain import Chain

Question = dict[str, Any]
# What a fault makes of one question: an answer, or None for the chain's own.
Fault = Callable[[Question], dict[str, Any] | None]


# Where a question names its block.
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
    """One node of `chain` by an address of its own.

    `calls` counts questions by method, and `spoilt` those that a fault answered or refused.
    """

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.calls: Counter[str] = Counter()
        self.spoilt = 0
        self._fault: Fault = lambda _: None
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"node": self})
        self._server = QuietServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        poll = {"poll_interval": 0.05}
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs=poll)
        self._thread.start()

    def close(self) -> None:
        self.is_well()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def ask(self, question: Question) -> dict[str, Any]:
        with self._lock:
            self.calls[question["method"]] += 1
        answer: dict[str, Any] | None = {}  # what counts as spoilt where the fault raises
        try:
            answer = self._fault(question)
        finally:
            if answer is not None:
                with self._lock:
                    self.spoilt += 1
        return self.forward(question) if answer is None else answer

    def forward(self, question: Question) -> dict[str, Any]:
        """The chain's own answer."""
        answer: dict[str, Any] = requests.post(self.chain.url, json=question, timeout=60).json()
        return answer

    def faults(self, fault: Fault) -> None:
        """From now on each question goes to `fault` first."""
        self._fault = fault

    def is_well(self) -> None:
        self._fault = lambda _: None

    def is_gone(self) -> None:
        def gone(_: Question) -> None:
            raise NoAnswerError

        self.faults(gone)

    def answers(self, status: int) -> None:
        """429 for a rate limit, 503 for a failure, and so on."""

        def failing(_: Question) -> None:
            raise HttpError(status)

        self.faults(failing)

    def is_slow(self, seconds: float) -> None:
        """Each answer takes so long, or until the node is well again."""

        def slow(question: Question) -> dict[str, Any]:
            until = time.monotonic() + seconds
            while self._fault is slow and time.monotonic() < until:
                time.sleep(0.05)
            return self.forward(question)

        self.faults(slow)

    def swallows(self) -> None:
        """It accepts transactions and never passes them on."""

        def swallow(question: Question) -> dict[str, Any] | None:
            if question["method"] != "eth_sendRawTransaction":
                return None
            sent = f"0x{keccak(hexstr=question['params'][0]).hex()}"
            return {"jsonrpc": "2.0", "id": question["id"], "result": sent}

        self.faults(swallow)

    def is_of(self, other: Chain) -> None:
        """Each question is answered by another chain's node."""

        def elsewhere(question: Question) -> dict[str, Any]:
            answer: dict[str, Any] = requests.post(other.url, json=question, timeout=60).json()
            return answer

        self.faults(elsewhere)

    def is_behind(self, head: int) -> None:
        """It knows no block after `head`. What is sent to it reaches the chain."""
        newest = {"latest": hex(head), "finalized": hex(max(head - 2, 0))}

        def is_unknown(block: Any) -> bool:
            return isinstance(block, str) and block.startswith("0x") and int(block, 16) > head

        def behind(question: Question) -> dict[str, Any]:
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

        self.faults(behind)

    def keeps(self, *kept: dict[str, Any]) -> None:
        """Unlike the chain's own node, it still has these proofs of `Chain.proof`."""
        proofs = {(each["block"], each["address"].lower()): each for each in kept}

        def proven(question: Question) -> dict[str, Any] | None:
            if question["method"] != "eth_getProof":
                return None
            address, slots, block = question["params"]
            found = proofs.get((block["blockHash"], address.lower()))
            if found is None:
                return None
            shown = [each for each in found["storageProof"] if each["key"] in slots]
            result = {**found, "storageProof": shown}
            return {"jsonrpc": "2.0", "id": question["id"], "result": result}

        self.faults(proven)

    def prunes(self, kept: int) -> None:
        """It proves the state of so many of the newest blocks."""

        def pruned(question: Question) -> dict[str, Any] | None:
            if question["method"] != "eth_getProof":
                return None
            named = question["params"][2]["blockHash"]
            block = int(self.chain.rpc("eth_getBlockByHash", named, False)["number"], 16)  # noqa: FBT003  (JSON)
            if block > self.chain.head - kept:
                return None
            error = {"code": -32000, "message": "missing trie node"}
            return {"jsonrpc": "2.0", "id": question["id"], "error": error}

        self.faults(pruned)

    def lies(self, method: str, change: Callable[[list[Any], Any], Any]) -> None:
        """Answers to `method` are what `change(params, result)` returns."""

        def lying(question: Question) -> dict[str, Any] | None:
            if question["method"] != method:
                return None
            answer = self.forward(question)
            if "result" in answer:
                answer["result"] = change(question.get("params", []), answer["result"])
            return answer

        self.faults(lying)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    node: Node

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        content = self.rfile.read(length)
        if len(content) < length:  # the client was killed
            self.close_connection = True
            return
        question = json.loads(content)
        try:
            status, body = 200, json.dumps(self._answer(question)).encode()
        except HttpError as error:
            status, body = error.status, b"not now"
        except (NoAnswerError, requests.RequestException):
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _answer(self, question: Any) -> Any:
        if isinstance(question, list):
            return [self.node.ask(each) for each in question]
        return self.node.ask(question)

    def log_message(self, *_: object) -> None:
        """Requests are not logged."""
