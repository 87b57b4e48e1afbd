"""Backs up a service with a transaction in flight, uses it, and restores it."""

import re
import time
from collections.abc import Callable
from pathlib import Path

from eth_account import Account

from tests.rigs.anvil import ETHER, Chain
from tests.rigs.service import BALANCE, HOLDER, HOLDER_BALANCE, Service, accounts, wait_until

CHAIN_ID = 11_155_111  # the guide's example
FEE = str(ETHER // 100)


def guide_chain() -> Chain:
    """A chain that mines every second, and whose newest block is a few minutes old."""
    chain = Chain(CHAIN_ID, block_time=1)
    chain.rpc("evm_setNextBlockTimestamp", int(time.time()) - 600)
    chain.mine(20, seconds=1)
    return chain


def with_chain_node(chain: Chain, commands: str) -> str:
    """Replace the guide's two nodes by this chain's node."""
    changed = re.sub(r"(--node sepolia=\S+ ?){2}", f"--node sepolia={chain.url} ", commands)
    assert changed != commands
    return changed


def fund_signer(chain: Chain, key: str) -> str:
    """Give the key's account some coin, and return its address."""
    address: str = Account.from_key(key.strip()).address
    chain.set_balance(address, 10 * ETHER)
    return address


def service_client(folder: Path, chain: Chain, url: str, key: str, registry: str) -> Service:
    folder.mkdir()
    client = Service(folder, "", [key.strip()])
    client.add_chain(chain)
    client.registries[chain.id, chain.id] = registry
    client.url = url
    # As the proxy does.
    client.headers = {"Host": "proofs.example.org", "X-Forwarded-Proto": "https"}
    return client


class Drill:
    """Uses a service that proves the past of `chain` to itself, paid for by `signer`."""

    def __init__(self, client: Service, chain: Chain, signer: str) -> None:
        self._client, self._chain, self._signer = client, chain, signer
        self._blocks: set[int] = set()

    def run(
        self, back_up: Callable[[], object], stop: Callable[[], str], restore: Callable[[], object]
    ) -> None:
        """`stop` returns what `check_setup` printed; `restore` starts the service again."""
        client, chain = self._client, self._chain
        done = self._submit(self._mine_provable_block())
        client.wait(done)
        in_flight = self._submit_in_flight()
        back_up()
        self._mine(8)
        client.wait(in_flight)
        unknown = self._submit_in_flight()
        assert "; 1 transaction pending" in stop()
        self._mine(8)
        assert "pending" not in stop()
        paid = len(chain.transactions_of(self._signer))
        restore()

        assert client.status(done)["queryStatus"] == "DONE"
        assert client.get(f"/batch-queries/{done}/proof").status_code == 200
        client.wait(in_flight)
        assert client.get("/batch-query-status", batchQueryId=unknown).status_code == 404
        for block in sorted(self._blocks):
            assert client.wait(self._submit(block))["spent"] == "0"
        assert len(chain.transactions_of(self._signer)) == paid
        client.wait(self._submit(self._mine_provable_block()))
        self._check_facts()

    def _submit(self, block: int) -> str:
        self._blocks.add(block)
        chain = self._chain.id
        return self._client.submit({chain: {block: accounts(HOLDER)}}, to=chain, fee=FEE)

    def _mine_provable_block(self) -> int:
        """Mine a new block that is final."""
        return self._chain.mine(8, seconds=1) - 4

    def _submit_in_flight(self) -> str:
        """Submit a batch, and stop mining when its transaction is sent."""
        block = self._mine_provable_block()
        self._chain.rpc("anvil_setIntervalMining", 0)
        batch = self._submit(block)
        wait_until(self._pending, what="a transaction is in flight")
        return batch

    def _pending(self) -> int:
        return int(self._chain.rpc("txpool_status")["pending"], 16)

    def _mine(self, blocks: int) -> None:
        self._chain.mine(blocks, seconds=1)
        self._chain.rpc("anvil_setIntervalMining", 1)

    def _check_facts(self) -> None:
        """Check that every fact was proven once, by successful transactions without a gap."""
        chain, route = self._chain, (self._chain.id, self._chain.id)
        for block in self._blocks:
            assert self._client.field(HOLDER, block, BALANCE, route=route) == HOLDER_BALANCE
            event = "AccountProven(address,uint256,uint8)"
            assert len(self._client.events(event, int(HOLDER, 16), block, route=route)) == 1
        sent = chain.transactions_of(self._signer)
        assert [int(transaction["nonce"], 16) for transaction in sent] == list(range(len(sent)))
        assert all(chain.receipt(transaction["hash"])["status"] == "0x1" for transaction in sent)
