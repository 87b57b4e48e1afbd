"""Both engines do the work: provers that poll, and Celery workers over Redis and RabbitMQ."""

import fcntl
import os
import socket
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.commands import free_port
from tests.environment import skip_without
from tests.rigs.anvil import Chain
from tests.rigs.gate import Gate, gate_before
from tests.rigs.receiver import receiver
from tests.rigs.service import HOLDER, SIGNER, Process, Service, accounts, request, wait_until
from tests.scenarios.deliveries import Target, deliveries
from tests.scenarios.fixtures import NewNode, NewService

BROKERS = ("redis://127.0.0.1:6379/9", "amqp://guest:guest@127.0.0.1:5672//")
ENGINES = {"embedded": "", "Redis": BROKERS[0], "RabbitMQ": BROKERS[1]}
PACKAGES = {"redis": "redis-server", "amqp": "rabbitmq-server"}
Start = Callable[[], Process]


def require_broker(broker: str) -> None:
    parts = urlsplit(broker)
    try:
        socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=2).close()
    except OSError:
        package = PACKAGES[parts.scheme]
        skip_without(f"{package} at {parts.hostname}:{parts.port} (apt-get install {package})")


@contextmanager
def alone_at(broker: str) -> Iterator[None]:
    """Wait for other test runs on this machine, whose workers would take our messages."""
    lock = Path(tempfile.gettempdir()) / f"tacitus-{os.getuid()}-{urlsplit(broker).scheme}.lock"
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def installed(service: Service, chain: Chain, broker: str, *nodes: str) -> Iterator[Start]:
    """A web server; yield what starts a prover of the engine, without beat."""
    service.settings["ALLOW_PRIVATE_WEBHOOKS"] = "1"
    service.add_native_chain(chain, *nodes)
    if not broker:
        service.serve()
        yield service.prove
        return
    require_broker(broker)
    service.settings |= {"PROVER_ENGINE": "celery", "CELERY_BROKER": broker}
    with alone_at(broker), closing(service):
        service.serve()
        yield service.work


@pytest.fixture(params=ENGINES)
def broker(request: pytest.FixtureRequest) -> str:
    """The broker's URL; empty for the embedded engine."""
    return ENGINES[request.param]


celery_broker = pytest.mark.parametrize("broker", BROKERS, ids=["Redis", "RabbitMQ"])


def test_two_provers_prove_a_batch_within_seconds(
    new_service: NewService, chain: Chain, broker: str
) -> None:
    """Within a second or so, three times in a row; two provers run on one machine."""
    service = new_service()

    def is_done_soon() -> bool:
        batch = service.submit_balance(chain.mine(2) - 1)
        deadline = time.monotonic() + 2.5
        while (status := service.status(batch)["queryStatus"]) == "IN_PROGRESS":
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return bool(status == "DONE")

    with installed(service, chain, broker) as start:
        provers = [start(), start()]
        # On a busy machine a batch may take longer.
        wait_until(lambda: all(is_done_soon() for _ in range(3)))
        assert all(prover.runs for prover in provers), service.logs()


def test_batches_are_delivered_in_order_and_feeds_run(
    new_service: NewService, chain: Chain, broker: str
) -> None:
    """Deliveries need no beat."""
    service = new_service()
    service.settings["FEED_SECONDS"] = "1"
    service.set_limits(poll_interval=0.5)
    chain.deploy("Courier", by_factory=True)
    target = Target(chain)
    refusal = {"to": target.address, "function": "setRefuses(bool)", "args": [True]}
    with installed(service, chain, broker) as start:
        start()
        calls = [target.balance_call(), {**refusal, "gas": "60000"}, target.balance_call()]
        service.wait(batch := service.submit_balance(chain.mine(2) - 1, deliver=calls))

        def is_refused() -> bool:
            return bool(deliveries(service, batch)[2]["waitCode"] == "contract_refuses")

        wait_until(is_refused, what=lambda: str(deliveries(service, batch)))
        states = [row["state"] for row in deliveries(service, batch)]
        assert states == ["DELIVERED", "DELIVERED", "WAITING"]
        assert target.read("count()") == 1

        if broker:
            service.beat()
        willing = Target(chain)
        due = request({31337: {"block:$due": accounts(HOLDER)}})
        due["deliver"] = [willing.balance_call()]
        content = {"every": "10 blocks", "catchUp": "all", "batch": due}

        def make() -> str:
            """Empty until a prover has read the chain's head, and seen blocks at a pace at which a
            feed may run every ten: those of transactions come faster.
            """
            chain.mine()
            return str(service.post("/feeds", content).json().get("nextDue", ""))

        first = int(wait_until(make).removeprefix("block:"))
        chain.mine(first + 12 - chain.head)
        wait_until(lambda: willing.read("count()") == 2)
        assert service.is_proven(HOLDER, first)
        assert service.is_proven(HOLDER, first + 10)


