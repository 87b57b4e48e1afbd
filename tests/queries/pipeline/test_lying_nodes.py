"""A node that lies, stalls, refuses or is gone: no fact is wrong, and the wait has a reason."""

import json
import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from queries.chain.local_node import LocalNode, local_node
from queries.chain.nodes import Nodes
from queries.models import BlockJob
from tests.queries.chain.lying_node import (
    LyingNode,
    Say,
    drip_headers,
    drip_trailers,
    endless,
    many_values,
    stall,
)
from tests.queries.pipeline.between import between, methods, passed_on
from tests.queries.pipeline.provers import through
from tests.queries.pipeline.service import ETHER, running_service

pytestmark = pytest.mark.django_db(transaction=True)
HOLDER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
Change = Callable[[Any], Any]


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node("--slots-in-an-epoch", "1") as running:
        running.rpc.ask("anvil_setBalance", HOLDER, hex(5 * ETHER))
        yield running


class Lying:
    """Changes the results of one method until it is told to be honest."""

    def __init__(self, method: str, change: Change) -> None:
        self.method = method
        self.change = change
        self.honest = False
        self.lied = 0

    def __call__(self, connection: LyingNode, question: Any, pass_on: Callable[[], bytes]) -> None:
        if self.honest or self.method not in methods(question):
            connection.answer(pass_on())
            return
        self.lied += 1
        answers = json.loads(pass_on())
        for answer in answers if isinstance(answers, list) else [answers]:
            if "result" in answer:
                answer["result"] = self.change(answer["result"])
        connection.answer(json.dumps(answers).encode())


def _with(name: str, value: Any) -> Change:
    return lambda result: {**result, name: value} if isinstance(result, dict) else result


def _digit_changed(result: Any) -> Any:
    """The last proof node of the account, one digit of it changed."""
    proof = list(result["accountProof"])
    last = proof[-1]
    proof[-1] = last[:-1] + ("0" if last[-1] != "0" else "1")
    return {**result, "accountProof": proof}


def _cut(result: Any) -> Any:
    return {**result, "accountProof": result["accountProof"][:-1]}


def _oversized(result: Any) -> Any:
    return {**result, "accountProof": ["0x" + "ab" * 200_000] * 80}


LIES: dict[str, tuple[str, Change]] = {
    "a balance that is not proven": ("eth_getProof", _with("balance", hex(10**30))),
    "a proof with a digit changed": ("eth_getProof", _digit_changed),
    "a proof that is cut short": ("eth_getProof", _cut),
    "a proof that is far too large": ("eth_getProof", _oversized),
    "no proof at all": ("eth_getProof", _with("accountProof", [])),
    "another account's proof": ("eth_getProof", _with("address", "0x" + 40 * "1")),
    "nothing": ("eth_getProof", lambda _: None),
    "a header with another state root": (
        "eth_getBlockByNumber", _with("stateRoot", "0x" + 64 * "1"),
    ),
    "a header with another time": ("eth_getBlockByNumber", _with("timestamp", "0x1")),
    "another chain": ("eth_chainId", lambda _: "0x1"),
    "gas without end": ("eth_estimateGas", lambda _: "0x" + 80 * "f"),
    "words that are none": ("eth_call", lambda _: "0xzz"),
}  # fmt: skip


@pytest.mark.parametrize(("method", "change"), LIES.values(), ids=LIES)
def test_a_lie_is_found_and_waited_out(node: LocalNode, method: str, change: Change) -> None:
    lying = Lying(method, change)
    with between(node.url, lying) as (address, _), running_service(node) as service:
        service.mine(3)
        block = service.head() - 1
        batch = service.ask_balance(HOLDER, block)
        prover = through(service, address)
        with pytest.raises(AssertionError, match="not done in"):
            prover.work(batch, seconds=2)
        assert lying.lied
        told = service.status(batch)
        assert told["queryStatus"] == "IN_PROGRESS"
        assert service.reads.account_field(bytes.fromhex(HOLDER[2:]), block, 1) is None
        lying.honest = True
        prover.work(batch)
        word = service.reads.account_field(bytes.fromhex(HOLDER[2:]), block, 1)
        assert word is not None
        assert int.from_bytes(word) == service.balance(HOLDER, block)


