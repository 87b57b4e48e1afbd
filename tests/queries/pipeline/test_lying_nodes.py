"""A node that lies, stalls, refuses or is gone: no fact is wrong, and the wait has a reason."""

import json
import math
import re
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from queries.chain.local_node import LocalNode, local_node
from queries.chain.signed_parts import parts_of
from queries.models import BlockJob, SentTransaction
from queries.pipeline import following
from queries.pipeline.costs import price_of
from tests.queries.chain.lying_node import (
    LyingNode,
    Say,
    drip_headers,
    drip_trailers,
    endless,
    many_values,
    stall,
)
from tests.queries.pipeline.between import between, methods, passed_on, retold
from tests.queries.pipeline.provers import impatient, through
from tests.queries.pipeline.service import CHAIN_ID, ETHER, running_service

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]
HOLDER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
INVENTED = "0x" + 64 * "7"  # hash of no block
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


# What is changed how, and the code of the wait that comes of it.
LIES: dict[str, tuple[str, Change, str]] = {
    "a balance that is not proven": ("eth_getProof", _with("balance", hex(10**30)), "nodes_lie"),
    "a proof with a digit changed": ("eth_getProof", _digit_changed, "nodes_lie"),
    "a proof that is cut short": ("eth_getProof", _cut, "nodes_lie"),
    "a proof that is far too large": ("eth_getProof", _oversized, "nodes_lie"),
    "no proof at all": ("eth_getProof", _with("accountProof", []), "nodes_lie"),
    "another account's proof": ("eth_getProof", _with("address", "0x" + 40 * "1"), "nodes_lie"),
    "nothing": ("eth_getProof", lambda _: None, "nodes_lie"),
    "a header with another state root": (
        "eth_getBlockByNumber", _with("stateRoot", "0x" + 64 * "1"), "nodes_lie",
    ),
    "a header with another time": ("eth_getBlockByNumber", _with("timestamp", "0x1"), "nodes_lie"),
    "another chain": ("eth_chainId", lambda _: "0x1", "nodes_of_another_chain"),
    "gas without end": ("eth_estimateGas", lambda _: "0x" + 80 * "f", "nodes_lie"),
    "words that are none": ("eth_call", lambda _: "0xzz", "nodes_lie"),
    "more transactions than can be": ("eth_getTransactionCount", lambda _: hex(2**70), "nodes_lie"),
}  # fmt: skip


@pytest.mark.parametrize(("method", "change", "code"), LIES.values(), ids=LIES)
def test_a_lie_is_found_and_waited_out(
    node: LocalNode, method: str, change: Change, code: str
) -> None:
    lying = Lying(method, change)
    with between(node.url, lying) as (address, _), running_service(node) as service:
        service.mine(3)
        block = service.head() - 1
        batch = service.ask_balance(HOLDER, block)
        prover = through(service, address)
        prover.work_until_it_waits(batch, code)
        assert lying.lied
        assert service.reads.account_field(bytes.fromhex(HOLDER[2:]), block, 1) is None
        lying.honest = True
        service.look_now()
        prover.work(batch)
        word = service.reads.account_field(bytes.fromhex(HOLDER[2:]), block, 1)
        assert word is not None
        assert int.from_bytes(word) == service.balance(HOLDER, block)


def test_a_block_that_one_of_two_nodes_does_not_have_is_waited_for(node: LocalNode) -> None:
    """As where a node answers for another chain, which is not so far."""
    lying = Lying("eth_getBlockByNumber", lambda block: block and block | {"number": "0x1"})
    with between(node.url, lying) as (address, _), running_service(node) as service:
        service.mine(400)
        batch = service.ask_balance(HOLDER, service.head() - 1)
        chains = through(service, address, node.url).chains()
        chains._compares_at[CHAIN_ID] = math.inf  # or it would be passed over at once
        said = service.work_until_it_waits(batch, "block_not_final", chains)
        assert "is not final yet" in said
        lying.honest = True
        service.work(batch, chains=chains)
        assert service.status(batch)["queryStatus"] == "DONE"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("blockNumber", 2**200),
        ("gasUsed", 2**200),
        ("gasUsed", 2**24 + 1),  # more than any transaction may have
        ("effectiveGasPrice", 2**200),
        ("effectiveGasPrice", ETHER),
        ("l1Fee", 2**100),  # of a chain that has none
    ],
)
def test_a_receipt_that_none_can_be_is_asked_of_another_node(
    node: LocalNode, key: str, value: int
) -> None:
    lying = Lying("eth_getTransactionReceipt", _with(key, hex(value)))
    with between(node.url, lying) as (address, _), running_service(node) as service:
        service.mine(3)
        batch = service.ask_balance(HOLDER, service.head() - 1)
        said = through(service, address).work_until_it_waits(batch, "nodes_lie")
        assert said.startswith("No node of Local answers eth_getTransaction")
        service.look_now()
        through(service, address, node.url).work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"
        assert int(service.status(batch)["spent"]) < ETHER


