"""A fact counts once for its route, however often it is asked for."""

import pytest

from queries.models import RouteRecord
from queries.reading.chain_objects import record_of
from tests.explorer.on_record import ADDRESS, BLOCK, OTHER, ask, prove
from tests.queries.api.served_api import HERE, OPTIMISM, SEPOLIA

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]


def _facts() -> int:
    return record_of(SEPOLIA, SEPOLIA).facts


def test_each_fact_counts_once() -> None:
    assert _facts() == 0
    prove(ask({ADDRESS: {"props": ["BALANCE", "NONCE"]}}))
    assert _facts() == 2
    prove(ask({ADDRESS: {"props": ["BALANCE"], "slots": ["0x1"]}, OTHER: {"props": ["NONCE"]}}))
    assert _facts() == 4
    prove(ask({ADDRESS: {"props": ["BALANCE"]}}, BLOCK + 1))
    assert _facts() == 5
    prove(ask({ADDRESS: {"props": ["BALANCE"]}}, header=["TIMESTAMP", "GAS_LIMIT"]))
    prove(ask({ADDRESS: {"props": ["BALANCE"]}}, header=["TIMESTAMP"]))
    assert _facts() == 7
    assert record_of(SEPOLIA, OPTIMISM).facts == 0
    assert RouteRecord.objects.count() == 1


def test_the_same_fact_twice_at_once_counts_once() -> None:
    """As two batches' queries are finished together when they wait for one job."""
    first, second = (ask({ADDRESS: {"props": ["BALANCE"]}}) for _ in range(2))
    prove(first)
    prove(second)
    assert _facts() == 1
