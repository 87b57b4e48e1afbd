"""A local Ethereum node (anvil, with Osaka's rules) for the demo and for tests.

Its accounts are unlocked: the first one pays for everything and is the demo's wallet.
"""

import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from queries.chain.json_rpc import JsonRpc, NodeRefused, NodeUnreachable
from queries.config.limits import Limits

PACKAGES = Path(__file__).parents[2] / "queries" / "contracts" / "node_modules" / "@foundry-rs"
GAS_LIMIT = 16_777_216  # of one transaction, by EIP-7825
# Options of a chain that others prove from: every block is final at once, and the node keeps enough
# old states for five hours of blocks a second apart.
KEEPS_ITS_PAST = ("--slots-in-an-epoch", "1", "--max-persisted-states", "20000")


class LocalNodeMissing(Exception):  # noqa: N818
    """The node is not installed on this machine, or does not start."""


class TransactionReverted(Exception):  # noqa: N818
    """A transaction or call reverted; `data` is the contract's error."""

    def __init__(self, data: bytes) -> None:
        super().__init__(f"reverted with 0x{data.hex()}")
        self.data = data


@dataclass(frozen=True, slots=True)
class Receipt:
    """A transaction that succeeded."""

    transaction: str
    gas_used: int
    contract: str | None
    logs: tuple[dict[str, object], ...]


class LocalNode:
    """A running node."""

    patience = 20.0  # seconds until an unmined transaction is sent again

    def __init__(self, url: str, process: subprocess.Popen[bytes] | None = None) -> None:
        self.url = url
        self.process = process
        self.rpc = JsonRpc(url, Limits(request_timeout=1.5 * self.patience))
        self.payer: str = self.rpc.ask("eth_accounts")[0]

    @property
    def chain_id(self) -> int:
        return int(self.rpc.ask("eth_chainId"), 16)

    def sign_text(self, text: str) -> str:
        """The payer's signature of a message for people (EIP-191)."""
        return str(self.rpc.ask("personal_sign", f"0x{text.encode().hex()}", self.payer))

    def send(self, to: str | None, data: bytes, *, sender: str | None = None) -> Receipt:
        """Send a transaction and wait until it is mined."""
        transaction = self._transaction(sender or self.payer, to, data) | {"gas": hex(GAS_LIMIT)}
        return self._mined(self.rpc.ask("eth_sendTransaction", transaction), transaction)

    def send_together(self, many: Sequence[tuple[str | None, bytes, int]]) -> list[Receipt]:
        """Send several (to, data, wei) at once and wait for all of them; all must succeed."""
        nonce, sent = self._nonce(self.payer), list[tuple[str, dict[str, str]]]()
        for place, (to, data, amount) in enumerate(many):
            transaction = self._transaction(self.payer, to, data)
            transaction |= {"nonce": hex(nonce + place), "value": hex(amount)}
            sent.append((self.rpc.ask("eth_sendTransaction", transaction), transaction))
        return [self._mined(*each) for each in sent]

    def deploy(self, bytecode: bytes, arguments: bytes = b"") -> str:
        contract = self.send(None, bytecode + arguments).contract
        if contract is None:
            raise LocalNodeMissing("the node mined a deployment without an address")
        return contract

    def call(self, to: str, data: bytes, block: str = "latest") -> bytes:
        """A contract's answer, or `TransactionReverted`."""
        call = {"to": to, "from": self.payer, "data": f"0x{data.hex()}", "gas": hex(GAS_LIMIT)}
        return self._called(call, block)

    def _transaction(self, sender: str, to: str | None, data: bytes) -> dict[str, str]:
        """With its nonce, because the node's own count lags after `evm_revert`."""
        transaction = {"from": sender, "data": f"0x{data.hex()}", "nonce": hex(self._nonce(sender))}
        return transaction if to is None else transaction | {"to": to}

    def _nonce(self, sender: str) -> int:
        return int(self.rpc.ask("eth_getTransactionCount", sender, "latest"), 16)

    def _mined(self, sent: str, transaction: dict[str, str]) -> Receipt:
        """The receipt. After `evm_revert` a transaction may be lost, or not be mined by itself."""
        for _ in range(3):
            until = time.monotonic() + self.patience
            while time.monotonic() < until:
                mined: dict[str, Any] | None = self.rpc.ask("eth_getTransactionReceipt", sent)
                if mined is None:
                    time.sleep(0.002)
                    continue
                if mined["status"] != "0x1":
                    self._called(transaction)
                    raise TransactionReverted(b"")
                contract, logs = mined["contractAddress"], tuple(mined["logs"])
                return Receipt(sent, int(mined["gasUsed"], 16), contract, logs)
            with suppress(NodeRefused):  # it was mined just now
                self.rpc.ask("anvil_dropTransaction", sent)
                sent = self.rpc.ask("eth_sendTransaction", transaction)
            self.rpc.ask("evm_mine")
        raise NodeUnreachable("the local node has not mined a transaction in time")

    def _called(self, call: dict[str, str], block: str = "latest") -> bytes:
        try:
            return bytes.fromhex(self.rpc.ask("eth_call", call, block)[2:])
        except NodeRefused as refused:
            if refused.data.startswith("0x") or "revert" in str(refused):
                raise TransactionReverted(bytes.fromhex(refused.data[2:])) from refused
            raise


@contextmanager
def local_node(*options: str, hardfork: str = "osaka") -> Iterator[LocalNode]:
    """Start a node at a free port and end it afterwards."""
    programs = sorted(PACKAGES.glob("anvil-*/bin/anvil*"))  # one, for this platform
    if not programs:
        raise LocalNodeMissing("The local Ethereum node is not installed. Run: make contracts")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command: Sequence[str] = [
        str(programs[0]), "--port", str(port), "--silent", "--hardfork", hardfork,
        # Without CORS, because a web page must not use its unlocked accounts.
        "--enable-tx-gas-limit", "--no-cors", *options,
    ]  # fmt: skip
    # In a session of its own, so that a terminal's Ctrl-C does not end it before its users.
    process = subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield _started(process, f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(timeout=30)


def _started(process: subprocess.Popen[bytes], url: str) -> LocalNode:
    until = time.monotonic() + 30
    while time.monotonic() < until and process.poll() is None:
        try:
            return LocalNode(url, process)
        except NodeUnreachable:
            time.sleep(0.02)
    raise LocalNodeMissing("The local Ethereum node did not start.")
