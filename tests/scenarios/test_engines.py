"""Provers are woken by a message over Redis or RabbitMQ, and poll without a broker."""

import fcntl
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.commands import free_port
from tests.rigs.anvil import Chain
from tests.rigs.service import Process, Service, wait_until
from tests.scenarios.fixtures import NewService

BROKERS = ("redis://127.0.0.1:6379/9", "amqp://guest:guest@127.0.0.1:5672//")
POLL_SECONDS = 5


def start(service: Service, chain: Chain, broker: str) -> Process:
    """Return the prover."""
    service.settings |= {"PROVER_ENGINE": "celery", "CELERY_BROKER": broker}
    service.add_native_chain(chain)
    service.serve()
    return service.prove()


def require_broker(broker: str) -> None:
    parts = urlsplit(broker)
    try:
        socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=2).close()
    except OSError:
        (pytest.fail if os.environ.get("REQUIRE_BROKERS") else pytest.skip)(f"no broker: {broker}")


@contextmanager
def alone_at(broker: str) -> Iterator[None]:
    """Wait for other test runs on this machine, whose provers would take our messages."""
    lock = Path(tempfile.gettempdir()) / f"tacitus-{os.getuid()}-{urlsplit(broker).port}.lock"
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.mark.parametrize("broker", BROKERS, ids=["Redis", "RabbitMQ"])
def test_a_message_over_a_broker_wakes_a_prover(
    new_service: NewService, chain: Chain, broker: str
) -> None:
    """Sooner than it polls, three times in a row; two provers listen on one machine."""
    require_broker(broker)
    service = new_service()

    def is_done_soon() -> bool:
        begin = time.monotonic()
        service.wait(service.submit_balance(chain.mine(2) - 1))
        return time.monotonic() - begin < POLL_SECONDS / 2

    with alone_at(broker):
        provers = [start(service, chain, broker), service.prove()]
        # On a busy machine a batch may take longer.
        wait_until(lambda: all(is_done_soon() for _ in range(3)))
        assert all(prover.runs for prover in provers), service.logs()
        service.close()


def test_without_a_broker_a_prover_finds_batches_by_polling(
    new_service: NewService, chain: Chain
) -> None:
    service = new_service()
    start(service, chain, f"redis://127.0.0.1:{free_port()}/0")
    service.wait(service.submit_balance(chain.mine(2) - 1))
