"""Replay mined transactions under the rules of other forks, in `@ethereumjs/vm`."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from explorer.demo.local_node import LocalNode
from tests.bench.command import BenchError

PROGRAM = Path(__file__).parents[2] / "js" / "replay.mjs"


@dataclass(frozen=True, slots=True)
class ForkGas:
    """Gas of a transaction by the rules of Osaka, and of the draft of Amsterdam."""

    osaka: int
    amsterdam: int


@dataclass(frozen=True, slots=True)
class Replayer:
    process: subprocess.Popen[str]

    def gas_by_fork(self, node: LocalNode, transaction_hash: str) -> ForkGas:
        """The gas of a transaction that this node has mined, in the state before it."""
        ask = node.rpc.ask
        transaction = ask("eth_getTransactionByHash", transaction_hash)
        mined = {
            "transaction": transaction,
            "block": node.block(transaction["blockNumber"]),
            "prestate": ask(
                "debug_traceTransaction", transaction_hash, {"tracer": "prestateTracer"}
            ),
        }
        if self.process.stdin is None or self.process.stdout is None:
            raise RuntimeError("the process has no pipes")
        self.process.stdin.write(f"{json.dumps(mined)}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise BenchError("A transaction could not be replayed in @ethereumjs/vm.")
        return ForkGas(**json.loads(answer))


@contextmanager
def replayer() -> Iterator[Replayer]:
    """Run the program; its errors go to stderr."""
    command = ["node", str(PROGRAM)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Replayer(process)
        finally:
            process.terminate()
