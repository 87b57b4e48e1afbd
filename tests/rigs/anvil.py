"""A local chain as a scenario sees it: JSON-RPC to its own Anvil node, and contract calls."""

import json
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import requests
from eth_abi.abi import encode
from eth_utils.abi import function_signature_to_4byte_selector
from eth_utils.address import to_checksum_address

from explorer.demo.local_node import MAX_STATES, local_node
from queries.contracts.create2 import FACTORY, SALT, create2_address, verifier_init_code

BUILDS = Path(__file__).parents[2] / "queries" / "contracts" / "build"
ETHER = 10**18
OPTIONS = ("--slots-in-an-epoch", "1")  # a block is final two blocks later
DAY = 86_400
L1_BLOCK = "0x4200000000000000000000000000000000000015"  # an L2's contract that knows L1 blocks
HISTORY = "0x0000F90827F1C53a10cb7A02335B175320002935"  # the contract of EIP-2935
RING = 8191  # block hashes in it
BODIES, NO_BODIES = True, False  # of eth_getBlockByNumber: with or without transactions


class RpcError(Exception):
    """The node answered with a JSON-RPC error."""


class Chain:
    """A chain with one Anvil node. It mines a block per transaction unless `block_time` is set.

    Its genesis is `age` seconds old, a day by default, so that its head stays in the past however
    many blocks are mined. The node proves the states of 1,000 blocks; with `proofs=False` only of
    the newest ones, but it mines thousands of blocks in a second.
    """

    def __init__(
        self,
        chain_id: int = 31337,
        *options: str,
        block_time: float = 0,
        proofs: bool = True,
        age: int = DAY,
        hardfork: str = "osaka",
    ) -> None:
        self.id = chain_id
        # Two chains that start in the same second would have the same blocks.
        genesis = str(int(time.time()) - age - chain_id)
        options += ("--chain-id", str(chain_id), "--timestamp", genesis)
        options += OPTIONS
        if block_time:
            options += ("--block-time", str(block_time))
        self._session = requests.Session()
        self._running = ExitStack()
        states = MAX_STATES if proofs else 1
        running = local_node(*options, hardfork=hardfork, max_states=states)
        node = self._running.enter_context(running)
        self.url, self.payer = node.url, node.payer

    def close(self) -> None:
        self._running.close()

    def rpc(self, method: str, *params: object) -> Any:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        response = self._session.post(self.url, json=request, timeout=60).json()
        if "error" in response:
            raise RpcError(response["error"])
        return response["result"]

    @property
    def head(self) -> int:
        return int(self.rpc("eth_blockNumber"), 16)

    def mine(self, blocks: int = 1, seconds: int = 2) -> int:
        """Mine blocks that are `seconds` apart; return the new head."""
        self.rpc("anvil_mine", hex(blocks), hex(seconds))
        return self.head

    def reach_time(self, seconds: int) -> None:
        """Mine a block of this time, unless the newest one is later."""
        if int(self.header("latest")["timestamp"], 16) < seconds:
            self.rpc("evm_setNextBlockTimestamp", seconds)
            self.rpc("evm_mine")

    def reorganise(self, depth: int) -> None:
        """Replace the last `depth` blocks by empty ones, which have other hashes."""
        replaced = self.header("latest")["hash"]
        self.rpc("anvil_reorg", depth, [])
        assert self.header("latest")["hash"] != replaced

    def header(self, block: int | str) -> dict[str, Any]:
        name = hex(block) if isinstance(block, int) else block
        header: dict[str, Any] = self.rpc("eth_getBlockByNumber", name, NO_BODIES)
        return header

    def balance(self, account: str, block: int | str = "latest") -> int:
        name = hex(block) if isinstance(block, int) else block
        return int(self.rpc("eth_getBalance", account, name), 16)

    def proof(self, account: str, *slots: int) -> dict[str, Any]:
        """A proof of the account and slots at the newest block, with its hash as `block`."""
        keys = [f"0x{slot:064x}" for slot in slots]
        proof: dict[str, Any] = self.rpc("eth_getProof", account, keys, "latest")
        return {**proof, "block": self.header("latest")["hash"]}

    def set_balance(self, account: str, wei: int) -> None:
        self.rpc("anvil_setBalance", account, hex(wei))

    def set_slot(self, account: str, slot: int, value: int) -> None:
        self.rpc("anvil_setStorageAt", account, f"0x{slot:064x}", f"0x{value:064x}")

    def record_hashes(self, *blocks: int) -> dict[str, Any]:
        """Mine a block whose state has the hashes of these blocks; return the proof of them."""
        slots = [block % RING for block in blocks]
        for block, slot in zip(blocks, slots, strict=True):
            self.set_slot(HISTORY, slot, int(self.header(block)["hash"], 16))
        self.mine()
        return self.proof(HISTORY, *slots)

    def recent_hashes(self) -> dict[str, Any]:
        """The proof that provers ask for beside accounts: of the last two hashes in the history."""
        return self.proof(HISTORY, *((self.head - before) % RING for before in (2, 1)))

    def automine(self, *, on: bool) -> None:
        self.rpc("evm_setAutomine", on)

    def transactions_of(self, sender: str, since: int = 0) -> list[dict[str, Any]]:
        """All mined transactions of a sender, oldest first."""
        blocks = (
            self.rpc("eth_getBlockByNumber", hex(number), BODIES)
            for number in range(since, self.head + 1)
        )
        mined = (transaction for block in blocks for transaction in block["transactions"])
        return [transaction for transaction in mined if transaction["from"] == sender.lower()]

    def receipt(self, transaction: str) -> dict[str, Any]:
        receipt: dict[str, Any] = self.rpc("eth_getTransactionReceipt", transaction)
        return receipt

    def cost(self, transaction: str) -> int:
        """Wei that a mined transaction has cost its sender."""
        receipt = self.receipt(transaction)
        return int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)

    def send(self, to: str | None, data: str, value: int = 0) -> dict[str, Any]:
        """Send from the chain's own account and wait for the receipt."""
        transaction = {"from": self.payer, "data": data, "value": hex(value), "gas": hex(2**24)}
        sent = self.rpc("eth_sendTransaction", transaction | ({"to": to} if to else {}))
        deadline = time.monotonic() + 30
        while (receipt := self.receipt(sent)) is None:
            assert time.monotonic() < deadline, "the transaction was not mined"
            time.sleep(0.05)
        assert receipt["status"] == "0x1", receipt
        return receipt

    def set_l1_block(self, l1: "Chain", block: int) -> str:
        """Store this L1 block as an L2 does; return the block's hash."""
        block_hash: str = l1.header(block)["hash"]
        data = call_data("set(uint64,bytes32)", block, bytes.fromhex(block_hash[2:]))
        self.send(L1_BLOCK, data)
        return block_hash

    def deploy(
        self,
        contract: str,
        types: Sequence[str] = (),
        values: Sequence[Any] = (),
        *,
        by_factory: bool = False,
    ) -> str:
        """Deploy one of the committed builds; return its address with checksum."""
        code = build(contract)["bytecode"] + encode(types, values).hex()
        if by_factory:
            self.send(FACTORY, f"0x{SALT.hex()}{code}")
            return create2_address(bytes.fromhex(code))
        return to_checksum_address(self.send(None, f"0x{code}")["contractAddress"])

    def deploy_verifier(self, registry: str) -> None:
        """Deploy the events verifier beside a registry."""
        self.send(FACTORY, f"0x{(SALT + verifier_init_code(registry)).hex()}")

    def call(self, to: str, signature: str, *values: Any) -> bytes:
        """Call a view function; a revert raises `RpcError`."""
        call = {"to": to, "data": call_data(signature, *values)}
        return bytes.fromhex(self.rpc("eth_call", call, "latest")[2:])


def build(contract: str) -> dict[str, Any]:
    """A contract's committed build output."""
    output: dict[str, Any] = json.loads((BUILDS / f"{contract}.json").read_text())
    return output


def call_data(signature: str, *values: Any) -> str:
    types = signature[signature.index("(") + 1 : -1].split(",") if values else []
    return f"0x{(function_signature_to_4byte_selector(signature) + encode(types, values)).hex()}"
