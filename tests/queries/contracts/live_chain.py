"""A chain of real transactions, asked about its past as a source node is."""

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.demo.local_node import LocalNode
from queries.proving.accounts import AccountProof, AccountState, check_account_proof
from queries.proving.headers import Header, header_from_json
from queries.proving.keccak import keccak256
from queries.proving.witnesses import AccountField, AccountRequest, build_witness

ALL_FIELDS = frozenset(AccountField)


@dataclass(frozen=True)
class LiveChain:
    """What the node says of past blocks, proven or plainly asked."""

    node: LocalNode

    def newest(self) -> int:
        return int(self.node.rpc.ask("eth_blockNumber"), 16)

    def mine(self, blocks: int, seconds: int = 1) -> None:
        self.node.rpc.ask("anvil_mine", hex(blocks), hex(seconds))

    def set_balance(self, account: bytes, balance: int) -> None:
        self.node.rpc.ask("anvil_setBalance", _hex(account), hex(balance))

    def header(self, block: int) -> Header:
        return header_from_json(self.node.rpc.ask("eth_getBlockByNumber", hex(block), False))  # noqa: FBT003

    def proof(self, block: int, account: bytes, slots: Sequence[int] = ()) -> AccountProof:
        keys = [_hex(slot.to_bytes(32, "big")) for slot in slots]
        answer = self.node.rpc.ask("eth_getProof", _hex(account), keys, hex(block))
        return check_account_proof(answer, self.header(block).state_root, account, slots)

    def witness(self, block: int, accounts: dict[bytes, Sequence[int]]) -> bytes:
        """Of all fields of some accounts, and of the slots given for each."""
        proofs = [self.proof(block, account, slots) for account, slots in accounts.items()]
        return build_witness([AccountRequest(proof, ALL_FIELDS) for proof in proofs])

    def state(self, block: int, account: bytes) -> AccountState:
        """As the node states it beside any proof; the storage root has no question of its own."""
        asked = (_hex(account), hex(block))
        code = bytes.fromhex(self.node.rpc.ask("eth_getCode", *asked)[2:])
        stated = self.node.rpc.ask("eth_getProof", _hex(account), [], hex(block))
        return AccountState(
            int(self.node.rpc.ask("eth_getTransactionCount", *asked), 16),
            int(self.node.rpc.ask("eth_getBalance", *asked), 16),
            bytes.fromhex(stated["storageHash"][2:]),
            keccak256(code),
        )

    def slot_value(self, block: int, account: bytes, slot: int) -> int:
        key = _hex(slot.to_bytes(32, "big"))
        return int(self.node.rpc.ask("eth_getStorageAt", _hex(account), key, hex(block)), 16)


def _hex(some: bytes) -> str:
    return f"0x{some.hex()}"
