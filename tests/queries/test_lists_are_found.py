"""What an account owns is found by an index of its own, however much belongs to others."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from ulid import ULID

from accounts.models import Account
from accounts.wallets import Wallet
from queries.models import Batch, WebhookDelivery
from queries.reading import batches as reading
from queries.reading import deliveries
from queries.statuses import BatchStatus
from tests.queries.api.served_api import OTHER_WALLET, WALLET

pytestmark = pytest.mark.django_db

LISTS: dict[str, Callable[[Account], object]] = {
    "batches_of_an_owner": lambda owner: reading.batches_of(
        owner, status=None, before=str(ULID()), most=50
    ),
    "batches_of_an_owner_by_status": lambda owner: reading.batches_of(
        owner, status=BatchStatus.REJECTED, before=str(ULID()), most=50
    ),
    "deliveries_of_an_owner": lambda owner: deliveries.deliveries_of(
        owner, before=str(ULID()), most=50
    ),
}


def _owner(wallet: str, count: int) -> Account:
    """With as many batches that are told, of which a few are rejected."""
    owner, _ = Account.objects.of_wallet(Wallet(wallet))
    now = timezone.now()
    fresh = [
        Batch(
            id=str(ULID()),
            owner=owner,
            destination=1,
            fee=64 * "0",
            submitted=now,
            status=BatchStatus.REJECTED if number % 50 == 0 else BatchStatus.DONE,
        )
        for number in range(count)
    ]
    Batch.objects.bulk_create(fresh)
    WebhookDelivery.objects.bulk_create(
        WebhookDelivery(id=str(ULID()), batch=batch, owner=owner, created=now) for batch in fresh
    )
    return owner


def _plan(ask: Callable[[], object]) -> str:
    """Of the first statement that is asked, in the database's own words."""
    asked: list[tuple[str, Any]] = []

    def see(execute: Any, sql: str, params: Any, *rest: Any) -> Any:
        asked.append((sql, params))
        return execute(sql, params, *rest)

    with connection.execute_wrapper(see):
        ask()
    explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    with connection.cursor() as cursor:
        cursor.execute(f"{explain} {asked[0][0]}", asked[0][1])
        return "\n".join(str(row) for row in cursor.fetchall())


@pytest.mark.parametrize("index", LISTS)
def test_a_list_is_read_from_its_index_in_its_order(index: str) -> None:
    _owner(OTHER_WALLET, 3_000)
    owner = _owner(WALLET, 100)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    plan = _plan(lambda: LISTS[index](owner))
    (found,) = re.findall(r"(?:USING INDEX|Scan using) (\w+_of_an_owner\w*)", plan)
    assert found == index, plan
