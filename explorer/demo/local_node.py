"""A local Ethereum node (Anvil, with Osaka's rules) for the demo and for tests.

Its accounts are unlocked; the first one pays for transactions and is the demo's wallet.
"""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from queries.chain import JsonRpc, JsonRpcError, NodeTransportError
from queries.config.limits import Limits

CONTRACTS = Path(__file__).parents[2] / "queries" / "contracts"
GAS_LIMIT = 16_777_216  # of one transaction (EIP-7825)
# Each state in memory is a copy, with the hashes of all blocks: 0.3 MB after 1,000 blocks.
MAX_STATES = 1_000


class LocalNodeMissingError(Exception):
    """The node is not installed on this machine, or does not start."""


class TransactionRevertedError(Exception):
    """A transaction or call reverted; `data` is the contract's ABI-encoded error."""

    def __init__(self, data: bytes) -> None:
        super().__init__(f"reverted with 0x{data.hex()}")
        self.data = data


@dataclass(frozen=True, slots=True)
class LocalReceipt:
    transaction: str
    gas_used: int
    contract: str | None
    logs: tuple[dict[str, object], ...]


class LocalNode:
    receipt_timeout = 20.0  # seconds until an unmined transaction is sent again

    def __init__(self, url: str, process: subprocess.Popen[bytes] | None = None) -> None:
        self.url = url
        self.process = process
        self.rpc = JsonRpc(url, Limits(request_timeout=1.5 * self.receipt_timeout))
        self.payer: str = self.rpc.ask("eth_accounts")[0]

    @property
    def chain_id(self) -> int:
        return int(self.rpc.ask("eth_chainId"), 16)

    def block(self, number: str) -> dict[str, Any]:
        """Return a block without transactions, by its number in hex or `latest`."""
        block: dict[str, Any] = self.rpc.ask("eth_getBlockByNumber", number, False)
        return block

    def sign_text(self, text: str) -> str:
        """Sign a message with the payer's key (EIP-191)."""
        return str(self.rpc.ask("personal_sign", f"0x{text.encode().hex()}", self.payer))

    def send(self, to: str | None, data: bytes, *, sender: str | None = None) -> LocalReceipt:
        """Send a transaction and wait until it is mined."""
        transaction = self._transaction(sender or self.payer, to, data) | {"gas": hex(GAS_LIMIT)}
        return self._wait_for_receipt(self.rpc.ask("eth_sendTransaction", transaction), transaction)

    def send_together(
        self, transactions: Sequence[tuple[str | None, bytes, int]]
    ) -> list[LocalReceipt]:
        """Send several (to, data, wei) at once and wait for all of them; all must succeed."""
        first_nonce, hashes = self._nonce(self.payer), list[tuple[str, dict[str, str]]]()
        for nonce, (to, data, amount) in enumerate(transactions, first_nonce):
            transaction = self._transaction(self.payer, to, data)
            transaction |= {"nonce": hex(nonce), "value": hex(amount)}
            if data:  # the node cannot estimate what needs an earlier one of them
                transaction |= {"gas": hex(GAS_LIMIT // 3)}
            hashes.append((self.rpc.ask("eth_sendTransaction", transaction), transaction))
        return [self._wait_for_receipt(hash_, transaction) for hash_, transaction in hashes]

    def deploy(self, bytecode: bytes, arguments: bytes = b"") -> str:
        return str(self.send(None, bytecode + arguments).contract)

    def call(self, to: str, data: bytes, block: str = "latest") -> bytes:
        """Call a contract. Raises TransactionRevertedError."""
        call = {"to": to, "from": self.payer, "data": f"0x{data.hex()}", "gas": hex(GAS_LIMIT)}
        return self._eth_call(call, block)

    def _transaction(self, sender: str, to: str | None, data: bytes) -> dict[str, str]:
        """Set the nonce, because the node's own count lags after `evm_revert`."""
        transaction = {"from": sender, "data": f"0x{data.hex()}", "nonce": hex(self._nonce(sender))}
        return transaction if to is None else transaction | {"to": to}

    def _nonce(self, sender: str) -> int:
        return int(self.rpc.ask("eth_getTransactionCount", sender, "latest"), 16)

    def _wait_for_receipt(self, hash_: str, transaction: dict[str, str]) -> LocalReceipt:
        """Wait for the receipt. After `evm_revert`, Anvil may lose or not mine a transaction."""
        for _ in range(3):
            deadline = time.monotonic() + self.receipt_timeout
            while time.monotonic() < deadline:
                receipt: dict[str, Any] | None = self.rpc.ask("eth_getTransactionReceipt", hash_)
                if receipt is None:
                    time.sleep(0.002)
                    continue
                if receipt["status"] != "0x1":
                    self._eth_call(transaction)
                    raise TransactionRevertedError(b"")
                contract, logs = receipt["contractAddress"], tuple(receipt["logs"])
                return LocalReceipt(hash_, int(receipt["gasUsed"], 16), contract, logs)
            with suppress(JsonRpcError):  # it was mined just now
                self.rpc.ask("anvil_dropTransaction", hash_)
                hash_ = self.rpc.ask("eth_sendTransaction", transaction)
            self.rpc.ask("evm_mine")
        raise NodeTransportError("the local node has not mined a transaction in time")

    def _eth_call(self, call: dict[str, str], block: str = "latest") -> bytes:
        try:
            return bytes.fromhex(self.rpc.ask("eth_call", call, block)[2:])
        except JsonRpcError as error:
            if error.data.startswith("0x") or "revert" in str(error):
                raise TransactionRevertedError(bytes.fromhex(error.data[2:])) from error
            raise


def is_installed() -> bool:
    return bool(_programs())


def _programs() -> list[Path]:
    """npm installs only this platform's."""
    return sorted(CONTRACTS.glob("node_modules/@foundry-rs/anvil-*/bin/anvil*"))


@contextmanager
def local_node(
    *options: str, hardfork: str = "osaka", max_states: int = MAX_STATES
) -> Iterator[LocalNode]:
    """Run a node at a free port. Any web page may use it, as its accounts hold nothing of value.

    It proves the newest `max_states` blocks (1,500 if it mines every second or two), and writes
    nothing to the disk. By default, Anvil writes the state of each older block to a file in the
    home directory, and leaves it there.
    """
    programs = _programs()
    if not programs:
        raise LocalNodeMissingError("The local Ethereum node is not installed. Run: make contracts")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # Linux then ends the node with the thread that started it, even if that was killed.
    wrapper = ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()
    command: Sequence[str] = [
        *wrapper, str(programs[0]), "--port", str(port), "--silent", "--hardfork", hardfork,
        "--enable-tx-gas-limit", "--prune-history", str(max_states), *options,
    ]  # fmt: skip
    # In its own session, so that a terminal's Ctrl-C does not end it before its users.
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield _wait_for_start(process, f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait_for_start(process: subprocess.Popen[bytes], url: str) -> LocalNode:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        try:
            return LocalNode(url, process)
        except NodeTransportError:
            time.sleep(0.02)
    raise LocalNodeMissingError("The local Ethereum node did not start.")
