"""The demo's nodes: they write nothing to the disk, and idle ones make few blocks."""

import shutil
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from explorer.demo.beacon_chain import run_beacon_chain
from explorer.demo.chains import produce_blocks, run_nodes
from explorer.demo.local_node import LocalNode, local_node
from queries.chain.beacon_node import BeaconNodes
from queries.chain.client import ChainClient
from queries.chain.json_rpc import JsonRpcError, NodeTransportError
from queries.chain.light_client import advance_light_client, begin_light_client
from queries.config.chains import Chain, NodeAddress
from queries.contracts.abi import call_data, load_artifact
from queries.proving.beacon import SLOTS_PER_PERIOD
from queries.sources.reader import L1_BLOCK
from tests.environment import skip_without
from tests.rigs.service import wait_until

pytestmark = pytest.mark.no_database

DAY = 86_400
STRANGER = "0x00000000000000000000000000000000DeaDBeef"


def _head(node: LocalNode) -> int:
    return int(node.block("latest")["number"], 16)


def test_a_node_leaves_no_file_even_if_it_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with local_node(max_states=600) as node:
        node.rpc.ask("anvil_mine", hex(700))
        proof = node.rpc.ask("eth_getProof", node.payer, [], hex(700 - 600))
        assert proof["accountProof"]
        with pytest.raises(JsonRpcError, match="BlockOutOfRange"):
            node.rpc.ask("eth_getProof", node.payer, [], hex(50))
        assert node.process
        node.process.kill()
    assert list(tmp_path.rglob("*")) == []


def test_a_node_ends_with_its_program_even_if_that_is_killed(repository: Path) -> None:
    if shutil.which("setpriv") is None:
        skip_without("setpriv (apt-get install util-linux)")
    program = """\
from explorer.demo.local_node import local_node
with local_node() as node:
    print(node.url, flush=True)
    input()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=repository,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    url = process.stdout.readline().strip()
    LocalNode(url)
    process.kill()
    process.communicate()
    wait_until(lambda: not _answers(url))


def _answers(url: str) -> bool:
    try:
        LocalNode(url)
    except NodeTransportError:
        return False
    return True


def test_the_demo_chains_confirm_transactions_and_make_few_blocks_when_idle() -> None:
    with run_nodes() as nodes, run_beacon_chain(nodes.c) as beacon, produce_blocks(nodes, beacon):
        a, b, c = nodes
        code = load_artifact("L1BlockStandIn").deployed_bytecode
        b.rpc.ask("anvil_setCode", L1_BLOCK, f"0x{code.hex()}")
        for node in (a, b):
            transaction = node.send(STRANGER, b"").transaction
            receipt = node.rpc.ask("eth_getTransactionReceipt", transaction)
            _await_head(node, int(receipt["blockNumber"], 16) + 1)
        wait_until(
            lambda: b.call(L1_BLOCK, call_data("hash()")).hex() == a.block("latest")["hash"][2:]
        )
        c.send(STRANGER, b"")
        wait_until(lambda: beacon.last_hash.hex() == c.block("latest")["hash"][2:])
        heads = tuple(map(_head, nodes))
        time.sleep(8)
        # One block may still be due after the transaction, and one because 45 seconds are over.
        for node, head in zip(nodes, heads, strict=True):
            assert _head(node) - head <= 2


def test_a_light_client_follows_a_demo_that_has_slept_for_hours() -> None:
    """Each missed period has an update, although no block was made in it."""
    with (
        local_node("--chain-id", "31339", "--timestamp", str(int(time.time()) - DAY)) as node,
        run_beacon_chain(node) as beacon,
    ):
        node.send(STRANGER, b"")
        assert beacon.finalize_newest(node)
        assert not beacon.finalize_newest(node)
        node.rpc.ask("evm_increaseTime", 5 * SLOTS_PER_PERIOD // 2)
        node.send(STRANGER, b"")
        assert beacon.finalize_newest(node)
        chain = Chain(
            31339,
            "Demo C",
            (NodeAddress(node.url),),
            beacon=(NodeAddress(beacon.url),),
            beacon_checkpoint=beacon.checkpoint,
            custom_beacon_chain=beacon.chain,
        )
        with closing(BeaconNodes(chain)) as nodes, closing(ChainClient(chain)) as client:
            first_state = begin_light_client(nodes)
            state = advance_light_client(first_state, nodes, client)
        assert state.block_number == 2
        assert state.period == first_state.period + 2


def _await_head(node: LocalNode, number: int) -> None:
    wait_until(lambda: _head(node) >= number)
