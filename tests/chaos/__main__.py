# ruff: noqa: T201, it prints a report
"""`make chaos`: the service under faults that operators run into, on each database and engine."""

import random
import secrets
import signal
import sqlite3
import sys
import threading
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import psycopg

from tests.chaos.checks import Checks
from tests.chaos.installation import FINALITY, NODES, A, B, Clients, Installation, Options
from tests.scenarios.chain import BODIES
from tests.scenarios.node import Node
from tests.scenarios.service import SIGNER, Process

VAR = Path(__file__).parents[2] / "var"
DATABASES, ENGINES = ("sqlite", "postgres"), ("embedded", "celery")
PATIENCE = 300  # seconds in which one more batch must end
LONGEST = 6  # seconds of a fault, in a run of two minutes or more
GWEI = 10**9
END_CONNECTIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid != pg_backend_pid()"
)
Fault = Callable[[random.Random], None]  # begins, lasts and ends
NodeFault = Callable[[Node], None]  # begins


def main() -> int:
    runs = _options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return 1 if sum(run(options) for options in runs) else 0


def run(options: Options) -> int:
    """Run the service under faults and print a report; return the number of problems."""
    name = f"chaos-{options.seed}-{options.database}-{options.engine}-{secrets.token_hex(2)}"
    folder = VAR / name
    folder.mkdir(parents=True)
    print(f"{options} …", flush=True)
    with ExitStack() as stack:
        installation = Installation(options, folder, stack)
        clients, faults = Clients(installation), Faults(installation)
        checks = Checks(installation, clients)
        with _in_background(installation.keep_chains_busy):
            with _in_background(clients.submit_batches):
                faults.run()
            _await_rest(checks)
            problems = faults.problems + list(checks.problems())
    print(f"  {len(clients.batches)} batches, {len(checks.facts)} facts")
    for each in problems:
        print(f"  WRONG: {each}")
    print(f"  again: {options}; logs in {folder}", flush=True)
    return len(problems)


def _await_rest(checks: Checks) -> None:
    """Wait until nothing is left to do, or no batch ends any more."""
    ended, progress = 0, time.monotonic()
    while not checks.is_at_rest() and time.monotonic() < progress + PATIENCE:
        if len(checks.ended) > ended:
            ended, progress = len(checks.ended), time.monotonic()
        time.sleep(1)


