"""Faults of programs, the database, the broker, the receiver, chains and nodes."""

import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from typing import Any

import psycopg

from tests.chaos.background import in_background
from tests.chaos.clients import FEE
from tests.chaos.feeds import ACCOUNT, WATCHED_CHAIN, Feeds
from tests.chaos.installation import FINALITY, NODES, A, B, Installation, send
from tests.rigs.anvil import Chain
from tests.rigs.faulty_node import Node
from tests.rigs.service import SIGNER, Process

MAX_FAULT_SECONDS = 6  # in a run of two minutes or more


GWEI = 10**9
PAYER_OF_CHANGES = 6  # of the node's accounts
END_CONNECTIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid != pg_backend_pid()"
)
# What programs print once they run. If the database fails before, they end, and systemd or Docker
# starts them again.
STARTED = {"web server": "Listening at", "signer": "Signing as", "beat": "is starting"}
Fault = Callable[[random.Random], None]  # starts and ends it
NodeError = Callable[[Node], None]  # starts it


class Faults:
    """Four lanes of faults at once: programs, reorgs, and the nodes of A and of B.

    A lane runs all its faults in an order that depends on the seed, again and again.
    """

    def __init__(self, installation: Installation, feeds: Feeds) -> None:
        self._installation, self._feeds = installation, feeds
        self._max_seconds = min(installation.options.seconds / 20, MAX_FAULT_SECONDS)
        self._ended = threading.Event()
        self.problems: list[str] = []

    def run(self) -> None:
        lanes: tuple[tuple[list[Fault], float], ...] = (
            (self._program_faults(), 2.5),
            (self._reorgs(), 4),
            (self._node_faults(A), 1),
            (self._node_faults(B), 1),
        )
        with ExitStack() as stack:
            for number, lane in enumerate(lanes):
                stack.enter_context(in_background(partial(self._run_lane, number, *lane)))
            stack.callback(self._ended.set)  # end all lanes at once
            time.sleep(self._installation.options.seconds)

    def _run_lane(self, lane: int, faults: list[Fault], pause: float, _: threading.Event) -> None:
        """`pause`: average seconds between two faults."""
        chance = random.Random(f"{self._installation.options.seed} {lane}")
        remaining: list[Fault] = []
        while not self._ended.is_set():
            remaining = remaining or chance.sample(faults, len(faults))
            remaining.pop()(chance)
            self._ended.wait(chance.uniform(0.5, 1.5) * pause)

    def _wait(self, chance: random.Random) -> None:
        self._ended.wait(chance.uniform(0.2, 1) * self._max_seconds)

    def _program_faults(self) -> list[Fault]:
        is_sqlite = self._installation.options.database == "sqlite"
        fail_database = self._lock_database if is_sqlite else self._end_connections
        kills = [
            partial(self._kill, *named_program)
            for named_program in self._installation.programs.items()
        ]
        fail_broker = [self._fail_broker] if self._installation.broker else []
        return [*kills, fail_database, *fail_broker, self._fail_receiver, self._refuse_deliveries]

    def _kill(self, name: str, program: Process, chance: random.Random) -> None:
        if not program.runs:
            self.problems.append(f"{name} had ended before: {program.log[-500:]}")
        program.kill()
        self._wait(chance)
        program.restart()
        prover_started = "[queues]" if self._installation.broker else "Proving on"
        with suppress(AssertionError):  # the check of programs reports it
            program.await_log(STARTED.get(name, prover_started))

    def _lock_database(self, chance: random.Random) -> None:
        file = self._installation.service.database.removeprefix("sqlite:///")
        with closing(sqlite3.connect(file, timeout=60, isolation_level=None)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            self._wait(chance)

    def _end_connections(self, chance: random.Random) -> None:
        deadline = time.monotonic() + chance.uniform(0.2, 1) * self._max_seconds
        with psycopg.connect(self._installation.service.database, autocommit=True) as connection:
            while time.monotonic() < deadline:
                connection.execute(END_CONNECTIONS)
                self._ended.wait(0.2)

    def _fail_broker(self, chance: random.Random) -> None:
        broker = self._installation.broker
        assert broker is not None
        broker.shut()
        self._wait(chance)
        broker.open()

    def _fail_receiver(self, chance: random.Random) -> None:
        self._installation.receiver.statuses = [503]
        self._wait(chance)
        self._installation.receiver.statuses = [200]

    def _refuse_deliveries(self, chance: random.Random) -> None:
        self._feeds.are_refused = True
        self._wait(chance)
        self._feeds.are_refused = False

    def _reorgs(self) -> list[Fault]:
        return [*(partial(self._reorganise, chain) for chain in (A, B)), self._reorganise_change]

    def _reorganise(self, chain_id: int, chance: random.Random) -> None:
        """Replace the last blocks by empty ones, which are closer to each other."""
        with self._without_mining(chain_id) as chain:
            self._drop_blocks(chain, chance.randrange(1, FINALITY))

    def _reorganise_change(self, chance: random.Random) -> None:
        """Replace the block of a change of the value that a feed watches, after provers have read
        it. Half of the times the change comes again, in a later block.
        """
        with self._without_mining(WATCHED_CHAIN) as chain:
            payment = {"to": ACCOUNT, "value": hex(chance.randrange(1, GWEI))}
            send(chain, PAYER_OF_CHANGES, payment)
            chain.mine()
            self._ended.wait(3)  # some polls
            self._drop_blocks(chain, chance.randrange(1, 3))
            if chance.random() < 0.5:
                send(chain, PAYER_OF_CHANGES, payment)

    @contextmanager
    def _without_mining(self, chain_id: int) -> Iterator[Chain]:
        chain = self._installation.chains[chain_id]
        chain.rpc("anvil_setIntervalMining", 0)  # stop mining
        try:
            # If Anvil still made a block during the reorg, the chain would lack another one.
            time.sleep(0.5)
            chain.mine()
            yield chain
        finally:
            self._installation.mine_every_second(chain)

    def _drop_blocks(self, chain: Chain, depth: int) -> None:
        # Pending transactions may depend on replaced blocks, such as the L1 block that B knows.
        pool = chain.rpc("txpool_content").values()
        sent = [pending for state in pool for pending in state.get(SIGNER.lower(), {}).values()]
        sent += chain.transactions_of(SIGNER, since=chain.head - depth + 1)
        nonces = {(chain.id, int(transaction["nonce"], 16)) for transaction in sent}
        self._installation.reorganised |= nonces
        block_seconds = self._installation.block_seconds * 3 // 4
        chain.rpc("anvil_setBlockTimestampInterval", block_seconds)
        chain.reorganise(depth)

    def _node_faults(self, chain: int) -> list[Fault]:
        """All nodes fail, or one fails or lies."""
        nodes, other = self._installation.nodes[chain], self._installation.chains[A + B - chain]
        failures: list[NodeError] = [
            Node.hang_up,
            lambda node: node.delay_answers(60),
            lambda node: node.fail_with(429),
            lambda node: node.fail_with(503),
        ]
        lies: list[NodeError] = [
            lambda node: node.fall_behind(node.chain.head - 6),
            lambda node: node.impersonate(other),
            Node.make_up_head,
            Node.drop_transactions,
            *(_node_lie(*lie) for lie in LIES),
        ]
        single: list[Fault] = [
            partial(self._run_node_fault, nodes, 1, begin) for begin in failures + lies
        ]
        # The first node is asked first, so its receipts are the ones that are stored.
        single += [
            partial(self._run_node_fault, nodes[:1], 1, _node_lie(*lie)) for lie in COST_LIES
        ]
        return single + [partial(self._run_node_fault, nodes, NODES, begin) for begin in failures]

    def _run_node_fault(
        self, nodes: list[Node], count: int, begin: NodeError, chance: random.Random
    ) -> None:
        faulty = chance.sample(nodes, count)
        for node in faulty:
            begin(node)
        self._wait(chance)
        for node in faulty:
            node.recover()


def _change_digit(text: str) -> str:
    """Change the last digit of a hex string."""
    return text[:-1] + f"{int(text[-1], 16) ^ 1:x}" if len(text) > 2 else text


# A method, the field of its result that is changed (all of it if empty), and the change.
LIES: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    ("eth_getProof", "accountProof", lambda nodes: [_change_digit(node) for node in nodes]),
    ("eth_getProof", "balance", _change_digit),
    ("eth_getBlockByNumber", "stateRoot", _change_digit),
    ("eth_getBlockByNumber", "hash", _change_digit),
    ("eth_getBlockByNumber", "baseFeePerGas", lambda _: hex(90 * GWEI)),
    ("eth_getTransactionReceipt", "", lambda _: None),
    ("eth_getTransactionReceipt", "blockNumber", lambda _: hex(10**6)),
    ("eth_call", "", _change_digit),
    ("eth_estimateGas", "", lambda _: hex(21_001)),
    ("eth_estimateGas", "", lambda gas: hex(int(gas, 16) * 1_000)),
    ("eth_maxPriorityFeePerGas", "", lambda _: hex(10_000 * GWEI)),
    ("eth_getTransactionCount", "", _change_digit),
)
RECEIPT = "eth_getTransactionReceipt"
COST_LIES: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    (RECEIPT, "l1Fee", lambda _: hex(FEE)),
    (RECEIPT, "effectiveGasPrice", lambda price: hex(2 * int(price, 16))),
    (RECEIPT, "effectiveGasPrice", lambda _: "0x0"),
    (RECEIPT, "gasUsed", lambda gas: hex(int(gas, 16) - 1)),
)


def _node_lie(method: str, field: str, change: Callable[[Any], Any]) -> NodeError:
    def lie(_: list[Any], true: Any) -> Any:
        return true and (true | {field: change(true.get(field))} if field else change(true))

    return lambda node: node.falsify(method, lie)