def test_gas_is_paid_for_as_its_block_says_and_not_as_a_receipt_does(node: LocalNode) -> None:
    """Which is within what was signed, and so cannot be told from a true one by itself."""

    def dearest(receipt: Any) -> Any:
        if receipt is None:
            return None
        signed = node.rpc.ask("eth_getTransactionByHash", receipt["transactionHash"])
        return receipt | {"effectiveGasPrice": signed["maxFeePerGas"]}

    lying = Lying("eth_getTransactionReceipt", dearest)
    with (
        between(node.url, lying) as (address, _),
        running_service(node, free=False, dearest_gas=ETHER) as service,
    ):
        service.mine(3)
        entry = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
        data = {str(CHAIN_ID): {f"block:{service.head() - 1}": entry}}
        batch = service.submit(data, fee=str(ETHER))
        through(service, address).work(batch)
        row = SentTransaction.objects.get()
        true = node.rpc.ask("eth_getTransactionReceipt", row.mined_hash)
        price = int(true["gasUsed"], 16) * int(true["effectiveGasPrice"], 16)
        told = service.status(batch)
    assert lying.lied
    assert int(true["effectiveGasPrice"], 16) < int(row.max_fee, 16)
    assert told["spent"] == told["queries"][0]["cost"] == str(price)


class InventingBlocks:
    """Receipts at the dearest price, of a block that is none; of it this header is shown."""

    def __init__(self, shown: Any) -> None:
        self.shown = shown

    def __call__(self, asked: Any, answer: Any) -> None:
        if asked["method"] == "eth_getTransactionReceipt" and answer.get("result"):
            answer["result"] |= {"blockHash": INVENTED, "effectiveGasPrice": hex(10**9)}
        elif asked["method"] == "eth_getBlockByHash" and asked["params"][0] == INVENTED:
            answer["result"] = self.shown


@pytest.mark.parametrize(
    ("shown", "code"), [(None, "block_unknown"), ({"number": "0x1"}, "nodes_lie")]
)
def test_a_receipt_of_a_block_that_nobody_can_show_is_asked_of_another_node(
    node: LocalNode, shown: Any, code: str
) -> None:
    with (
        between(node.url, retold(InventingBlocks(shown))) as (address, _),
        running_service(node, free=False, dearest_gas=ETHER) as service,
    ):
        service.mine(3)
        entry = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
        data = {str(CHAIN_ID): {f"block:{service.head() - 1}": entry}}
        batch = service.submit(data, fee=str(ETHER))
        said = through(service, address).work_until_it_waits(batch, code)
        assert re.search("know no such block|No node of Local answers", said)
        service.look_now()
        through(service, address, node.url).work(batch)
        row = SentTransaction.objects.get()
        true = node.rpc.ask("eth_getTransactionReceipt", row.mined_hash)
        price = int(true["gasUsed"], 16) * int(true["effectiveGasPrice"], 16)
        told = service.status(batch)
    assert told["spent"] == told["queries"][0]["cost"] == str(price)


