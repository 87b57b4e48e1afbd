"""Blocks of an Arbitrum chain on its L1: which confirmed assertions count."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest

from tests.rigs.anvil import Chain, call_data
from tests.rigs.faulty_node import Node, Question, refusal
from tests.rigs.rollups import SEND_ROOT, Assertions
from tests.rigs.service import BALANCE, HOLDER, HOLDER_BALANCE, Service, accounts
from tests.scenarios.fixtures import Install, NewChain

pytestmark = pytest.mark.either_database

L2, L1 = 31337, 1337
MAX_LOG_REQUESTS = 20  # for the assertions after a block


@dataclass(frozen=True)
class Rollup:
    """An L2, its L1, and the contract there that is its rollup and outbox."""

    service: Service
    l2: Chain
    l1: Chain
    l2_node: Node
    l1_node: Node
    assertions: Assertions

    def confirm(self, block: int, send_root: bytes = SEND_ROOT) -> None:
        """Make and confirm an assertion about the block."""
        self.assertions.create(block, send_root)
        self.assertions.confirm(block, send_root)

    def submit(self, block: int) -> str:
        return self.service.submit({L2: {block: accounts(HOLDER)}}, to=L1)

    def assert_done(self, batch: str, block: int) -> None:
        self.service.wait(batch)
        assert self.service.field(HOLDER, block, BALANCE, route=(L2, L1)) == HOLDER_BALANCE


@pytest.fixture(scope="module")
def rollup(install: Install, module_chain: NewChain) -> Iterator[Rollup]:
    l2, l1 = module_chain(L2), module_chain(L1)
    with install() as service, closing(Node(l2)) as l2_node, closing(Node(l1)) as l1_node:
        assertions = Assertions(l2, l1)
        service.set_limits(max_log_blocks=2)
        service.add_chain(l1, l1_node)
        service.add_chain(l2, l2_node, finality=2)
        service.add_registry("arbitrum", l2, l1, outbox=assertions.address)
        with service.serve(), service.prove():
            yield Rollup(service, l2, l1, l2_node, l1_node, assertions)


def test_an_assertion_about_the_block_or_a_later_one_has_to_be_confirmed(rollup: Rollup) -> None:
    block = rollup.l2.mine(60) - 50
    batch = rollup.submit(block)
    rollup.service.wait_for(batch, "output_not_recorded")
    rollup.assertions.create(block + 30)
    rollup.confirm(block - 1)
    rollup.service.wait_for(batch, "output_not_recorded")
    rollup.assertions.confirm(block + 30)
    rollup.assert_done(batch, block)


def test_a_false_assertion_that_is_confirmed_is_not_used(rollup: Rollup) -> None:
    """No node of the L2 has its block. The next true one counts."""
    block = rollup.l2.mine(20) - 15
    batch = rollup.submit(block)
    rollup.service.wait_for(batch, "output_not_recorded")
    for name in ("create", "confirm"):
        call = call_data(f"{name}(bytes32,bytes32)", SEND_ROOT, b"\x66" * 32)
        rollup.l1.send(rollup.assertions.address, call)
    rollup.service.wait_for(batch, "output_not_recorded")
    rollup.confirm(block + 2)
    rollup.assert_done(batch, block)


def test_an_assertion_with_another_send_root_is_not_used(rollup: Rollup) -> None:
    """The registry asks for the send root in the header, and finds another hash there or none."""
    block = rollup.l2.mine(20) - 15
    rollup.confirm(block, b"\x77" * 32)
    batch = rollup.submit(block)
    rollup.service.wait_for(batch, "output_not_recorded")
    rollup.confirm(block + 1)
    rollup.assert_done(batch, block)


def test_headers_with_a_forged_send_root_are_refused(rollup: Rollup) -> None:
    """The header's hash covers its extra data."""
    rollup.l2_node.falsify("eth_getBlockByNumber", lambda _, block: block | {"extraData": "0x77"})
    block = rollup.l2.mine(20) - 15
    batch = rollup.submit(block)
    rollup.confirm(block)
    rollup.service.wait_for_sentence(batch, "do not hash to the block hash")
    rollup.l2_node.recover()
    rollup.assert_done(batch, block)


def test_a_block_from_before_the_assertions_is_proven_by_the_newest(rollup: Rollup) -> None:
    """Few requests for logs; the L1's node has dropped its old blocks (EIP-4444)."""
    block = rollup.l2.mine(20) - 15
    rollup.l1.mine(60, seconds=60)
    kept = rollup.l1.head - 5

    def fault(question: Question) -> dict[str, Any] | None:
        by_number = question["method"] == "eth_getBlockByNumber"
        name = question["params"][0] if by_number else ""
        is_old = name.startswith("0x") and int(name, 16) < kept
        answer = refusal("pruned history unavailable", 4444)
        return {"jsonrpc": "2.0", "id": question["id"], **answer} if is_old else None

    rollup.confirm(block + 3)
    rollup.l1_node.set_fault(fault)
    before = rollup.l1_node.calls["eth_getLogs"]
    rollup.assert_done(rollup.submit(block), block)
    assert rollup.l1_node.spoilt
    assert rollup.l1_node.calls["eth_getLogs"] - before <= MAX_LOG_REQUESTS
    rollup.l1_node.recover()


def test_a_late_assertion_is_named_and_raises_an_alert(rollup: Rollup) -> None:
    block = rollup.l2.mine(20) - 15
    batch = rollup.submit(block)
    rollup.service.wait_for(batch, "output_not_recorded")
    rollup.assertions.set_confirm_period(1)
    status = rollup.service.wait_for(batch, "no_valid_output")
    assert "should have been confirmed since" in status["waitsFor"]
    assert 'tacitus_waiting_jobs{code="no_valid_output"} 1' in rollup.service.get("/metrics").text
    rollup.confirm(block)
    rollup.service.wait(batch)
