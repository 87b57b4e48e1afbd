"""Blocks of an Arbitrum chain on its L1: a confirmed assertion covers a block, and hops lead to
earlier ones.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.rigs.anvil import Chain, call_data
from tests.rigs.faulty_node import Node, Question, refusal
from tests.rigs.service import BALANCE, HOLDER, HOLDER_BALANCE, HORIZON, Service, accounts, request
from tests.scenarios.fixtures import Install, NewChain

pytestmark = pytest.mark.either_database

L2, L1 = 31337, 1337
MAX_LOG_REQUESTS = 20  # for the assertions after a block
SEND_ROOT = bytes(32)  # the extra data of a local node's headers, as of a chain without messages


@dataclass(frozen=True)
class Rollup:
    """An L2, its L1, and the contract there that is its rollup and outbox."""

    service: Service
    l2: Chain
    l1: Chain
    l2_node: Node
    l1_node: Node
    outbox: str

    def create(self, block: int, send_root: bytes = SEND_ROOT) -> None:
        """Make an assertion about the block."""
        self._send("create", block, send_root)

    def confirm(self, block: int, send_root: bytes = SEND_ROOT) -> None:
        self._send("confirm", block, send_root)

    def _send(self, name: str, block: int, send_root: bytes) -> None:
        block_hash = bytes.fromhex(self.l2.header(block)["hash"][2:])
        self.l1.send(self.outbox, call_data(f"{name}(bytes32,bytes32)", send_root, block_hash))

    def submit(self, block: int) -> str:
        return self.service.submit({L2: {block: accounts(HOLDER)}}, to=L1)

    def proven_balance(self, block: int) -> int:
        return self.service.field(HOLDER, block, BALANCE, route=(L2, L1))


@pytest.fixture(scope="module")
def rollup(install: Install, module_chain: NewChain) -> Iterator[Rollup]:
    l2, l1 = module_chain(L2), module_chain(L1)
    with install() as service, closing(Node(l2)) as l2_node, closing(Node(l1)) as l1_node:
        outbox = l1.deploy("RollupStandIn", ["uint256"], [L2])
        l1.send(outbox, call_data("setConfirmPeriod(uint64)", 1_000_000))
        l1.mine(20)  # their pace tells how long that is
        service.set_limits(max_log_blocks=2)
        service.add_chain(l1, l1_node)
        service.add_chain(l2, l2_node, finality=2)
        service.add_registry("arbitrum", l2, l1, outbox=outbox)
        with service.serve(), service.prove():
            yield Rollup(service, l2, l1, l2_node, l1_node, outbox)


def test_a_block_is_proven_once_an_assertion_is_confirmed(rollup: Rollup, tmp_path: Path) -> None:
    """The status says what it waits for. Nothing is recorded first: the transaction proves the
    block, by a hop. The proof file proves the same to another registry of this rollup.
    """
    block = rollup.l2.mine(60) - 50
    batch = rollup.submit(block)
    status = rollup.service.wait_for(batch, "output_not_recorded")
    expected = "An assertion that covers the block is expected to be confirmed from"
    assert expected in status["waitsFor"]
    rollup.create(block - 1)
    rollup.create(block + 30)
    rollup.confirm(block - 1)
    rollup.service.wait_for(batch, "output_not_recorded")
    body = request({L2: {block - 2: accounts(HOLDER)}}, to=L1)
    assert rollup.service.post("/estimate", body).json()["transactions"] == 1
    rollup.confirm(block + 30)
    rollup.service.wait(batch)
    assert rollup.proven_balance(block) == HOLDER_BALANCE
    file = tmp_path / "proof.json"
    file.write_bytes(rollup.service.get(f"/batch-queries/{batch}/proof").content)
    trusted = rollup.l2.header(block)["hash"]
    verified = rollup.service.manage("verify_proof", str(file), "--hash", trusted)
    assert f"{HOLDER_BALANCE} wei" in verified.stdout
    other = rollup.l1.deploy(
        "ArbitrumRegistry", ["uint256", "uint256", "address"], [HORIZON, L2, rollup.outbox]
    )
    nodes = ("--node", rollup.l1.url, "--source-node", rollup.l2.url, "--registry", other)
    rollup.service.manage("publish_proof", str(file), *nodes, "--unverifiable")
    word = rollup.l1.call(other, "accountField(address,uint256,uint8)", HOLDER, block, BALANCE)
    assert int.from_bytes(word) == HOLDER_BALANCE


def test_a_false_assertion_that_is_confirmed_is_not_used(rollup: Rollup) -> None:
    """No node of the L2 has its block. The next true one counts."""
    block = rollup.l2.mine(20) - 15
    batch = rollup.submit(block)
    rollup.service.wait_for(batch, "output_not_recorded")
    for name in ("create", "confirm"):
        call = call_data(f"{name}(bytes32,bytes32)", SEND_ROOT, b"\x66" * 32)
        rollup.l1.send(rollup.outbox, call)
    rollup.service.wait_for(batch, "output_not_recorded")
    rollup.create(block + 2)
    rollup.confirm(block + 2)
    rollup.service.wait(batch)
    assert rollup.proven_balance(block) == HOLDER_BALANCE


def test_an_assertion_with_another_send_root_is_not_used(rollup: Rollup) -> None:
    """The registry asks for the send root in the header, and finds another hash there or none."""
    block = rollup.l2.mine(20) - 15
    rollup.create(block, b"\x77" * 32)
    rollup.confirm(block, b"\x77" * 32)
    batch = rollup.submit(block)
    rollup.service.wait_for(batch, "output_not_recorded")
    rollup.create(block + 1)
    rollup.confirm(block + 1)
    rollup.service.wait(batch)
    assert rollup.proven_balance(block) == HOLDER_BALANCE


def test_headers_with_a_forged_send_root_are_refused(rollup: Rollup) -> None:
    """The header's hash covers its extra data."""
    rollup.l2_node.falsify("eth_getBlockByNumber", lambda _, block: block | {"extraData": "0x77"})
    block = rollup.l2.mine(20) - 15
    batch = rollup.submit(block)
    rollup.create(block)
    rollup.confirm(block)
    rollup.service.wait_for_sentence(batch, "do not hash to the block hash")
    rollup.l2_node.recover()
    rollup.service.wait(batch)
    assert rollup.proven_balance(block) == HOLDER_BALANCE


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

    rollup.create(block + 3)
    rollup.confirm(block + 3)
    rollup.l1_node.set_fault(fault)
    before = rollup.l1_node.calls["eth_getLogs"]
    rollup.service.wait(rollup.submit(block))
    assert rollup.proven_balance(block) == HOLDER_BALANCE
    assert rollup.l1_node.spoilt
    assert rollup.l1_node.calls["eth_getLogs"] - before <= MAX_LOG_REQUESTS
    rollup.l1_node.recover()


def test_a_late_assertion_is_named_and_raises_an_alert(rollup: Rollup) -> None:
    block = rollup.l2.mine(20) - 15
    batch = rollup.submit(block)
    rollup.service.wait_for(batch, "output_not_recorded")
    rollup.l1.send(rollup.outbox, call_data("setConfirmPeriod(uint64)", 1))
    status = rollup.service.wait_for(batch, "no_valid_output")
    assert "should have been confirmed since" in status["waitsFor"]
    assert 'tacitus_waiting_jobs{code="no_valid_output"} 1' in rollup.service.get("/metrics").text
    rollup.create(block)
    rollup.confirm(block)
    rollup.service.wait(batch)


def test_the_registrys_page_names_the_outbox_it_trusts(rollup: Rollup) -> None:
    route = rollup.service.registries[L2, L1]
    page = requests.get(f"{rollup.service.url}/explorer/registry/{L1}/{route}", timeout=30).text
    assert rollup.outbox in page
    assert "its confirmed assertions, its security council" in page
