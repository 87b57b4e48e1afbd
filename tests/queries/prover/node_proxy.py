"""A real HTTP server between a prover and its node that can change requests and answers."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import requests

from tests.rigs.stub_node import StubNode, stub_node

# Handles a request; `PassOn` sends it to the node, and returns the answer.
PassOn = Callable[[], bytes]
Handle = Callable[[StubNode, Any, PassOn], None]
# Changes the answer to one call.
Change = Callable[[Any, Any], None]


def calls_of(body: Any) -> list[Any]:
    """The calls of a request, which may be a batch."""
    return body if isinstance(body, list) else [body]


def changing(change: Change) -> Handle:
    """Pass everything on, and change the answers."""

    def handle(connection: StubNode, body: Any, pass_on: PassOn) -> None:
        answer = json.loads(pass_on())
        for call, result in zip(calls_of(body), calls_of(answer), strict=True):
            change(call, result)
        connection.answer(json.dumps(answer).encode())

    return handle


@contextmanager
def proxy(node: str, handle: Handle) -> Iterator[str]:
    """The proxy's address."""

    def respond(connection: StubNode, body: Any) -> None:
        handle(connection, body, lambda: requests.post(node, json=body, timeout=30).content)

    with stub_node(respond) as address:
        yield address
