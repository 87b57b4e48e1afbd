"""A local Ethereum node with Osaka's rules, for measuring, tests and the demo."""

import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from queries.chain.json_rpc import JsonRpc, NodeRefused, NodeUnreachable

PACKAGES = Path(__file__).parent.parent / "contracts" / "node_modules" / "@foundry-rs"
GAS_LIMIT = 16_777_216  # of one transaction, by EIP-7825
MINED_WITHIN, WOKEN_AFTER, LOST_AFTER = 60, 20, 30  # seconds
# Of a chain that is proven from while it goes on: it is final at once, and keeps the states of so
# many blocks, which is five hours and a half of one a second.
KEEPS_ITS_PAST = ("--slots-in-an-epoch", "1", "--max-persisted-states", "20000")


class LocalNodeMissing(Exception):  # noqa: N818
    """The node is not installed on this machine, or does not start."""


class TransactionReverted(Exception):  # noqa: N818
    """A transaction was mined and had no effect; `data` is what the contract reverted with."""

    def __init__(self, data: bytes) -> None:
        super().__init__(f"reverted with 0x{data.hex()}")
        self.data = data


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a transaction."""

    transaction: str
    block_number: int
    gas_used: int
    contract: str | None
    logs: tuple[dict[str, object], ...]


class LocalNode:
    """A running node, with an unlocked account that pays for everything."""

    def __init__(self, url: str, process: subprocess.Popen[bytes] | None = None) -> None:
        self.url = url
        self.process = process
        self.rpc = JsonRpc(url)
        self.payer: str = self.rpc.ask("eth_accounts")[0]

    def send(self, to: str | None, data: bytes, *, sender: str | None = None) -> Receipt:
        """Send a transaction and wait until it is mined."""
        payer = sender or self.payer
        transaction = {
            "from": payer,
            "data": f"0x{data.hex()}",
            "gas": hex(GAS_LIMIT),
            # Told, because the node's own count lags behind where blocks were just undone.
            "nonce": self.rpc.ask("eth_getTransactionCount", payer, "latest"),
        }
        if to is not None:
            transaction["to"] = to
        mined = self._sent(transaction)
        if mined["status"] != "0x1":
            raise TransactionReverted(self._reason(transaction))
        return _receipt(mined)

    def _sent(self, transaction: dict[str, str]) -> dict[str, Any]:
        """The receipt. One that comes right after blocks were undone may be lost: the same one is
        sent again, which has the same nonce.
        """
        sent = self.rpc.ask("eth_sendTransaction", transaction)
        try:
            return self._mined(sent, LOST_AFTER)
        except NodeUnreachable:
            self.rpc.ask("anvil_dropTransaction", sent)
        with suppress(NodeRefused):  # it was mined meanwhile
            self.rpc.ask("eth_sendTransaction", transaction)
        return self._mined(sent)

    def send_together(self, many: Sequence[tuple[str | None, bytes, int]]) -> list[Receipt]:
        """Send several at once, each to whom, with what data and how much wei; all must succeed."""
        nonce = int(self.rpc.ask("eth_getTransactionCount", self.payer, "latest"), 16)
        sent = []
        for place, (to, data, amount) in enumerate(many):
            transaction = {"from": self.payer, "nonce": hex(nonce + place), "value": hex(amount)}
            transaction |= {"data": f"0x{data.hex()}"} | ({} if to is None else {"to": to})
            sent.append(self.rpc.ask("eth_sendTransaction", transaction))
        receipts = [self._mined(each) for each in sent]
        if any(each["status"] != "0x1" for each in receipts):
            raise TransactionReverted(b"")
        return [_receipt(each) for each in receipts]

    def deploy(self, bytecode: bytes, arguments: bytes = b"") -> str:
        contract = self.send(None, bytecode + arguments).contract
        if contract is None:
            raise LocalNodeMissing("the node mined a deployment without an address")
        return contract

    def call(self, to: str, data: bytes, block: str = "latest") -> bytes:
        """Ask a contract; what it reverts with comes as `TransactionReverted`."""
        call = {"to": to, "from": self.payer, "data": f"0x{data.hex()}", "gas": hex(GAS_LIMIT)}
        try:
            return bytes.fromhex(self.rpc.ask("eth_call", call, block)[2:])
        except NodeRefused as refused:
            if refused.data.startswith("0x") or "revert" in str(refused):
                raise TransactionReverted(bytes.fromhex(refused.data[2:])) from refused
            raise

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Whatever happens inside is undone at the end."""
        snapshot = self.rpc.ask("evm_snapshot")
        try:
            yield
        finally:
            self.rpc.ask("evm_revert", snapshot)
            # Its pool may still hold what was mined inside, whose nonces are free again.
            self.rpc.ask("anvil_dropAllTransactions")

    def _mined(self, transaction: str, within: float = MINED_WITHIN) -> dict[str, Any]:
        """The receipt. A node that was not woken by the transaction is told to mine."""
        begin = time.monotonic()
        while time.monotonic() < begin + within:
            mined: dict[str, Any] | None = self.rpc.ask("eth_getTransactionReceipt", transaction)
            if mined is not None:
                return mined
            if time.monotonic() > begin + WOKEN_AFTER:
                self.rpc.ask("evm_mine")
            time.sleep(0.002)
        raise NodeUnreachable("the local node has not mined a transaction in time")

    def _reason(self, transaction: dict[str, str]) -> bytes:
        try:
            self.rpc.ask("eth_call", transaction, "latest")
        except NodeRefused as refused:
            return bytes.fromhex(refused.data[2:])
        return b""


@contextmanager
def local_node(*options: str, hardfork: str = "osaka") -> Iterator[LocalNode]:
    """Start a node at a free port and end it afterwards."""
    program = _program()
    port = _free_port()
    command: Sequence[str] = [
        str(program), "--port", str(port), "--silent", "--hardfork", hardfork,
        # Its accounts are unlocked: no page that someone looks at may ask it.
        "--enable-tx-gas-limit", "--no-cors", *options,
    ]  # fmt: skip
    # In a session of its own: a terminal's Ctrl-C is for who started it, and who ends it last.
    process = subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield _when_it_answers(process, f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(timeout=30)


def _receipt(mined: dict[str, Any]) -> Receipt:
    return Receipt(
        mined["transactionHash"],
        int(mined["blockNumber"], 16),
        int(mined["gasUsed"], 16),
        mined["contractAddress"],
        tuple(mined["logs"]),
    )


def _program() -> Path:
    # The package holds one program, that of this platform.
    programs = sorted(PACKAGES.glob("anvil-*/bin/anvil*"))
    if not programs:
        raise LocalNodeMissing("The local Ethereum node is not installed. Run: make contracts")
    return programs[0]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _when_it_answers(process: subprocess.Popen[bytes], url: str) -> LocalNode:
    until = time.monotonic() + 30
    while time.monotonic() < until and process.poll() is None:
        try:
            return LocalNode(url, process)
        except NodeUnreachable:
            time.sleep(0.02)
    raise LocalNodeMissing("The local Ethereum node did not start.")