def test_another_prover_goes_on_if_one_is_killed_in_mid_proof(
    new_service: NewService, chain: Chain, new_node: NewNode, broker: str
) -> None:
    service, node = new_service(), new_node(chain)
    with installed(service, chain, broker, node.url) as start:
        prover = start()
        service.wait(service.submit_balance(chain.mine(2) - 1))
        proofs = node.calls["eth_getProof"]
        node.falsify("eth_getProof", lambda *_: time.sleep(60))
        batch = service.submit_balance(chain.mine(2) - 1)
        wait_until(lambda: node.calls["eth_getProof"] > proofs)
        prover.kill()
        node.recover()
        start()
        if broker:
            service.beat()  # sees the end of the lease
        service.wait(batch)
        assert len(chain.transactions_of(SIGNER)) == 2


def test_work_goes_on_without_beat_after_a_claim_failed(
    new_service: NewService, chain: Chain, broker: str
) -> None:
    service = new_service()
    with installed(service, chain, broker) as start:
        prover = start()
        batch = service.submit_balance(chain.mine(2))
        wait_until(lambda: service.status(batch)["waitCode"] == "block_not_final")
        service.execute("ALTER TABLE queries_batch RENAME TO queries_away")
        prover.await_log("queries_batch")  # the error names the missing table
        service.execute("ALTER TABLE queries_away RENAME TO queries_batch")
        chain.mine()
        service.wait(batch)


def test_a_database_that_is_lost_in_mid_proof_is_named_as_the_reason(
    new_service: NewService, chain: Chain, new_node: NewNode, broker: str
) -> None:
    service, node = new_service(), new_node(chain)
    is_postgres = service.database.startswith("postgres")
    if is_postgres:
        error = "terminating connection"
        end_pass = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND query LIKE 'UPDATE \"queries_blockjob\"%'"
        )
    else:
        error = "no such table: queries_noderecord"
        end_pass = "ALTER TABLE queries_noderecord RENAME TO queries_away"

    def lose_database(_: object, proof: object) -> object:
        with suppress(sqlite3.OperationalError):  # it is renamed already
            service.execute(end_pass)
        return proof

    with installed(service, chain, broker, node.url) as start:
        node.falsify("eth_getProof", lose_database)
        prover = start()
        batch = service.submit_balance(chain.mine(2) - 1)
        service.wait_for(batch, "database_unavailable")
        prover.await_log(f"The database cannot be used: {error}")
        node.recover()
        if not is_postgres:
            service.execute("ALTER TABLE queries_away RENAME TO queries_noderecord")
        service.wait(batch)
        assert "Unexpected error" not in prover.log


@celery_broker
def test_beat_finds_due_work_without_a_message(
    new_service: NewService, chain: Chain, broker: str
) -> None:
    service = new_service()
    with installed(service, chain, broker) as start, receiver() as hook:
        service.serve(PROVER_ENGINE="embedded")  # sends no messages
        start()
        beat = service.beat()
        service.wait(service.submit_balance(chain.mine(2) - 1, webhook={"url": hook.url}))
        beat.kill()
        batch = service.submit_balance(chain.mine(2) - 1)
        beat.restart()
        beat.await_log("is starting")
        beat.await_signal_handler()
        service.beat()  # a second one does no harm
        service.wait(batch)


