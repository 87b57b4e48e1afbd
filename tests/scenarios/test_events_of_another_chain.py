"""Events of an L1 on its L2: contracts act on them; reorgs of the L1; nodes that lie."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

import pytest
from eth_abi.abi import encode

from queries.contracts.create2 import verifier_address
from tests.builds import example
from tests.rigs.anvil import Chain, call_data
from tests.rigs.faulty_node import Node, Question
from tests.rigs.service import Service, request, wait_until
from tests.scenarios.fixtures import Install
from tests.scenarios.test_events import AMOUNT, IS_LOG, RECEIVER, TRANSFER, Transfer, transfer

pytestmark = pytest.mark.either_database

L1, L2, FINALITY = 1337, 31337, 3
RECEIPTS = ("eth_getBlockReceipts", "eth_getTransactionReceipt")


@dataclass(frozen=True)
class Rollup:
    """An L1, whose blocks are final with `FINALITY` others on top, its two nodes, and its L2."""

    l1: Chain
    l2: Chain
    first: Node
    second: Node
    service: Service

    def submit(self, block: int, **items: Any) -> str:
        return self.service.submit({L1: {block: items}})

    def make_final(self, block: int) -> None:
        self.l1.mine(FINALITY)
        self.l2.set_l1_block(self.l1, block)

    def is_log(self, sent: Transfer, transaction: int = 0) -> bool:
        arguments = (sent.block, transaction, 0, sent.token, sent.topics, sent.data)
        return self.service.read_verifier(IS_LOG, *arguments, route=(L1, L2))[31] == 1


@pytest.fixture(scope="module")
def running(install: Install) -> Iterator[Rollup]:
    with ExitStack() as stack:
        l1, l2 = (stack.enter_context(closing(Chain(number))) for number in (L1, L2))
        first, second = (stack.enter_context(closing(Node(l1))) for _ in range(2))
        service = stack.enter_context(install())
        l1.mine(12)
        service.add_chain(l1, first, second, finality=FINALITY)
        service.add_chain(l2)
        service.add_registry("optimism", l1, l2)
        service.set_limits(initial_cooldown=0.1, max_cooldown=1, max_retry_delay=1)
        service.serve()
        service.prove()
        yield Rollup(l1, l2, first, second, service)


@pytest.fixture
def rollup(running: Rollup) -> Iterator[Rollup]:
    yield running
    running.first.recover()
    running.second.recover()


@dataclass(frozen=True)
class Claim:
    """A TransferClaim on the L2, for transfers of a token on the L1."""

    rollup: Rollup
    address: str

    def send(self, signature: str, *values: Any) -> None:
        self.rollup.l2.send(self.address, call_data(signature, *values))

    @property
    def credits(self) -> int:
        # Both chains have the same payer.
        payer = self.rollup.l1.payer
        return int.from_bytes(self.rollup.l2.call(self.address, "credits(address)", payer))


def deploy_claim(rollup: Rollup, sent: Transfer) -> Claim:
    verifier = verifier_address(rollup.service.registries[L1, L2])
    types = ["address", "address", "address", "uint256"]
    arguments = encode(types, [verifier, sent.token, RECEIVER, sent.block])
    receipt = rollup.l2.send(None, f"0x{(example('TransferClaim') + arguments).hex()}")
    return Claim(rollup, receipt["contractAddress"])


def test_a_contract_acts_on_a_transfer_of_another_chain(rollup: Rollup) -> None:
    sent = transfer(rollup.l1)
    claim = deploy_claim(rollup, sent)
    rollup.make_final(sent.block)
    logs = [{"address": sent.token, "topics": [TRANSFER]}]
    rollup.service.wait(rollup.submit(sent.block, logs=logs))
    claim.send("claim(uint256,uint256,uint256,uint256)", sent.block, 0, 0, AMOUNT)
    assert claim.credits == AMOUNT


def test_a_contract_acts_on_a_transfer_that_is_not_stored(rollup: Rollup) -> None:
    sent = transfer(rollup.l1)
    claim = deploy_claim(rollup, sent)
    rollup.make_final(sent.block)
    rollup.l2.send(rollup.service.registries[L1, L2], call_data("recordHash()"))
    body = request({L1: {sent.block: {"logs": [{"logIndex": 0}]}}})
    (witness,) = wait_until(lambda: rollup.service.post("/witness", body).json().get("witnesses"))
    (events,) = witness["events"]
    parts = [bytes.fromhex(events[name][2:]) for name in ("section", "witness")]
    claim.send("claimWithProof(bytes,bytes)", *parts)
    assert claim.credits == AMOUNT
    assert not rollup.is_log(sent)


def test_a_reorg_moves_the_transaction_before_its_block_is_final(rollup: Rollup) -> None:
    sent = transfer(rollup.l1)
    batch = rollup.submit(sent.block, logs=[{"address": sent.token, "topics": [TRANSFER]}])
    rollup.service.wait_for(batch, "block_not_final")
    call = {"from": rollup.l1.payer, "to": sent.token, "data": sent.call, "gas": hex(10**6)}
    other = {"from": rollup.l1.payer, "to": rollup.l1.payer}
    rollup.l1.rpc("anvil_reorg", 2, [[other, 0], [call, 0]])
    rollup.make_final(sent.block)
    (query,) = rollup.service.wait(batch)["queries"]
    assert [event["name"] for event in query["events"]] == ["LOG:1:0"]
    assert rollup.is_log(sent, 1)
    assert not rollup.is_log(sent)


def test_a_reorg_removes_the_transaction_before_its_block_is_final(rollup: Rollup) -> None:
    sent = transfer(rollup.l1)
    batch = rollup.submit(sent.block, logs=[{"transaction": sent.transaction, "log": 0}])
    rollup.service.wait_for(batch, "block_not_final")
    rollup.l1.reorganise(2)
    rollup.make_final(sent.block)
    assert rollup.service.rejection(batch)["code"] == "event_not_found"
    assert not rollup.is_log(sent)


def hide_log(node: Node) -> None:
    """Answer receipts without their logs."""

    def fault(question: Question) -> dict[str, Any] | None:
        if question["method"] != "eth_getBlockReceipts":
            return None
        answer = node.forward(question)
        for receipt in answer["result"]:
            receipt["logs"] = []
        return answer

    node.set_fault(fault)


def refuse_receipts(node: Node) -> None:
    def fault(question: Question) -> dict[str, Any] | None:
        if question["method"] not in RECEIPTS:
            return None
        error = {"code": -32601, "message": "the method does not exist"}
        return {"jsonrpc": "2.0", "id": question["id"], "error": error}

    node.set_fault(fault)


def test_a_node_that_hides_a_log_is_found_out(rollup: Rollup) -> None:
    """What it hides is proven by the other node, and its absence is not."""
    sent = transfer(rollup.l1)
    rollup.make_final(sent.block)
    hide_log(rollup.first)
    absent = {"transaction": 0, "address": sent.token}
    absence = rollup.submit(sent.block, absent=[absent])
    rollup.service.wait(rollup.submit(sent.block, logs=[{"logIndex": 0}]))
    assert rollup.first.spoilt
    assert rollup.is_log(sent)
    assert rollup.service.rejection(absence)["code"] == "event_exists"


def test_a_batch_waits_while_no_node_has_receipts(rollup: Rollup) -> None:
    sent = transfer(rollup.l1)
    rollup.make_final(sent.block)
    refuse_receipts(rollup.first)
    refuse_receipts(rollup.second)
    batch = rollup.submit(sent.block, logs=[{"logIndex": 0}])
    rollup.service.wait_for(batch, "method_missing")
    rollup.second.recover()
    rollup.service.wait(batch)
    assert rollup.is_log(sent)