@contextmanager
def _in_background(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Work in a thread until the block ends; raise what the work raises."""
    stopped = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work, stopped)
        try:
            yield
        finally:
            stopped.set()
        working.result()


class Faults:
    """Four lanes of faults at a time: programs, reorgs, and the nodes of each chain.

    A lane plays all its faults in an order that follows from the seed, then all of them again.
    """

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._longest = min(max(installation.options.seconds / 20, 0.5), LONGEST)
        self._ended = threading.Event()
        self.problems: list[str] = []

    def run(self) -> None:
        lanes: tuple[tuple[list[Fault], float], ...] = (
            (self._of_programs(), 2.5),
            ([partial(self._reorganise, each) for each in (A, B)], 4),
            (self._of_nodes(A), 1),
            (self._of_nodes(B), 1),
        )
        with ExitStack() as stack:
            for number, lane in enumerate(lanes):
                stack.enter_context(_in_background(partial(self._play, number, *lane)))
            stack.callback(self._ended.set)  # all lanes end at a time
            time.sleep(self._installation.options.seconds)
        programs = self._installation.programs
        programs["prover 1"].await_log("Proving on")
        programs["prover 2"].await_log("Proving on")
        programs["signer"].await_log("Speaking as")

    def _play(self, lane: int, faults: list[Fault], pause: float, _: threading.Event) -> None:
        """`pause` is the average number of seconds between two faults."""
        chance = random.Random(f"{self._installation.options.seed} {lane}")  # noqa: S311
        left: list[Fault] = []
        while not self._ended.is_set():
            left = left or chance.sample(faults, len(faults))
            left.pop()(chance)
            self._ended.wait(chance.uniform(0.5, 1.5) * pause)

    def _last(self, chance: random.Random) -> None:
        self._ended.wait(chance.uniform(0.2, 1) * self._longest)

    def _of_programs(self) -> list[Fault]:
        is_sqlite = self._installation.options.database == "sqlite"
        fail_database = self._lock_database if is_sqlite else self._end_connections
        kills = [partial(self._kill, each) for each in self._installation.programs.values()]
        return [*kills, fail_database, self._fail_receiver]

    def _kill(self, program: Process, chance: random.Random) -> None:
        if not program.runs:
            self.problems.append(f"a program ended by itself: {program.log[-500:]}")
        program.kill()
        self._last(chance)
        program.restart()

    def _fail_receiver(self, chance: random.Random) -> None:
        self._installation.receiver.is_failing = True
        self._last(chance)
        self._installation.receiver.is_failing = False

    def _lock_database(self, chance: random.Random) -> None:
        file = self._installation.service.database.removeprefix("sqlite:///")
        with closing(sqlite3.connect(file, timeout=60, isolation_level=None)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            self._last(chance)

    def _end_connections(self, chance: random.Random) -> None:
        end = time.monotonic() + chance.uniform(0.2, 1) * self._longest
        with psycopg.connect(self._installation.service.database, autocommit=True) as connection:
            while time.monotonic() < end:
                connection.execute(END_CONNECTIONS)
                self._ended.wait(0.2)

    def _reorganise(self, id_: int, chance: random.Random) -> None:
        chain, depth = self._installation.chains[id_], chance.randrange(1, FINALITY)
        chain.rpc("anvil_setIntervalMining", 0)  # no block is mined meanwhile
        try:
            for number in range(chain.head, chain.head - depth, -1):
                block = chain.rpc("eth_getBlockByNumber", hex(number), BODIES)
                self._installation.undone |= {
                    (id_, int(each["nonce"], 16))
                    for each in block["transactions"]
                    if each["from"] == SIGNER.lower()
                }
            chain.rpc("anvil_reorg", depth, [])
        finally:
            chain.rpc("anvil_setIntervalMining", 1)

    def _of_nodes(self, chain: int) -> list[Fault]:
        """All nodes fail, or one fails or lies."""
        nodes, other = self._installation.nodes[chain], self._installation.chains[A + B - chain]
        failures: list[NodeFault] = [
            Node.is_gone,
            lambda node: node.is_slow(60),
            lambda node: node.answers(429),
            lambda node: node.answers(503),
        ]
        lies: list[NodeFault] = [
            lambda node: node.is_behind(node.chain.head - 6),
            lambda node: node.is_of(other),
            Node.swallows,
            *(_lying(*lie) for lie in LIES),
        ]
        one: list[Fault] = [partial(self._spoil, nodes, 1, begin) for begin in failures + lies]
        return one + [partial(self._spoil, nodes, NODES, begin) for begin in failures]

    def _spoil(
        self, nodes: list[Node], count: int, begin: NodeFault, chance: random.Random
    ) -> None:
        chosen = chance.sample(nodes, count)
        for each in chosen:
            begin(each)
        self._last(chance)
        for each in chosen:
            each.is_well()


def _other(text: str) -> str:
    """Change the last digit of a hex string."""
    return text[:-1] + f"{int(text[-1], 16) ^ 1:x}" if len(text) > 2 else text


# A method, a field of its result unless all of it is a lie, and what becomes of the truth.
LIES: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    ("eth_getProof", "accountProof", lambda nodes: [_other(each) for each in nodes]),
    ("eth_getProof", "balance", _other),
    ("eth_getBlockByNumber", "stateRoot", _other),
    ("eth_getBlockByNumber", "hash", _other),
    ("eth_getBlockByNumber", "baseFeePerGas", lambda _: hex(90 * GWEI)),
    ("eth_getTransactionReceipt", "", lambda _: None),
    ("eth_getTransactionReceipt", "blockNumber", lambda _: hex(10**6)),
    ("eth_call", "", _other),
    ("eth_estimateGas", "", lambda _: hex(21_001)),
    ("eth_estimateGas", "", lambda gas: hex(int(gas, 16) * 1_000)),
    ("eth_maxPriorityFeePerGas", "", lambda _: hex(10_000 * GWEI)),
    ("eth_getTransactionCount", "", _other),
)


def _lying(method: str, field: str, change: Callable[[Any], Any]) -> NodeFault:
    def lie(_: list[Any], true: Any) -> Any:
        return true and (true | {field: change(true[field])} if field else change(true))

    return lambda node: node.lies(method, lie)


def _options() -> list[Options]:
    """Return one run for each database and engine; they share the seconds."""
    parser = ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="of faults, in all runs")
    parser.add_argument("--seed", default="", help="repeats a run, as far as timing allows")
    parser.add_argument("--database", choices=("", *DATABASES), default="")
    parser.add_argument("--engine", choices=("", *ENGINES), default="")
    given = parser.parse_args()
    databases = [given.database] if given.database else DATABASES
    chosen = list(product(databases, [given.engine] if given.engine else ENGINES))
    seed, seconds = given.seed or secrets.token_hex(4), given.seconds / len(chosen)
    return [Options(seed, seconds, *each) for each in chosen]


if __name__ == "__main__":
    sys.exit(main())
