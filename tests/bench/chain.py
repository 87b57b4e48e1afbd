"""A local chain for benchmarks, with registries and funded accounts."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from secrets import token_hex

from eth_account import Account as Key
from eth_utils.address import to_checksum_address

from explorer.demo.local_node import ARCHIVE_OPTIONS, LocalNode, local_node
from queries.contracts.abi import load_artifact
from queries.proving.keccak import keccak256
from tests.rigs.deployed_contracts import HORIZON_WORD

CHAIN_ID = 31337
ETHER = 10**18
BLOCK_GAS = 60_000_000  # as mainnet's in 2026
CALLS_PER_REQUEST = 500
HEAD_POLL_SECONDS = 0.01
OPTIONS = ("--chain-id", str(CHAIN_ID), "--gas-limit", str(BLOCK_GAS), *ARCHIVE_OPTIONS)

ROUTES = """\
[chains.{chain}]
name = "Bench"
nodes = {nodes}
finality = 0
free = true

[[registries]]
kind = "native"
source = {chain}
destination = {chain}
address = "{registry}"
"""


@dataclass(frozen=True, slots=True)
class BenchChain:
    """A chain's node, the provers' key, and the accounts to prove."""

    node: LocalNode
    signer_key: str
    accounts: tuple[str, ...]
    names: int  # of the one node, which provers treat as that many nodes
    proxy_url: str = ""

    @property
    def address(self) -> str:
        return self.proxy_url or self.node.url

    def head(self) -> int:
        return int(self.node.rpc.ask("eth_blockNumber"), 16)

    def wait_for_a_block(self) -> None:
        """Wait until a block has just been mined."""
        head = self.head()
        while self.head() == head:
            time.sleep(HEAD_POLL_SECONDS)

    def new_registry(self) -> str:
        return to_checksum_address(
            self.node.deploy(load_artifact("NativeRegistry").bytecode, HORIZON_WORD)
        )

    def routes(self, registry: str) -> str:
        """The content of ROUTES_FILE."""
        nodes = [f"{self.address}/?{name}" for name in range(self.names)]
        return ROUTES.format(chain=CHAIN_ID, nodes=json.dumps(nodes), registry=registry)

    def gas_of(self, registry: str, first: int) -> int:
        """The gas of all transactions to the registry since this block."""
        return sum(
            int(receipt["gasUsed"], 16)
            for number in range(first, self.head() + 1)
            for receipt in self.node.rpc.ask("eth_getBlockReceipts", hex(number)) or ()
            if (receipt["to"] or "").lower() == registry.lower()
        )


@contextmanager
def bench_chain(block_seconds: int, accounts: int, names: int = 1) -> Iterator[BenchChain]:
    """A chain in whose newest block `accounts` accounts have different balances."""
    with local_node("--block-time", str(block_seconds), *OPTIONS) as node:
        key = f"0x{token_hex(32)}"
        node.rpc.ask("anvil_setBalance", Key.from_key(key).address, hex(10_000 * ETHER))
        addresses = tuple(
            to_checksum_address(keccak256(b"account %d" % number)[:20])
            for number in range(accounts)
        )
        balances = [(address, hex(ETHER + place)) for place, address in enumerate(addresses)]
        for start in range(0, accounts, CALLS_PER_REQUEST):
            node.rpc.ask_many("anvil_setBalance", balances[start : start + CALLS_PER_REQUEST])
        node.rpc.ask("anvil_mine", "0x2")
        yield BenchChain(node, key, addresses, names)
