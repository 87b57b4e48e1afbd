"""What the settings of Celery must be."""

import pytest

from queries.engines.with_celery import app
from tests.commands import PRODUCTION, Manage

pytestmark = pytest.mark.no_database


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
