"""Brokers that run on this machine, and how soon a prover is woken over one."""

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
import requests

from explorer.environment import Environment
from tests.installation import HOLDER, Installation
from tests.queries.pipeline.service import CHAIN_ID

BROKERS = {
    "RabbitMQ": "amqp://guest:guest@127.0.0.1:5672//",
    "Redis": "redis://127.0.0.1:6379/9",
}


@contextmanager
def alone_on(name: str) -> Iterator[str]:
    """The broker's address, where it answers. A message wakes one prover of all that listen there,
    so that two tests at once would take each other's.
    """
    _see_that_it_answers(name)
    with (Path(tempfile.gettempdir()) / f"tacitus-tests-on-{name}").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield BROKERS[name]


def _see_that_it_answers(name: str) -> None:
    parts = urlsplit(BROKERS[name])
    try:
        socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=2).close()
    except OSError:
        reason = f"no {name} answers at {parts.hostname}:{parts.port}"
        if Environment(os.environ).flag("REQUIRE_BROKERS"):
            pytest.fail(reason)
        pytest.skip(reason)


def seconds_to_done(it: Installation) -> float:
    """From submitting a balance of a new block."""
    it.node.rpc.ask("anvil_mine", "0x2")
    block = int(it.node.rpc.ask("eth_blockNumber"), 16) - 1
    entry = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
    batch = {
        "destinationChainId": str(CHAIN_ID),
        "fee": "0",
        "data": {str(CHAIN_ID): {f"block:{block}": entry}},
    }
    headers = {"api-key": it.key}
    begin = time.monotonic()
    sent = requests.post(f"{it.address}/submit-batch-query", json=batch, headers=headers, timeout=9)
    params = {"batchQueryId": sent.json()["internalId"], "details": "0"}
    while time.monotonic() < begin + 60:
        told = requests.get(
            f"{it.address}/batch-query-status", params=params, headers=headers, timeout=9
        ).json()
        if told["queryStatus"] == "DONE":
            return time.monotonic() - begin
        time.sleep(0.05)
    raise AssertionError(told)
