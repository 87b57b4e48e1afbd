"""One of two provers ends, by kill -9 at a JSON-RPC call or by SIGTERM: the other one continues."""

import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from tests.rigs.anvil import Chain
from tests.rigs.faulty_node import Fault, NoAnswerError, Node, Question
from tests.rigs.service import BALANCE, HOLDER, SIGNER, Process, Service, accounts, wait_until
from tests.scenarios.fixtures import Install

OTHER = "0x69030ef8C2744b37a096fAf2A4C78B4dAec1308b"


class Killer:
    """Kills the first prover that calls one of these methods, before or after the answer.

    `sent`: only once a transaction was sent.
    """

    def __init__(self, *methods: str, sent: bool, answered: bool) -> None:
        self.methods = methods
        self.answered = answered
        self.killed: Process | None = None
        self._armed = not sent
        self._lock = threading.Lock()

    def fault_of(self, prover: Process, node: Node) -> Fault:
        def fault(question: Question) -> None:
            with self._lock:
                method = question["method"]
                kills = self._armed and method in self.methods and not self.killed
                self._armed |= method == "eth_sendRawTransaction"
                if not kills:
                    return
                self.killed = prover
            if self.answered:
                node.forward(question)
            prover.kill()
            raise NoAnswerError

        return fault


# An hour apart, so that a lease's end tells which of the two provers holds it.
LEASE_SECONDS = (3_600, 7_200)
# As settings, because provers measure them by `eth_estimateGas`, during which others are killed.
MEASURED_GAS = {"new_slot_gas": 22_100, "floor_byte_gas": 40}


class Provers:
    """Two provers of one service, each with its own node."""

    def __init__(self, service: Service, nodes: list[Node]) -> None:
        self.service = service
        self.nodes = nodes
        self._running: list[Process | None] = [None, None]

    def start_both(self) -> list[Process]:
        """Start those that do not run; let the nodes recover."""
        for place, node in enumerate(self.nodes):
            node.recover()
            prover = self._running[place]
            if prover is None or not prover.runs:
                self._running[place] = self.service.prove(
                    ROUTES_FILE=self.service.routes_with(nodes=[node.url]),
                    PROVER_LEASE_SECONDS=str(LEASE_SECONDS[place]),
                )
        return [prover for prover in self._running if prover]

    def expire_leases(self, prover: Process) -> None:
        """Instead of waiting for the end of the leases that a killed prover held."""
        longest = LEASE_SECONDS[self._running.index(prover)]
        now = datetime.now(UTC).replace(tzinfo=None)
        first, last = (now + timedelta(seconds=longest + more) for more in (-1_800, 1_800))
        # That of a chain's poll is short whatever is set; the other prover may poll again as well.
        self.service.execute("UPDATE queries_chainrecord SET lease_until = due_at")
        for table in ("batch", "blockjob", "delivery", "webhookpost"):
            self.service.execute(
                f"UPDATE queries_{table} SET lease_until = '{now}'"
                f" WHERE lease_until BETWEEN '{first}' AND '{last}'"
            )


@pytest.fixture(scope="module")
def provers(install: Install) -> Iterator[Provers]:
    with (
        closing(Chain()) as chain,
        closing(Node(chain)) as first,
        closing(Node(chain)) as second,
        install() as service,
    ):
        service.add_native_chain(chain, **MEASURED_GAS)
        service.set_limits(node_check_interval=1)  # a prover asks again soon after its start
        chain.mine(80)
        service.serve()
        yield Provers(service, [first, second])


def assert_proven_once(
    service: Service, before: int, batches: list[str], facts: list[tuple[str, int]]
) -> None:
    """Check facts and events, and that the batches paid for all transactions since `before`."""
    chain = service.chain
    for account, block in facts:
        proven = service.events("AccountProven(address,uint256,uint8)", int(account, 16), block)
        assert len(proven) == 1
        assert service.field(account, block, BALANCE) == chain.balance(account, block)
    sent = chain.transactions_of(SIGNER)[before:]
    nonces = [int(transaction["nonce"], 16) for transaction in sent]
    assert nonces == list(range(before, before + len(sent)))
    assert all(
        chain.receipt(transaction["hash"])["logs"] for transaction in sent
    )  # every transaction proved something
    spent = sum(int(service.status(batch)["spent"]) for batch in batches)
    assert spent == sum(chain.cost(transaction["hash"]) for transaction in sent)


# Methods, whether only after a transaction was sent, and whether after the answer. Workers that die
# between any two statements are in tests/queries/prover/test_handlers.
POINTS = {
    "eth_getProof": (["eth_getProof"], False, False),
    "eth_estimateGas": (["eth_estimateGas"], False, False),
    "before eth_sendRawTransaction": (["eth_sendRawTransaction"], False, False),
    "after eth_sendRawTransaction": (["eth_sendRawTransaction"], False, True),
    "eth_getTransactionReceipt": (["eth_getTransactionReceipt"], True, False),
    "the read-back": (["eth_call"], True, False),
}


@pytest.mark.parametrize(("methods", "sent", "answered"), POINTS.values(), ids=POINTS)
def test_the_other_prover_finishes_the_work_of_a_killed_one(
    provers: Provers, blocks: Iterator[int], methods: list[str], *, sent: bool, answered: bool
) -> None:
    service, chain = provers.service, provers.service.chain
    before = len(chain.transactions_of(SIGNER))
    killer = Killer(*methods, sent=sent, answered=answered)
    for prover, node in zip(provers.start_both(), provers.nodes, strict=True):
        node.set_fault(killer.fault_of(prover, node))
    first, second = islice(blocks, 2)
    batches = [
        service.submit({31337: {first: accounts(HOLDER, OTHER)}}),
        service.submit({31337: {first: accounts(HOLDER), second: accounts(HOLDER)}}),
    ]
    wait_until(
        lambda: killer.killed and not killer.killed.runs, what="a prover is killed at this call"
    )
    assert killer.killed
    provers.expire_leases(killer.killed)
    service.wait(*batches)
    assert_proven_once(
        service, before, batches, [(HOLDER, first), (OTHER, first), (HOLDER, second)]
    )


def test_the_other_prover_finishes_the_work_of_a_stopped_one(
    provers: Provers, blocks: Iterator[int]
) -> None:
    service, running = provers.service, provers.start_both()
    before = len(service.chain.transactions_of(SIGNER))
    facts = [(HOLDER, block) for block in islice(blocks, 6)]
    for node in provers.nodes:
        node.delay_answers(0.2)
        node.log.requests.clear()
    batches = [service.submit_balance(block) for _, block in facts]

    def busy_provers() -> list[Process]:
        pairs = zip(running, provers.nodes, strict=True)
        return [prover for prover, node in pairs if node.calls["eth_getProof"]]

    wait_until(busy_provers)[0].stop()
    for node in provers.nodes:
        node.recover()
    service.wait(*batches)
    assert_proven_once(service, before, batches, facts)
