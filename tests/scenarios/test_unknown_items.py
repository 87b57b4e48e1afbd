"""Blocks that hold items of types that the product does not know, as on Arbitrum and Polygon."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

import pytest

from tests.rigs.anvil import L1_BLOCK, Chain, call_data
from tests.rigs.service import Service
from tests.rigs.unknown_items import (
    DEBUG_RAW_TRANSACTION,
    RAW_METHODS,
    RAW_TRANSACTION,
    NodeWithUnknownItems,
)
from tests.scenarios.fixtures import Install
from tests.scenarios.test_events import EMITTER, IS_LOG, TRANSACTIONS_ROOT, transfer, word

pytestmark = pytest.mark.either_database

L1, L2, FINALITY = 1337, 31337, 3
ROUTE = (L1, L2)
OTHER = f"0x{0xDEAD:040x}"
PLACE = 1  # of the transfer's transaction, between the two others


@dataclass(frozen=True)
class Rollup:
    """An L1 with such blocks, and its L2."""

    l1: Chain
    l2: Chain
    node: NodeWithUnknownItems
    service: Service

    def make_final(self, number: int) -> None:
        self.l1.mine(FINALITY)
        block_hash = bytes.fromhex(self.node.block(number).contents["hash"][2:])
        self.l2.send(L1_BLOCK, call_data("set(uint64,bytes32)", number, block_hash))

    def submit(self, block: int, **items: Any) -> str:
        return self.service.submit({L1: {block: items}})

    def read(self, signature: str, *values: Any) -> bytes:
        return self.service.read_verifier(signature, *values, route=ROUTE)


@pytest.fixture(scope="module")
def running(install: Install) -> Iterator[Rollup]:
    with ExitStack() as stack:
        l1, l2 = (stack.enter_context(closing(Chain(number))) for number in ROUTE)
        node = stack.enter_context(closing(NodeWithUnknownItems(l1)))
        service = stack.enter_context(install())
        l1.mine(12)
        service.add_chain(l1, node.url, finality=FINALITY)
        service.add_chain(l2)
        service.add_registry("optimism", l1, l2)
        service.set_limits(initial_cooldown=0.1, max_cooldown=1, max_retry_delay=1)
        service.serve()
        service.prove()
        yield Rollup(l1, l2, node, service)


@pytest.fixture
def rollup(running: Rollup) -> Iterator[Rollup]:
    yield running
    running.node.offered = RAW_METHODS


@pytest.mark.parametrize("method", [RAW_TRANSACTION, DEBUG_RAW_TRANSACTION])
def test_items_beside_those_of_unknown_types_are_proven(rollup: Rollup, method: str) -> None:
    rollup.node.offered = {method}
    sent = transfer(rollup.l1)
    rollup.make_final(sent.block)
    absent = [
        {"transaction": 3},
        {"transaction": sent.transaction, "address": OTHER},
        {"address": OTHER},
    ]
    (query,) = rollup.service.wait(
        rollup.submit(
            sent.block,
            logs=[{"transaction": sent.transaction, "log": 0}],
            receipts=[sent.transaction],
            transactions=[sent.transaction],
            absent=absent,
        )
    )["queries"]
    names = [event["name"] for event in query["events"]]
    assert names[:3] == ["LOG:1:0", "RECEIPT:1", "TRANSACTION:1"]
    assert len(names) == 6
    block = sent.block
    assert rollup.read(IS_LOG, block, PLACE, 0, sent.token, sent.topics, sent.data)[31]
    stored = rollup.read("transactionHash(uint256,uint256)", block, PLACE)
    assert f"0x{stored.hex()}" == sent.transaction
    assert rollup.read("receiptOf(uint256,uint256)", block, PLACE)
    ends_before = "isIndexAbsent(uint256,uint8,uint256)"
    assert rollup.read(ends_before, block, TRANSACTIONS_ROOT, 3)[31]
    assert rollup.read("isBlockSilent(uint256,bool,bytes32)", block, EMITTER, word(OTHER))[31]


def test_without_raw_bytes_a_transaction_waits_and_a_log_is_proven(rollup: Rollup) -> None:
    rollup.node.offered = set()
    sent = transfer(rollup.l1)
    rollup.make_final(sent.block)
    transaction = rollup.submit(sent.block, transactions=[sent.transaction])
    log = rollup.submit(sent.block, logs=[{"transaction": sent.transaction, "log": 0}])
    receipt = rollup.submit(sent.block, receipts=[sent.transaction])
    rollup.service.wait(log, receipt)
    assert rollup.read(IS_LOG, sent.block, PLACE, 0, sent.token, sent.topics, sent.data)[31]
    assert rollup.read("receiptOf(uint256,uint256)", sent.block, PLACE)
    status = rollup.service.wait_for(transaction, "method_missing")
    assert f"do not offer {RAW_TRANSACTION} or {DEBUG_RAW_TRANSACTION}" in str(status)
    rollup.node.offered = RAW_METHODS
    rollup.service.wait(transaction)


@pytest.mark.parametrize(
    ("items", "kind"),
    [
        ({"transactions": [0]}, "0x6a"),
        ({"transactions": [2]}, "0x7f"),
        ({"receipts": [0]}, "0x6a"),
        ({"logs": [{"transaction": 2, "log": 0}]}, "0x7f"),
        ({"absent": [{"transaction": 0, "address": OTHER}]}, "0x6a"),
    ],
)
def test_an_item_of_an_unknown_type_is_refused_with_its_type(
    rollup: Rollup, items: Any, kind: str
) -> None:
    sent = transfer(rollup.l1)
    rollup.make_final(sent.block)
    rejection = rollup.service.rejection(rollup.submit(sent.block, **items))
    assert rejection["code"] == "event_not_provable"
    assert f"is of type {kind}; types up to 4 can be proven" in rejection["message"]