def test_a_nonce_far_ahead_of_its_lane_is_not_waited_for(
    node: LocalNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes later has the nonces that were left out, and what was signed so is signed anew."""
    monkeypatch.setattr(following, "SENT_AGAIN_AFTER", timedelta(seconds=0.1))
    lying = Lying("eth_getTransactionCount", lambda result: hex(int(result, 16) + 100))
    with between(node.url, lying) as (address, _), running_service(node) as service:
        service.mine(3)
        first = service.ask_balance(HOLDER, service.head() - 1)
        prover = through(service, address)
        prover.work_until_it_says("on its way", first)
        assert service.waits(first) == "transaction_on_its_way"
        lying.honest = True
        ahead = SentTransaction.objects.get()
        later = service.ask_balance(HOLDER, service.head() - 2)
        prover.work(later)
        assert service.status(first)["queryStatus"] == "IN_PROGRESS"
        monkeypatch.setattr(following, "LEFT_BEHIND_AFTER", timedelta(0))
        prover.work(first)
        nonces = list(SentTransaction.objects.order_by("pk").values_list("nonce", flat=True))
        assert nonces == [ahead.nonce - 99, ahead.nonce - 100]
        assert set(ahead.hashes) < set(SentTransaction.objects.get(pk=ahead.pk).hashes)


def test_a_nonce_that_was_left_out_is_taken_by_an_empty_transaction(
    node: LocalNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signed anew, what waits behind it would be mined under both nonces."""
    monkeypatch.setattr(following, "SENT_AGAIN_AFTER", timedelta(seconds=0.1))
    lying = Lying("eth_getTransactionCount", lambda result: hex(int(result, 16) + 2))
    with between(node.url, lying) as (address, _), running_service(node) as service:
        service.mine(3)
        batch = service.ask_balance(HOLDER, service.head() - 1)
        prover = through(service, address)
        prover.work_until_it_says("on its way", batch)
        lying.honest = True
        ahead = SentTransaction.objects.get()
        monkeypatch.setattr(following, "LEFT_BEHIND_AFTER", timedelta(0))
        prover.work(batch)
        rows = SentTransaction.objects.order_by("nonce")
        assert [row.nonce for row in rows] == [ahead.nonce - 2, ahead.nonce - 1, ahead.nonce]
        assert [parts_of(row.raw).data for row in rows] == [b"", b"", parts_of(ahead.raw).data]
        prover.work_until(lambda: not rows.filter(settled=False).exists())
        assert [row.gas_used for row in rows[:2]] == [21_000, 21_000]
        assert int(service.status(batch)["spent"]) == price_of(rows[2])


def test_a_nonce_that_one_node_alone_is_ahead_of_is_not_taken(node: LocalNode) -> None:
    """Else its transaction waited for one that nobody has signed."""
    lying = Lying("eth_getTransactionCount", lambda result: hex(int(result, 16) + 1))
    lying.honest = True
    with between(node.url, lying) as (address, _), running_service(node) as service:
        service.mine(4)
        newest, prover = service.head(), through(service, address, node.url)
        prover.work(service.ask_balance(HOLDER, newest - 1))
        lying.honest = False
        prover.work(service.ask_balance(HOLDER, newest - 2))
        first, second = SentTransaction.objects.order_by("pk").values_list("nonce", flat=True)
        assert second == first + 1


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


@pytest.mark.parametrize(
    ("refuse", "code"),
    [
        (_refusing(500), "nodes_unreachable"),
        (_refusing(429, Retry_After="1"), "nodes_limited"),
    ],
)
def test_a_node_that_does_not_serve_is_waited_for(
    node: LocalNode, monkeypatch: pytest.MonkeyPatch, refuse: Callable[..., None], code: str
) -> None:
    impatient(monkeypatch, patience=1.5)  # long enough for a round after Retry-After
    with between(node.url, refuse) as (address, proxy), running_service(node) as service:
        service.mine(3)
        batch = service.ask_balance(HOLDER, service.head() - 1)
        prover = through(service, address)
        said = prover.work_until_it_waits(batch, code)
        assert re.search("No node of Local|take no more questions", said)
        proxy.handle = passed_on
        service.look_now()
        prover.work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"


@pytest.mark.parametrize("never", [stall, drip_headers, drip_trailers, many_values, endless])
def test_a_node_that_never_comes_to_an_end_is_waited_for(
    node: LocalNode, monkeypatch: pytest.MonkeyPatch, never: Say
) -> None:
    """It holds a prover for the time that one answer may take, and no longer."""
    impatient(monkeypatch, timeout=0.5, patience=0.0)
    with (
        between(node.url, lambda it, asked, _: never(it, asked)) as (address, proxy),
        running_service(node) as service,
    ):
        service.mine(3)
        batch = service.ask_balance(HOLDER, service.head() - 1)
        prover = through(service, address)
        begin = time.monotonic()
        said = prover.work_until_it_waits(batch, "nodes_unreachable")
        assert time.monotonic() < begin + 6
        assert said.startswith("No node of Local answers")
        proxy.handle = passed_on
        service.look_now()
        prover.work(batch)
        assert service.status(batch)["queryStatus"] == "DONE"


def test_a_node_that_is_gone_is_waited_for(
    node: LocalNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient(monkeypatch, patience=0.5)
    with running_service(node) as service:
        service.mine(3)
        batch = service.ask_balance(HOLDER, service.head() - 1)
        gone = through(service, "http://127.0.0.1:1")
        said = gone.work_until_it_waits(batch, "nodes_unreachable")
        assert said.startswith("No node of Local answers")
        service.look_now()
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
