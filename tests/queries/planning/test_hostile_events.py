"""Requests, files and nodes that would make the service fail where it should refuse."""

import json

import pytest

from queries.chain.block_contents import fetch_receipts
from queries.chain.client import ChainClient
from queries.chain.errors import ChainError
from queries.proving.block_items import Receipt
from queries.proving.bundle_checks import check_bundle
from queries.proving.errors import BundleRefusedError
from queries.proving.headers import HeaderField
from queries.proving.index_tries import IndexTrie
from queries.proving.witnesses import NodeKind
from tests.queries.chain.recorded_node import recorded_node
from tests.queries.contracts.recorded_events import block_with, recorded_block
from tests.queries.proving.bundle_parts import file_of, with_digest
from tests.queries.proving.test_event_bundles import event_proof
from tests.rigs.faulty_node import chain_with_nodes

pytestmark = pytest.mark.no_database
EMITTERS = [b"\x01" + index.to_bytes(19) for index in range(256)]


def test_a_path_beyond_an_indexs_nibbles_is_refused() -> None:
    """Two extensions, of which the second has no nibble of the only index left."""
    beyond = bytes((NodeKind.PASS, 0, 0, 3, NodeKind.PASS, 0, 0, 1, NodeKind.BRANCH, 0, 0))
    counts = bytes(8) + (1).to_bytes(2) + bytes(4)
    witness = counts + bytes((HeaderField.TRANSACTIONS_ROOT, 0, 1, 0, 5)) + beyond
    members = json.loads(file_of(event_proof(recorded_block(22432102))))
    members["blocks"][0]["events"][0] = f"0x{witness.hex()}"
    with pytest.raises(BundleRefusedError):
        check_bundle(with_digest(members))


def test_a_state_root_answered_as_a_status_is_refused() -> None:
    """Both have one encoding, so the root of the receipts cannot tell them apart."""
    receipt = Receipt(0, b"\x05" * 32, 21_000, ())
    header = block_with(HeaderField.RECEIPTS_ROOT, IndexTrie([receipt.encoding]).root).header
    answer = {"status": f"0x{'05' * 32}", "cumulativeGasUsed": hex(21_000), "logs": []}
    answers = {"eth_getBlockReceipts": lambda _: [answer]}
    with recorded_node(answers) as url, pytest.raises(ChainError):
        fetch_receipts(ChainClient(chain_with_nodes(url)), header)
