"""A node between us and a real one, as a real HTTP server: it passes on, or changes, or refuses."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from queries.chain.json_rpc import JsonRpc, NodeRefused
from queries.config.routes import Chain, NodeAddress
from tests.rigs.lying_node import LyingNode, Say, as_json, lying_node

# What becomes of one question's answer: the method and the whole JSON-RPC answer come in.
Change = Callable[[str, list[Any], dict[str, Any]], dict[str, Any]]


@dataclass
class Asked:
    """What a relay was asked: the methods of each request."""

    requests: list[list[str]] = field(default_factory=list)

    @property
    def methods(self) -> list[str]:
        return [method for request in self.requests for method in request]


def refusal(message: str, code: int = -32000) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


def honest(_method: str, _params: list[Any], answer: dict[str, Any]) -> dict[str, Any]:
    return answer


@contextmanager
def relay(
    url: str, change: Change = honest, asked: Asked | None = None, first: Say | None = None
) -> Iterator[str]:
    """The address of a node that answers what the node at `url` does, once `change` saw it.

    `first` may write the answer to a whole request itself; it raises `NotMine` where it does not.
    """

    def say(node: LyingNode, question: Any) -> None:
        questions = question if isinstance(question, list) else [question]
        if asked is not None:
            asked.requests.append([each["method"] for each in questions])
        if first is not None:
            try:
                first(node, question)
            except NotMine:
                pass
            else:
                return
        rpc = JsonRpc(url)
        answers = [_answer(rpc, each, change) for each in questions]
        rpc.close()
        node.answer(as_json(answers if isinstance(question, list) else answers[0]))

    with lying_node(say) as address:
        yield address


class NotMine(Exception):  # noqa: N818
    """The question is for the real node."""


def _answer(rpc: JsonRpc, question: dict[str, Any], change: Change) -> dict[str, Any]:
    method, params = question["method"], question["params"]
    try:
        answer = {"result": rpc.ask(method, *params)}
    except NodeRefused as refused:
        answer = refusal(refused.message, refused.code)
        answer["error"]["data"] = refused.data
    return {"jsonrpc": "2.0", "id": question["id"], **change(method, params, answer)}


def chain_of(*urls: str, chain_id: int = 31_337, **other: Any) -> Chain:
    """A chain with these nodes."""
    return Chain(chain_id, "Local", tuple(NodeAddress(url) for url in urls), **other)