def _refusing(status: int, **headers: str) -> Callable[..., None]:
    def refuse(connection: LyingNode, *_: object) -> None:
        connection.answer(b"{}", status, **headers)

    return refuse


def _saying(message: str) -> Callable[..., None]:
    """An error of the node's own to proofs, and honesty else."""

    def say(connection: LyingNode, question: Any, pass_on: Callable[[], bytes]) -> None:
        if "eth_getProof" not in methods(question):
            connection.answer(pass_on())
            return
        asked = question if isinstance(question, list) else [question]
        told = [
            {"jsonrpc": "2.0", "id": each["id"], "error": {"code": -32000, "message": message}}
            for each in asked
        ]
        connection.answer(json.dumps(told if isinstance(question, list) else told[0]).encode())

    return say


@pytest.mark.parametrize("refuse", [_refusing(500), _refusing(429, Retry_After="1")])
def test_a_node_that_does_not_serve_is_waited_for(
    node: LocalNode, refuse: Callable[..., None]
) -> None:
    with between(node.url, refuse) as (address, proxy), running_service(node) as service:
        service.mine(3)
        batch = service.ask_balance(HOLDER, service.head() - 1)
        prover = through(service, address)
        with pytest.raises(AssertionError, match=r"No node of Local|take no more questions"):
            prover.work(batch, seconds=2)
        proxy.handle = lambda connection, _, pass_on: connection.answer(pass_on())
        prover.work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"


@pytest.mark.parametrize("never", [stall, drip_headers, drip_trailers, many_values, endless])
def test_a_node_that_never_comes_to_an_end_is_waited_for(
    node: LocalNode, monkeypatch: pytest.MonkeyPatch, never: Say
) -> None:
    """It holds a prover for the time that one answer may take, and no longer."""
    for module in ("source", "destination"):
        impatient = partial(Nodes, timeout=0.5, patience=0.0)
        monkeypatch.setattr(f"queries.chain.{module}.Nodes", impatient)
    with (
        between(node.url, lambda it, asked, _: never(it, asked)) as (address, proxy),
        running_service(node) as service,
    ):
        service.mine(3)
        batch = service.ask_balance(HOLDER, service.head() - 1)
        prover = through(service, address)
        begin = time.monotonic()
        with pytest.raises(AssertionError, match="No node of Local answers"):
            prover.work(batch, seconds=2)
        assert time.monotonic() < begin + 6
        proxy.handle = passed_on
        prover.work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"


def test_a_node_that_is_gone_is_waited_for(node: LocalNode) -> None:
    with running_service(node) as service:
        service.mine(3)
        batch = service.ask_balance(HOLDER, service.head() - 1)
        with pytest.raises(AssertionError, match="No node of Local answers"):
            through(service, "http://127.0.0.1:1").work(batch, seconds=2)
        service.work(batch)


def test_where_one_lies_the_other_is_asked(node: LocalNode) -> None:
    lying = Lying("eth_getProof", _digit_changed)
    with between(node.url, lying) as (address, _), running_service(node) as service:
        service.mine(3)
        batch = service.ask_balance(HOLDER, service.head() - 1)
        through(service, address, node.url).work(batch, seconds=10)
        assert lying.lied


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("distance to target block exceeds maximum proof window", "proof_window_exceeded"),
        ("missing trie node 0123 (path ) state 0x45 is not available", "state_not_available"),
    ],
)
def test_proofs_that_no_node_keeps_are_told_as_that(
    node: LocalNode, message: str, code: str
) -> None:
    with between(node.url, _saying(message)) as (address, _), running_service(node) as service:
        service.mine(3)
        batch = service.ask_balance(HOLDER, service.head() - 1)
        through(service, address).work(batch)
        told = service.status(batch)
        assert (told["queryStatus"], told["code"]) == ("REJECTED", code)
        assert re.fullmatch(r"[A-Z].*\.", told["error"])
        assert "127.0.0.1" not in told["error"]
        assert not BlockJob.objects.exclude(look_again=None).exists()
