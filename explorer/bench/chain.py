"""A local chain with registries, and accounts on it of which something can be proven."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from secrets import token_hex

from eth_account import Account as Key
from eth_utils.address import to_checksum_address

from queries.chain.artifacts import load_artifact
from queries.chain.local_node import KEEPS_ITS_PAST, LocalNode, local_node
from queries.proving.keccak import keccak256

CHAIN_ID = 31337
ETHER = 10**18
BLOCK_GAS = 60_000_000  # as mainnet's in 2026
AT_ONCE = 500
LOOKS_EVERY = 0.01  # seconds
OPTIONS = ("--chain-id", str(CHAIN_ID), "--gas-limit", str(BLOCK_GAS), *KEEPS_ITS_PAST)

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
    """Its node, who signs for the provers, and what is asked for."""

    node: LocalNode
    signer_key: str
    accounts: tuple[str, ...]
    names: int  # by which provers know the node, each as if it were another one

    def head(self) -> int:
        return int(self.node.rpc.ask("eth_blockNumber"), 16)

    def wait_for_a_block(self) -> None:
        """Until one has just been mined, and what begins has the whole of the next one's time."""
        head = self.head()
        while self.head() == head:
            time.sleep(LOOKS_EVERY)

    def new_registry(self) -> str:
        return to_checksum_address(self.node.deploy(load_artifact("NativeRegistry").bytecode))

    def routes(self, registry: str) -> str:
        """What ROUTES_FILE says of it."""
        nodes = [f"{self.node.url}/?{name}" for name in range(self.names)]
        return ROUTES.format(chain=CHAIN_ID, nodes=json.dumps(nodes), registry=registry)

    def gas_of(self, registry: str, first: int) -> int:
        """What all transactions to it have used, from this block on."""
        return sum(
            int(receipt["gasUsed"], 16)
            for number in range(first, self.head() + 1)
            for receipt in self.node.rpc.ask("eth_getBlockReceipts", hex(number)) or ()
            if (receipt["to"] or "").lower() == registry.lower()
        )


@contextmanager
def bench_chain(block_seconds: int, accounts: int, names: int = 1) -> Iterator[BenchChain]:
    """So many accounts hold different balances in its newest block."""
    with local_node("--block-time", str(block_seconds), *OPTIONS) as node:
        key = f"0x{token_hex(32)}"
        node.rpc.ask("anvil_setBalance", Key.from_key(key).address, hex(10_000 * ETHER))
        named = tuple(
            to_checksum_address(keccak256(b"account %d" % number)[:20])
            for number in range(accounts)
        )
        held = [(name, hex(ETHER + place)) for place, name in enumerate(named)]
        for start in range(0, accounts, AT_ONCE):
            node.rpc.ask_many("anvil_setBalance", held[start : start + AT_ONCE])
        node.rpc.ask("anvil_mine", "0x2")
        yield BenchChain(node, key, named, names)
