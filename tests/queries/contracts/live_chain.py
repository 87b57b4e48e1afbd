"""A local chain of real transactions, read as a source chain."""

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.demo.local_node import LocalNode
from queries.proving.accounts import AccountProof, AccountState, check_account_proof
from queries.proving.headers import Header, header_from_json
from queries.proving.keccak import keccak256
from queries.proving.witnesses import AccountField, AccountToStore, build_witness

ALL_FIELDS = frozenset(AccountField)


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

    def set_balance(self, account: bytes, balance: int) -> None:
        self.node.rpc.ask("anvil_setBalance", _hex(account), hex(balance))

    def header(self, block: int) -> Header:
        return header_from_json(self.node.rpc.ask("eth_getBlockByNumber", hex(block), False))

    def proof(self, block: int, account: bytes, slots: Sequence[int] = ()) -> AccountProof:
        keys = [_hex(slot.to_bytes(32, "big")) for slot in slots]
        answer = self.node.rpc.ask("eth_getProof", _hex(account), keys, hex(block))
        return check_account_proof(answer, self.header(block).state_root, account, slots)

    def witness(self, block: int, accounts: dict[bytes, Sequence[int]]) -> bytes:
        """A witness of all fields of some accounts, and of their slots."""
        proofs = [self.proof(block, account, slots) for account, slots in accounts.items()]
        return build_witness([AccountToStore(proof, ALL_FIELDS) for proof in proofs])

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
