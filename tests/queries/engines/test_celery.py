"""Celery wakes provers, over RabbitMQ and over Redis; without a broker they look by themselves."""

from pathlib import Path

import pytest

from queries.engines.with_celery import LOOKS_EVERY, app
from tests.commands import PRODUCTION, Manage, free_port
from tests.installation import installation
from tests.queries.engines.woken import BROKERS, alone_on, seconds_to_done

pytestmark = pytest.mark.no_database


@pytest.mark.parametrize("name", BROKERS)
def test_a_message_wakes_a_prover(
    repository: Path, tmp_path: Path, manage: Manage, name: str
) -> None:
    """Sooner than it would have looked by itself, several times in a row."""
    with (
        alone_on(name) as broker,
        installation(
            repository, tmp_path, manage, PROVER_ENGINE="celery", CELERY_BROKER=broker
        ) as it,
    ):
        seconds_to_done(it)  # the first one may come while the prover still connects
        took = [seconds_to_done(it) for _ in range(3)]
    assert max(took) < LOOKS_EVERY / 2, took


def test_without_a_broker_the_batch_is_found_all_the_same(
    repository: Path, tmp_path: Path, manage: Manage
) -> None:
    nobody = f"redis://127.0.0.1:{free_port()}/0"
    variables = {"PROVER_ENGINE": "celery", "CELERY_BROKER": nobody}
    with installation(repository, tmp_path, manage, **variables) as it:
        assert seconds_to_done(it) < 4 * LOOKS_EVERY
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
