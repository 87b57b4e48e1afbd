"""Dispute games of an OP-stack chain."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from eth_abi.abi import encode

from queries.contracts.abi import call_data
from queries.proving.keccak import keccak256
from queries.proving.registry_calls import HORIZON
from tests.queries.attacks.attestations import SOURCE_CHAIN
from tests.rigs.deployed_contracts import DeployedContract

Deploy = Callable[..., DeployedContract]


@dataclass(frozen=True)
class Output:
    """The preimage of a game's root claim."""

    state_root: bytes
    message_passer: bytes
    block_hash: bytes

    @property
    def root(self) -> bytes:
        return keccak256(bytes(32) + self.state_root + self.message_passer + self.block_hash)


OUTPUT = Output(bytes([1]) * 32, bytes([2]) * 32, bytes([3]) * 32)


def output_with_hash(block_hash: bytes) -> Output:
    return replace(OUTPUT, block_hash=block_hash)


class Games:
    """The games of a chain, and registries that read them."""

    def __init__(self, deploy: Deploy) -> None:
        self._deploy = deploy
        self._anchors = deploy("DisputeGamesStandIn")
        self.address = self._anchors.address
        self._count = 0

    def registry(self, source: int = SOURCE_CHAIN) -> DeployedContract:
        arguments = encode(["uint256", "uint256", "address"], [HORIZON, source, self.address])
        return self._deploy("OutputRegistry", arguments)

    def propose(self, root: bytes, chain: int = SOURCE_CHAIN) -> str:
        self._anchors.send(call_data("propose(bytes32,uint256)", root, chain))
        word = self._anchors.ask(call_data("games(uint256)", self._count))
        self._count += 1
        return f"0x{word[12:].hex()}"

    def settle(self, game: str, *, valid: bool) -> None:
        self._anchors.send(call_data("settle(address,bool)", game, valid))


def record_output(game: str, output: Output) -> bytes:
    return call_data(
        "recordOutput(address,bytes32,bytes32,bytes32)",
        game,
        output.state_root,
        output.message_passer,
        output.block_hash,
    )
