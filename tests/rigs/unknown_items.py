"""A node whose blocks hold transactions and receipts of types that the product does not know.

It stands before Anvil, which cannot make them, and adds them to each block but the first: one of
type 0x6a at the start, as on Arbitrum, and one of type 0x7f with a log at the end, as on Polygon.
Roots, blooms and hashes follow, so each block is a valid child of the one before it.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import rlp
from eth_utils.crypto import keccak
from trie.hexary import HexaryTrie

from queries.proving.block_items import Log, Receipt, receipt_from_json
from queries.proving.headers import HeaderField, header_from_json
from tests.queries.contracts.recorded_events import bloom_of, encode_receipt
from tests.rigs.anvil import BODIES, NO_BODIES, Chain
from tests.rigs.faulty_node import Question, Relay, refusal

START_TYPE, STATE_SYNC_TYPE = 0x6A, 0x7F
RAW_TRANSACTION = "eth_getRawTransactionByHash"
DEBUG_RAW_TRANSACTION = "debug_getRawTransaction"
RAW_METHODS = {RAW_TRANSACTION, DEBUG_RAW_TRANSACTION}
RECEIVER = bytes.fromhex("0000000000000000000000000000000000001001")
PARENT_HASH = 0  # its place in a header


@dataclass(frozen=True)
class StrangeBlock:
    """A block with transactions and receipts as JSON, and the transactions' bytes by hash."""

    contents: dict[str, Any]
    receipts: list[dict[str, Any]]
    encodings: dict[str, bytes]

    def answer(self, *, bodies: bool) -> dict[str, Any]:
        hashes = [transaction["hash"] for transaction in self.contents["transactions"]]
        return self.contents if bodies else self.contents | {"transactions": hashes}


class NodeWithUnknownItems(Relay):
    """A node of `chain` with such blocks; `offered` are the methods that it has for raw bytes.

    The chain must not reorganise.
    """

    def __init__(self, chain: Chain) -> None:
        super().__init__(chain.url)
        self.offered = RAW_METHODS
        self._chain = chain
        self._blocks: list[StrangeBlock] = []
        self._lock = threading.RLock()
        self.set_fault(self._answer)

    def block(self, number: int) -> StrangeBlock:
        with self._lock:
            while len(self._blocks) <= number:
                self._blocks.append(self._make_block(len(self._blocks)))
        return self._blocks[number]

    def _make_block(self, number: int) -> StrangeBlock:
        contents = self._chain.rpc("eth_getBlockByNumber", hex(number), BODIES)
        if not number:
            return StrangeBlock(contents, [], {})
        receipts = self._chain.rpc("eth_getBlockReceipts", hex(number))
        first, last = start_transaction(number), state_sync(number)
        encodings = {hex_of(keccak(first)): first}
        for transaction in contents["transactions"]:
            raw = self._chain.rpc(RAW_TRANSACTION, transaction["hash"])
            encodings[transaction["hash"]] = bytes.fromhex(raw[2:])
        # As on Polygon, this hash is not that of the bytes.
        last_hash = keccak(bytes((STATE_SYNC_TYPE,)) + rlp.encode([rlp.decode(last[1:])]))
        encodings[hex_of(last_hash)] = last

        log = Log(RECEIVER, (keccak(text="StateCommitted"),), number.to_bytes(32))
        gas = int(receipts[-1]["cumulativeGasUsed"], 16) if receipts else 0
        all_receipts = [
            Receipt(START_TYPE, 1, 0, ()),
            *map(receipt_from_json, receipts),
            Receipt(STATE_SYNC_TYPE, 1, gas, (log,)),
        ]
        items = rlp.decode(header_from_json(contents).rlp)
        items[PARENT_HASH] = bytes.fromhex(self.block(number - 1).contents["hash"][2:])
        items[HeaderField.TRANSACTIONS_ROOT] = root_of(list(encodings.values()))
        items[HeaderField.RECEIPTS_ROOT] = root_of(list(map(encode_receipt, all_receipts)))
        items[HeaderField.LOGS_BLOOM] = bloom_of(all_receipts)
        transactions = [
            {"type": hex(START_TYPE), "hash": hex_of(keccak(first)), "input": hex_of(first)},
            *contents["transactions"],
            {"type": hex(STATE_SYNC_TYPE), "hash": hex_of(last_hash), "input": "0x"},
        ]
        changed = {
            "hash": hex_of(keccak(rlp.encode(items))),
            "parentHash": hex_of(items[PARENT_HASH]),
            "transactionsRoot": hex_of(items[HeaderField.TRANSACTIONS_ROOT]),
            "receiptsRoot": hex_of(items[HeaderField.RECEIPTS_ROOT]),
            "logsBloom": hex_of(items[HeaderField.LOGS_BLOOM]),
            "transactions": transactions,
        }
        answers = [receipt_as_json(all_receipts[0]), *receipts, receipt_as_json(all_receipts[-1])]
        return StrangeBlock(contents | changed, answers, encodings)

    def _answer(self, question: Question) -> dict[str, Any] | None:
        method, params = question["method"], question["params"]
        result: Any
        if method in RAW_METHODS:
            if method not in self.offered:
                missing = f"the method {method} does not exist/is not available"
                return {"jsonrpc": "2.0", "id": question["id"], **refusal(missing, -32601)}
            encodings = (block.encodings.get(params[0]) for block in self._blocks)
            result = next((hex_of(encoding) for encoding in encodings if encoding), None)
        elif method in {"eth_getBlockByNumber", "eth_getBlockByHash"}:
            block = self._find(params[0])
            result = block and block.answer(bodies=params[1])
        elif method == "eth_getBlockReceipts":
            block = self._find(params[0])
            result = block and block.receipts
        else:
            return None
        return {"jsonrpc": "2.0", "id": question["id"], "result": result}

    def _find(self, block: str) -> StrangeBlock | None:
        """The block of this hash, number or tag."""
        if len(block) == 66:
            return next((known for known in self._blocks if known.contents["hash"] == block), None)
        with self._lock:
            real = self._chain.rpc("eth_getBlockByNumber", block, NO_BODIES)
        return self.block(int(real["number"], 16)) if real else None


def start_transaction(number: int) -> bytes:
    encoded: bytes = rlp.encode([42_161, number.to_bytes(132)])
    return bytes((START_TYPE,)) + encoded


def state_sync(number: int) -> bytes:
    encoded: bytes = rlp.encode([[number, RECEIVER, b"data", bytes(31) + b"\x01"]])
    return bytes((STATE_SYNC_TYPE,)) + encoded


def receipt_as_json(receipt: Receipt) -> dict[str, Any]:
    return {
        "type": hex(receipt.transaction_type),
        "status": "0x1",
        "cumulativeGasUsed": hex(receipt.cumulative_gas),
        "logs": [
            {
                "address": hex_of(log.emitter),
                "topics": list(map(hex_of, log.topics)),
                "data": hex_of(log.data),
            }
            for log in receipt.logs
        ],
    }


def root_of(values: Sequence[bytes]) -> bytes:
    trie = HexaryTrie({})
    for index, value in enumerate(values):
        trie[rlp.encode(index)] = value
    return trie.root_hash


def hex_of(content: bytes) -> str:
    return f"0x{content.hex()}"
