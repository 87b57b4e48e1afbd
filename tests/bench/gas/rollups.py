"""What the hash of a rollup's block costs on its L1, with stand-ins for the rollup's contracts."""

from collections.abc import Iterator
from dataclasses import dataclass

from explorer.demo.local_node import LocalNode, local_node
from queries.proving.keccak import keccak256
from queries.proving.outputs import encode_super_root
from tests.bench.gas.trials import floor_gas
from tests.queries.attacks.hash_sources import OUTPUT, SOURCE_CHAIN, Games, Rollup, record_output
from tests.queries.attacks.registry_attacks import (
    ACCUMULATE_ASSERTED,
    ASSERTED,
    SEND_ROOT,
    SUPER_TIME,
)
from tests.rigs.deployed_contracts import DeployedContract


@dataclass(frozen=True, slots=True)
class TransactionRow:
    """A transaction, and the floor of its calldata."""

    name: str
    bytes: int
    total: int
    floor: int

    def __str__(self) -> str:
        figures = f"{self.bytes:9,} {self.total:9,} {self.floor:9,} {self.total / self.floor:9.3f}"
        return f"  {self.name:44} {figures}"


def rollup_lines() -> Iterator[str]:
    """A row for each way in which a block's hash becomes known."""
    yield ""
    names = " ".join(f"{name:>9}" for name in ("bytes", "total", "floor", "ratio"))
    yield f"{'A rollup, by stand-ins of its contracts':46} {names}"
    with local_node() as node:
        yield from map(str, rollup_rows(node))


def rollup_rows(node: LocalNode) -> Iterator[TransactionRow]:
    def deploy(contract: str, arguments: bytes = b"") -> DeployedContract:
        return DeployedContract(node, contract, arguments)

    def row(name: str, registry: DeployedContract, call: bytes) -> TransactionRow:
        return TransactionRow(name, len(call), registry.send(call), floor_gas(call))

    for title, chains in (("an output", 0), ("one in a super root", 1), ("one of three", 3)):
        games, claimed = Games(deploy), b""
        if chains:
            ids = range(SOURCE_CHAIN, SOURCE_CHAIN + chains)
            claimed = encode_super_root(SUPER_TIME, dict.fromkeys(ids, OUTPUT.root))
        game = games.propose(keccak256(claimed) if claimed else OUTPUT.root)
        games.settle(game, valid=True)
        yield row(f"{title}, recorded", games.registry(), record_output(game, OUTPUT, claimed))
    rollup = Rollup(deploy)
    rollup.create(SEND_ROOT, ASSERTED.hash)
    rollup.confirm(SEND_ROOT, ASSERTED.hash)
    yield row("a header of an Arbitrum chain, accumulated", rollup.registry(), ACCUMULATE_ASSERTED)
