"""Local nodes and registries for tests that need a real chain."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from explorer.demo.local_node import GAS_LIMIT, LocalNode, TransactionReverted, local_node
from queries.chain import node_pool
from queries.chain.json_rpc import NodeRefused
from queries.contracts.abi import selector
from queries.proving.registry_calls import HORIZON
from tests.builds import artifact
from tests.rigs.registry_reads import RegistryReads

CHAIN_ID = 31337
ETHER = 10**18
DAY = 86_400  # seconds
HOLDER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
SIGNER_KEY = "0x" + 32 * "5a"
AT_ONCE = 250  # calls in a request
HORIZON_WORD = HORIZON.to_bytes(32)  # the arguments of a native or optimism registry


@contextmanager
def undone(node: LocalNode) -> Iterator[None]:
    """Undo at the end what happens inside."""
    snapshot = node.rpc.ask("evm_snapshot")
    try:
        yield
    finally:
        node.rpc.ask("evm_revert", snapshot)
        # Its pool may still hold what was mined inside, whose nonces are free again.
        node.rpc.ask("anvil_dropAllTransactions")


@dataclass(frozen=True)
class Outcome:
    """What became of one call: what it returned, or what it reverted with."""

    success: bool
    data: bytes

    def reading(self) -> int | None:
        """The answer of a `try…` function; None where nothing is proven."""
        assert self.success, self.data.hex()
        return int.from_bytes(self.data[32:], "big") if self.data[31] else None


class Deployed:
    """A contract on a local node."""

    def __init__(
        self, node: LocalNode, name: str, arguments: bytes = b"", bytecode: bytes | None = None
    ) -> None:
        self.node = node
        self.name = name
        if name in {"NativeRegistry", "OptimismRegistry"}:
            arguments = arguments or HORIZON_WORD
        self.address = node.deploy(bytecode or artifact(name).bytecode, arguments)
        self.reads = RegistryReads(self.ask)

    def ask(self, data: bytes) -> bytes:
        return self.node.call(self.address, data)

    def send(self, data: bytes) -> int:
        """Returns the gas used."""
        return self.node.send(self.address, data).gas_used

    def refusal(self, data: bytes) -> str:
        """The error with which a call reverts, by its name."""
        with pytest.raises(TransactionReverted) as refused:
            self.ask(data)
        return error_name(self.name, refused.value.data)

    def taken(self, calls: Sequence[bytes]) -> list[bytes]:
        """Those of the calls that do not revert, each tried by itself."""
        common = {"to": self.address, "gas": hex(GAS_LIMIT)}
        answers: list[object] = []
        for start in range(0, len(calls), AT_ONCE):
            some = calls[start : start + AT_ONCE]
            asked = [(common | {"data": f"0x{call.hex()}"}, "latest") for call in some]
            answers += self.node.rpc.ask_many("eth_call", asked)
        return [
            call
            for call, answer in zip(calls, answers, strict=True)
            if not isinstance(answer, NodeRefused)
        ]

    def simulate(self, calls: Sequence[bytes]) -> list[Outcome]:
        """One question to the node: each call sees what those before it wrote; nothing is kept."""
        common = {"from": self.node.payer, "to": self.address, "gas": hex(GAS_LIMIT)}
        asked = {"blockStateCalls": [{"calls": [common | {"data": f"0x{d.hex()}"} for d in calls]}]}
        answers = self.node.rpc.ask("eth_simulateV1", asked, "latest")[0]["calls"]
        return [
            Outcome(answer["status"] == "0x1", bytes.fromhex(answer["returnData"][2:]))
            for answer in answers
        ]


# A registry with a switch for each of its checks is larger than a contract may be.
LARGE_CODE = ("--code-size-limit", "60000")


def a_day_ago() -> tuple[str, str]:
    """A chain that began then has no head in the future, however many blocks are mined."""
    return "--timestamp", str(int(time.time()) - DAY)


@pytest.fixture(autouse=True)
def _no_node_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port may have been another test's node, which failed."""
    monkeypatch.setattr(node_pool, "_health_by_node", {})


@pytest.fixture(scope="session")
def shared_node() -> Iterator[LocalNode]:
    """One node for tests that leave each other's contracts alone."""
    with local_node("--slots-in-an-epoch", "1", *a_day_ago(), *LARGE_CODE) as node:
        yield node


@pytest.fixture(scope="session")
def aged_node() -> Iterator[LocalNode]:
    """One whose first blocks have left the window of BLOCKHASH."""
    with local_node(*LARGE_CODE) as node:
        node.rpc.ask("anvil_mine", hex(400), hex(12))
        yield node


def error_name(contract: str, revert_data: bytes) -> str:
    """What a contract reverted with, by the errors of its ABI."""
    for entry in artifact(contract).abi:
        if entry["type"] == "error" and revert_data[:4] == selector(signature_of(entry)):
            return str(entry["name"])
    return f"0x{revert_data.hex()}"


def signature_of(entry: Mapping[str, Any]) -> str:
    """An ABI entry's name and types."""
    return f"{entry['name']}({','.join(argument['type'] for argument in entry['inputs'])})"
