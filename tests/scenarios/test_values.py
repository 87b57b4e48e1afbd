"""Values are exactly those of the source chain."""

import pytest
from eth_account import Account as Key
from eth_utils.crypto import keccak

from tests.rigs.anvil import RpcError
from tests.rigs.service import BALANCE, Service, accounts

EDGES = (0, 2**184 - 1, 2**184, 2**256 - 2, 2**256 - 1)
# In the registry's order: names in requests, and in JSON-RPC.
HEADER_FIELDS = (
    ("PARENT_HASH", "parentHash"), ("UNCLES_HASH", "sha3Uncles"), ("COINBASE", "miner"),
    ("STATE_ROOT", "stateRoot"), ("TRANSACTIONS_ROOT", "transactionsRoot"),
    ("RECEIPTS_ROOT", "receiptsRoot"), ("LOGS_BLOOM", "logsBloom"), ("DIFFICULTY", "difficulty"),
    ("BLOCK_NUMBER", "number"), ("GAS_LIMIT", "gasLimit"), ("GAS_USED", "gasUsed"),
    ("TIMESTAMP", "timestamp"), ("EXTRA_DATA", "extraData"), ("MIX_HASH", "mixHash"),
    ("NONCE", "nonce"), ("BASE_FEE_PER_GAS", "baseFeePerGas"),
    ("WITHDRAWALS_ROOT", "withdrawalsRoot"), ("BLOB_GAS_USED", "blobGasUsed"),
    ("EXCESS_BLOB_GAS", "excessBlobGas"), ("PARENT_BEACON_BLOCK_ROOT", "parentBeaconBlockRoot"),
    ("REQUESTS_HASH", "requestsHash"),
)  # fmt: skip


def test_balances_and_slots_are_exact_up_to_the_largest_word(shared_service: Service) -> None:
    contract, *holders = (Key.create().address for _ in range(1 + len(EDGES)))
    for slot, (holder, value) in enumerate(zip(holders, EDGES, strict=True)):
        shared_service.chain.set_balance(holder, value)
        shared_service.chain.set_slot(contract, slot, value)
    block = shared_service.chain.mine(2) - 1
    entry = accounts(*holders)
    entry["accounts"][contract] = {"slots": [hex(slot) for slot in range(len(EDGES))]}
    shared_service.wait(shared_service.submit({31337: {block: entry}}))
    assert tuple(shared_service.field(holder, block, BALANCE) for holder in holders) == EDGES
    assert tuple(shared_service.slot(contract, block, slot) for slot in range(len(EDGES))) == EDGES


def test_every_header_field_equals_the_nodes(shared_service: Service) -> None:
    deployed = shared_service.chain.send(None, f"0x600160006000a1{'00' * 4}")  # logs something
    block = int(deployed["blockNumber"], 16)
    shared_service.chain.mine()
    field, reading = "headerField(uint256,uint8)", "tryHeaderField(uint256,uint8)"
    assert shared_service.read(reading, block, 0) == bytes(64)
    with pytest.raises(RpcError):
        shared_service.read(field, block, 0)
    names = [name for name, _ in HEADER_FIELDS]
    shared_service.wait(shared_service.submit({31337: {block: {"header": [*names, "PROPOSER"]}}}))
    header = shared_service.chain.header(block)
    assert int(header["logsBloom"], 16)
    for number, (name, key) in enumerate(HEADER_FIELDS):
        digits = header[key][2:]
        content = bytes.fromhex(digits.zfill(len(digits) + len(digits) % 2))
        word = keccak(content) if len(content) > 32 else content.rjust(32, b"\0")
        assert shared_service.read(field, block, number) == word, name
        assert shared_service.read(reading, block, number) == (1).to_bytes(32) + word, name
