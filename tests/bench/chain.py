"""A local chain for benchmarks, with registries and funded accounts."""

import time

from eth_utils.address import to_checksum_address

from queries.proving.keccak import keccak256
from tests.rigs.anvil import ETHER, Chain
from tests.rigs.service import HOLDER, HOLDER_BALANCE, HORIZON, SIGNER, SIGNER_FUNDS

CHAIN_ID = 31337
BLOCK_GAS = 60_000_000  # as mainnet's in 2026
HEAD_POLL_SECONDS = 0.01


class BenchChain(Chain):
    """A block per second; in the newest one, these accounts have different balances."""

    def __init__(self, accounts: int) -> None:
        super().__init__(CHAIN_ID, "--gas-limit", str(BLOCK_GAS), block_time=1)
        self.accounts = tuple(
            to_checksum_address(keccak256(b"account %d" % number)[:20])
            for number in range(accounts)
        )
        for place, address in enumerate(self.accounts):
            self.set_balance(address, ETHER + place)
        # A service gives these the same funds, which must not change the newest block's state.
        self.set_balance(HOLDER, HOLDER_BALANCE)
        self.set_balance(SIGNER, SIGNER_FUNDS)
        self.mine(2)

    def follow_clock(self) -> None:
        """Make the next blocks on whole seconds, with the time of this machine: provers expect a
        block by the last one's time, as on public chains.
        """
        time.sleep(-time.time() % 1)
        self.rpc("evm_setIntervalMining", 1)
        self.rpc("anvil_setTime", int(time.time()))

    def wait_for_a_block(self) -> None:
        """Wait until a block has just been mined."""
        head = self.head
        while self.head == head:
            time.sleep(HEAD_POLL_SECONDS)

    def new_registry(self) -> str:
        return self.deploy("NativeRegistry", ["uint256"], [HORIZON])

    def gas_of(self, registry: str, first: int) -> int:
        """The gas of all transactions to the registry since this block."""
        return sum(
            int(receipt["gasUsed"], 16)
            for number in range(first, self.head + 1)
            for receipt in self.rpc("eth_getBlockReceipts", hex(number)) or ()
            if (receipt["to"] or "").lower() == registry.lower()
        )
