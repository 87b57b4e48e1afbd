"""Whether contracts see their chain's hashes does not depend on how a hash begins."""

import pytest

from queries.chain.deploy import HISTORY_WINDOW, own_hashes
from queries.chain.local_node import LocalNode, local_node
from queries.chain.sender import Destination
from queries.routes import Chain, NodeAddress
from tests.local_chain import CHAIN_ID

pytestmark = pytest.mark.no_database
MOST = 20_000  # blocks, of which one in 256 has a hash that begins so


def _mine_until_a_hash_begins_with(node: LocalNode, digits: str) -> None:
    for _ in range(MOST):
        node.rpc.ask("evm_mine")
        newest = node.rpc.ask("eth_getBlockByNumber", "latest", False)  # noqa: FBT003
        if newest["hash"].startswith(digits):
            return
    pytest.fail("no hash begins so")


def test_a_hash_may_begin_as_no_contracts_code_may() -> None:
    with local_node("--slots-in-an-epoch", "1") as node:
        destination = Destination(Chain(CHAIN_ID, "Local", (NodeAddress(node.url),)))
        _mine_until_a_hash_begins_with(node, "0xef")
        node.rpc.ask("evm_mine")
        assert own_hashes(destination) == HISTORY_WINDOW
        destination.close()