@celery_broker
def test_work_goes_on_when_the_broker_is_back(
    new_service: NewService, chain: Chain, broker: str
) -> None:
    """Meanwhile batches are accepted, and workers keep running. Beat says once what it waits for,
    although it sends each kind of message every two seconds, and can be stopped.
    """
    require_broker(broker)
    service = new_service()
    with gate_before(broker) as (gate, url), installed(service, chain, url):
        worker, beat = service.work(), service.beat()
        service.wait(service.submit_balance(chain.mine(2) - 1))
        gate.shut()
        batch = service.submit_balance(chain.mine(2) - 1)
        time.sleep(5)
        assert service.status(batch)["queryStatus"] == "IN_PROGRESS"
        gate.open()
        service.wait(batch)
        assert worker.runs, service.logs()
        assert beat.runs, service.logs()
        assert "Traceback" not in beat.log
        lines = [line for line in beat.log.splitlines() if "Beat cannot announce work" in line]
        assert len(lines) <= 2, lines  # one for each way to lose the connection
        gate.stall()
        wait_until(lambda: gate.holds_data)
        beat.stop()
        gate.shut()
        gate.open()  # for the worker, which ends what it does


@celery_broker
def test_a_worker_keeps_running_if_the_broker_is_lost_in_mid_proof(
    new_service: NewService, chain: Chain, new_node: NewNode, broker: str
) -> None:
    """The message of a running task cannot be acknowledged then."""
    require_broker(broker)
    service, node = new_service(), new_node(chain)

    def lose_broker(gate: Gate) -> str:
        proofs, answer = node.calls["eth_getProof"], threading.Event()

        def wait_for_answer(_: object, proof: object) -> object:
            answer.wait(10)
            return proof

        node.falsify("eth_getProof", wait_for_answer)
        batch = service.submit_balance(chain.mine(2) - 1)
        wait_until(lambda: node.calls["eth_getProof"] > proofs)
        gate.shut()
        time.sleep(1)
        answer.set()
        node.recover()
        gate.open()
        return batch

    with gate_before(broker) as (gate, url), installed(service, chain, url, node.url):
        worker = service.work("--beat")
        service.wait(service.submit_balance(chain.mine(2) - 1))
        for _ in range(4):
            service.wait(lose_broker(gate))
        assert worker.runs, worker.log


@celery_broker
def test_each_queue_can_have_its_own_worker(
    new_service: NewService, chain: Chain, new_node: NewNode, broker: str
) -> None:
    """One that delivers webhooks has no signer's key. Threads work as processes do.

    A task that ends because it took long announces webhooks too.
    """
    service, node = new_service(), new_node(chain)

    def answer_late(_: object, receipt: object) -> object:
        time.sleep(1.5)
        return receipt

    with installed(service, chain, broker, node.url), receiver() as hook:
        node.falsify("eth_getTransactionReceipt", answer_late)
        service.work("--queues", "tacitus-proving", "--pool", "threads")
        batch = service.submit_balance(chain.mine(2) - 1, webhook={"url": hook.url})
        service.wait(batch)
        assert not hook.accepted
        threads = ("--pool", "threads", "--concurrency", "4")
        service.work("--queues", "tacitus-webhooks", *threads, SIGNER_KEY="")
        wait_until(lambda: hook.accepted)


def test_without_a_broker_a_prover_finds_batches_by_polling(
    new_service: NewService, chain: Chain
) -> None:
    """`run_prover` works beside Celery's workers, too."""
    service = new_service()
    service.settings |= {
        "PROVER_ENGINE": "celery",
        "CELERY_BROKER": f"redis://127.0.0.1:{free_port()}/0",
    }
    service.add_native_chain(chain)
    service.serve()
    service.start("run_prover")
    service.wait(service.submit_balance(chain.mine(2) - 1))
