"""A local chain of real transactions, read as a source chain."""

from dataclasses import dataclass

from explorer.demo.local_node import LocalNode
from queries.proving.accounts import AccountState
from queries.proving.headers import Header, header_from_json
from queries.proving.keccak import keccak256


@dataclass(frozen=True)
class LiveChain:
    node: LocalNode

    def newest(self) -> int:
        return int(self.node.rpc.ask("eth_blockNumber"), 16)

    def mine(self, blocks: int, seconds: int = 1) -> None:
        self.node.rpc.ask("anvil_mine", hex(blocks), hex(seconds))

    def reorganise(self, depth: int) -> None:
        """Replace the last `depth` blocks by empty ones."""
        self.node.rpc.ask("anvil_reorg", depth, [])

    def header(self, block: int) -> Header:
        return header_from_json(self.node.rpc.ask("eth_getBlockByNumber", hex(block), False))

    def state(self, block: int, account: bytes) -> AccountState:
        """The account's state; only its storage root is from eth_getProof."""
        where = (_hex(account), hex(block))
        code = bytes.fromhex(self.node.rpc.ask("eth_getCode", *where)[2:])
        answer = self.node.rpc.ask("eth_getProof", _hex(account), [], hex(block))
        return AccountState(
            int(self.node.rpc.ask("eth_getTransactionCount", *where), 16),
            int(self.node.rpc.ask("eth_getBalance", *where), 16),
            bytes.fromhex(answer["storageHash"][2:]),
            keccak256(code),
        )

    def slot_value(self, block: int, account: bytes, slot: int) -> int:
        key = _hex(slot.to_bytes(32, "big"))
        return int(self.node.rpc.ask("eth_getStorageAt", _hex(account), key, hex(block)), 16)


def _hex(content: bytes) -> str:
    return f"0x{content.hex()}"
