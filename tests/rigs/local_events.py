"""Blocks of a local node with logs, and the events verifier beside a registry."""

from explorer.demo.local_node import LocalNode
from queries.contracts.create2 import FACTORY, SALT, verifier_init_code
from queries.proving.block_items import Receipt, receipt_from_json
from queries.proving.headers import Header, HeaderField, header_from_json
from queries.proving.index_tries import IndexTrie
from tests.queries.events.groups import ReceiptGroup, ReceiptRequest, build_group_witness

# Emits a log with the topic 0xaa and no data, and deploys a byte.
EMITTER_CODE = bytes.fromhex("60aa5f5fa160015ff3")


def deploy_verifier(node: LocalNode, registry: str) -> None:
    """Deploy the verifier at its own address."""
    node.send(FACTORY, SALT + verifier_init_code(registry))


def emit_log(node: LocalNode) -> int:
    """Emit a log as the only transaction of a block; return the block's number."""
    node.deploy(EMITTER_CODE)
    return int(node.rpc.ask("eth_blockNumber"), 16)


def header_and_receipts(node: LocalNode, block: int) -> tuple[Header, list[Receipt]]:
    (answer,) = node.rpc.ask_many("eth_getBlockByNumber", [(hex(block), False)])
    header = header_from_json(answer)
    receipts = [
        receipt_from_json(item) for item in node.rpc.ask("eth_getBlockReceipts", hex(block))
    ]
    root = header.payload(HeaderField.RECEIPTS_ROOT)
    assert IndexTrie([receipt.encoding for receipt in receipts]).root == root
    return header, receipts


def log_witness(receipts: list[Receipt], block: int | None = None) -> bytes:
    """Witness of the first receipt and its first log, and that there is no second transaction."""
    requests = {0: ReceiptRequest(True, frozenset({0})), 1: ReceiptRequest()}
    group = ReceiptGroup(receipts, requests)
    return build_group_witness([group], None if block is None else [block])
