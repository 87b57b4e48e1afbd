"""Celery wakes provers, over RabbitMQ and over Redis; without a broker they look by themselves."""

import os
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from explorer.environment import Environment
from queries.engines.with_celery import LOOKS_EVERY, app
from tests.commands import PRODUCTION, Manage, free_port
from tests.installation import HOLDER, Installation, installation
from tests.queries.pipeline.service import CHAIN_ID

pytestmark = pytest.mark.no_database

BROKERS = {
    "RabbitMQ": "amqp://guest:guest@127.0.0.1:5672//",
    "Redis": "redis://127.0.0.1:6379/9",
}


def _needed(name: str) -> str:
    """The broker's address, where it answers."""
    parts = urlsplit(BROKERS[name])
    try:
        socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=2).close()
    except OSError:
        reason = f"no {name} answers at {parts.hostname}:{parts.port}"
        if Environment(os.environ).flag("REQUIRE_BROKERS"):
            pytest.fail(reason)
        pytest.skip(reason)
    return BROKERS[name]


def _seconds_to_done(it: Installation) -> float:
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


@pytest.mark.parametrize("name", BROKERS)
def test_a_message_wakes_a_prover(
    repository: Path, tmp_path: Path, manage: Manage, name: str
) -> None:
    """Sooner than it would have looked by itself, several times in a row."""
    variables = {"PROVER_ENGINE": "celery", "CELERY_BROKER": _needed(name)}
    with installation(repository, tmp_path, manage, **variables) as it:
        _seconds_to_done(it)  # the first one may come while the prover still connects
        took = [_seconds_to_done(it) for _ in range(3)]
    assert max(took) < LOOKS_EVERY / 2, took


def test_without_a_broker_the_batch_is_found_all_the_same(
    repository: Path, tmp_path: Path, manage: Manage
) -> None:
    nobody = f"redis://127.0.0.1:{free_port()}/0"
    variables = {"PROVER_ENGINE": "celery", "CELERY_BROKER": nobody}
    with installation(repository, tmp_path, manage, **variables) as it:
        assert _seconds_to_done(it) < 4 * LOOKS_EVERY
    assert "The broker does not answer" in (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    "address", ["foo://hunter2@h", "hunter2", "redis://", "amqp://u:hunter2/3@h:5672//"]
)
def test_what_is_no_brokers_address_is_one_sentence(manage: Manage, address: str) -> None:
    ended = manage("check", **PRODUCTION, PROVER_ENGINE="celery", CELERY_BROKER=address)
    assert ended.returncode == 1
    assert ended.stderr == (
        "Tacitus cannot start. CELERY_BROKER is no broker's address. Set it to an address such as "
        "amqp://user:password@host// or redis://host:6379/0.\n"
    )


def test_a_broker_that_is_gone_for_long_is_still_tried() -> None:
    """After the hundred times that Celery tries by itself the prover would end."""
    assert app.conf.broker_connection_max_retries is None


def test_a_missing_broker_is_one_sentence(manage: Manage) -> None:
    ended = manage("check", **PRODUCTION, PROVER_ENGINE="celery")
    assert ended.returncode == 1
    assert ended.stderr.startswith("Tacitus cannot start. PROVER_ENGINE is celery, and")
