"""A real server between a prover and its node, that passes on what it is told to and how."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import requests

from tests.rigs.stub_node import LyingNode, lying_node

# What happens at a question: `pass_on` asks the node, and returns what it answers.
PassOn = Callable[[], bytes]
Handle = Callable[[LyingNode, Any, PassOn], None]
# Makes of one answer, as it is passed on, what is told: of the question, and the answer itself.
Change = Callable[[Any, Any], None]


@dataclass
class Between:
    """Counts what is asked; `handle` decides what comes of it."""

    node: str
    handle: Handle
    asked: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def say(self, connection: LyingNode, question: Any) -> None:
        with self.lock:
            self.asked += methods(question)

        def pass_on() -> bytes:
            return requests.post(self.node, json=question, timeout=30).content

        self.handle(connection, question, pass_on)


def methods(question: Any) -> list[str]:
    return [each["method"] for each in (question if isinstance(question, list) else [question])]


def passed_on(connection: LyingNode, _question: Any, pass_on: Callable[[], bytes]) -> None:
    connection.answer(pass_on())


def called(asked: Any) -> str:
    """The data of a call to a contract, and nothing of any other question."""
    return str(asked["params"][0].get("data", "")) if asked["method"] == "eth_call" else ""


def retold(change: Change) -> Handle:
    """All is passed on, and each answer is changed before it is told."""

    def tell(connection: LyingNode, question: Any, pass_on: PassOn) -> None:
        told = json.loads(pass_on())
        asked, answers = (each if isinstance(each, list) else [each] for each in (question, told))
        for one, answer in zip(asked, answers, strict=True):
            change(one, answer)
        connection.answer(json.dumps(told).encode())

    return tell


@contextmanager
def between(node: str, handle: Handle = passed_on) -> Iterator[tuple[str, Between]]:
    """Its address, and what it counts."""
    proxy = Between(node, handle)
    with lying_node(proxy.say) as address:
        yield address, proxy
