"""Contracts deployed on local nodes, and the nodes that tests share."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from explorer.demo.local_node import GAS_LIMIT, LocalNode, TransactionRevertedError, local_node
from queries.chain import node_pool
from queries.chain.errors import CallRevertedError, TooMuchGasError
from queries.chain.json_rpc import JsonRpcError
from queries.contracts.abi import selector
from queries.proving.registry_calls import HORIZON
from tests.builds import artifact
from tests.rigs.registry_reads import RegistryReads

CHAIN_ID = 31337
ETHER = 10**18
DAY = 86_400  # seconds
HOLDER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
SIGNER_KEY = "0x" + 32 * "5a"
CALLS_PER_REQUEST = 250
# Emits a log with 32 bytes of data and the topic 0xff, and deploys a contract without code.
LOGGING_CODE = bytes.fromhex("602a60005260ff60206000a100")
HORIZON_WORD = HORIZON.to_bytes(32)  # constructor argument of native and optimism registries


def lower_horizon(node: LocalNode, registry: str, time: int) -> None:
    """Set a registry's `stateHorizon`, as evidence of delayed state roots does."""
    slot = 4  # after the accumulated blocks
    node.rpc.ask("anvil_setStorageAt", registry, f"0x{slot:064x}", f"0x{time:064x}")


@contextmanager
def reverted_at_end(node: LocalNode) -> Iterator[None]:
    """Revert the chain at the end to its state at the beginning."""
    snapshot = node.rpc.ask("evm_snapshot")
    try:
        yield
    finally:
        node.rpc.ask("evm_revert", snapshot)
        # The pool may still have transactions that were mined inside.
        node.rpc.ask("anvil_dropAllTransactions")


@dataclass(frozen=True)
class Outcome:
    """The return data or revert data of a call."""

    success: bool
    data: bytes

    def value_if_proven(self) -> int | None:
        """The answer of a `try…` function; None if nothing is proven."""
        assert self.success, self.data.hex()
        return int.from_bytes(self.data[32:], "big") if self.data[31] else None


class DeployedContract:
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
        """Send a transaction; return the gas used."""
        return self.node.send(self.address, data).gas_used

    def refusal(self, data: bytes) -> str:
        """The name of the error with which a call reverts."""
        with pytest.raises(TransactionRevertedError) as reverted:
            self.ask(data)
        return error_name(self.name, reverted.value.data)

    def taken(self, calls: Sequence[bytes]) -> list[bytes]:
        """The calls that do not revert, if tried separately."""
        common = {"to": self.address, "gas": hex(GAS_LIMIT)}
        answers: list[object] = []
        for start in range(0, len(calls), CALLS_PER_REQUEST):
            part = calls[start : start + CALLS_PER_REQUEST]
            parameters = [(common | {"data": f"0x{call.hex()}"}, "latest") for call in part]
            answers += self.node.rpc.ask_many("eth_call", parameters)
        return [call for call, answer in zip(calls, answers, strict=True) if not _is_revert(answer)]

    def simulate(self, calls: Sequence[bytes]) -> list[Outcome]:
        return simulate(self.node, [(self.address, data) for data in calls])


def simulate(
    node: LocalNode,
    calls: Sequence[tuple[str, bytes]],
    overrides: Mapping[str, object] | None = None,
) -> list[Outcome]:
    """Run calls, each with the called address, one after the other in a simulated block."""
    common = {"from": node.payer, "gas": hex(GAS_LIMIT)}
    block = {
        "calls": [common | {"to": to, "data": f"0x{data.hex()}"} for to, data in calls],
        "blockOverrides": {"gasLimit": hex(GAS_LIMIT * len(calls))},
        "stateOverrides": overrides or {},
    }
    (answer,) = node.rpc.ask("eth_simulateV1", {"blockStateCalls": [block]}, "latest")
    return [
        Outcome(call["status"] == "0x1", bytes.fromhex(call["returnData"][2:]))
        for call in answer["calls"]
    ]


def _is_revert(answer: object) -> bool:
    """Raises the node's error if it is about something else than the call."""
    if not isinstance(answer, JsonRpcError):
        return False
    if answer.kind not in {CallRevertedError, TooMuchGasError}:
        raise answer
    return True


# A registry with a switch for every check exceeds the code size limit.
LARGE_CODE = ("--code-size-limit", "60000")


def day_old_genesis() -> tuple[str, str]:
    """Option for a genesis a day old, so that the head is never in the future."""
    return "--timestamp", str(int(time.time()) - DAY)


@pytest.fixture(autouse=True)
def _forget_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another test's node may have failed at the same port."""
    monkeypatch.setattr(node_pool, "_health_by_node", {})


@pytest.fixture(scope="session")
def shared_node() -> Iterator[LocalNode]:
    """A node for tests that do not use each other's contracts."""
    options = ("--slots-in-an-epoch", "1", "--no-request-size-limit")
    with local_node(*options, *day_old_genesis(), *LARGE_CODE) as node:
        yield node


@pytest.fixture(scope="session")
def aged_node() -> Iterator[LocalNode]:
    """A node whose first blocks are beyond the 256 of BLOCKHASH."""
    with local_node(*LARGE_CODE) as node:
        node.rpc.ask("anvil_mine", hex(400), hex(12))
        yield node


def error_name(contract: str, revert_data: bytes) -> str:
    """The name of a custom error in the contract's ABI, or the revert data as hex."""
    for entry in artifact(contract).abi:
        if entry["type"] == "error" and revert_data[:4] == selector(signature_of(entry)):
            return str(entry["name"])
    return f"0x{revert_data.hex()}"


def signature_of(entry: Mapping[str, Any]) -> str:
    """Name and types of an ABI entry."""
    return f"{entry['name']}({','.join(argument['type'] for argument in entry['inputs'])})"
