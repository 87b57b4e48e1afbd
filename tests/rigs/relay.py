"""A stub node that forwards to a real one and may change or refuse the answers, as one test says.

`faulty_node` has a scenario's node, with the faults that several scenarios share.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from queries.chain.json_rpc import JsonRpc, JsonRpcError
from queries.config.routes import Chain, NodeAddress
from tests.rigs.stub_node import Responder, StubNode, json_bytes, stub_node

# Takes a method, its parameters and the real answer; returns the answer to give.
Change = Callable[[str, list[Any], dict[str, Any]], dict[str, Any]]


@dataclass
class RequestLog:
    """The methods called at a relay, by HTTP request."""

    requests: list[list[str]] = field(default_factory=list)

    @property
    def methods(self) -> list[str]:
        return [method for request in self.requests for method in request]


def refusal(message: str, code: int = -32000) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


def unchanged(_method: str, _params: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
    return answer


@contextmanager
def relay(
    url: str,
    change: Change = unchanged,
    asked: RequestLog | None = None,
    first: Responder | None = None,
) -> Iterator[str]:
    """Run a node that answers as the one at `url` does, after `change`; yield its URL.

    `first` may answer a request itself, or raise `NotHandledError`.
    """

    def say(node: StubNode, content: Any) -> None:
        questions = content if isinstance(content, list) else [content]
        if asked is not None:
            asked.requests.append([question["method"] for question in questions])
        if first is not None:
            try:
                first(node, content)
            except NotHandledError:
                pass
            else:
                return
        rpc = JsonRpc(url)
        answers = [_answer(rpc, question, change) for question in questions]
        rpc.close()
        node.answer(json_bytes(answers if isinstance(content, list) else answers[0]))

    with stub_node(say) as address:
        yield address


class NotHandledError(Exception):
    """The request is for the real node."""


def _answer(rpc: JsonRpc, question: dict[str, Any], change: Change) -> dict[str, Any]:
    method, params = question["method"], question["params"]
    try:
        answer = {"result": rpc.ask(method, *params)}
    except JsonRpcError as refused:
        answer = refusal(refused.message, refused.code)
        answer["error"]["data"] = refused.data
    return {"jsonrpc": "2.0", "id": question["id"], **change(method, params, answer)}


def chain_with_nodes(*urls: str, chain_id: int = 31_337, **other: Any) -> Chain:
    """A chain with these nodes."""
    return Chain(chain_id, "Local", tuple(NodeAddress(url) for url in urls), **other)
