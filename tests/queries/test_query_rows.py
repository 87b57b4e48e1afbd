"""Many rows at once: each gets what is its own, and no other row or column is touched."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Account
from accounts.wallets import Wallet
from queries import query_rows
from queries.models import Batch, Query
from tests.queries.api.served_api import WALLET

pytestmark = pytest.mark.django_db

MANY = 1_200  # times two columns: more values than SQLite takes in a statement by Django


@pytest.fixture
def queries() -> list[Query]:
    now = timezone.now()
    owner, _ = Account.objects.of_wallet(Wallet(WALLET))
    batch = Batch.objects.create(
        id=f"01{0:024}", owner=owner, destination=1, fee="", submitted=now, request_digest=""
    )
    some = (
        Query(batch=batch, place=place, source=1, block=place, initial_state_began=now)
        for place in range(MANY)
    )
    query_rows.insert(list(some))
    return list(Query.objects.order_by("place"))


def test_each_row_gets_its_own_and_keeps_the_rest(queries: list[Query]) -> None:
    *changed, last = queries
    for query in changed:
        query.values = {"BALANCE": f"{query.place:064x}", "O'Hara": '"%s" \\ ☃'}
        query.cost = f"{query.place:064x}"
        query.block = 10**9  # which is not named
    changed[0].values = None
    with CaptureQueriesContext(connection) as said:
        query_rows.update(changed, ["values", "cost"])
    assert len(said) == 1
    found = list(Query.objects.order_by("place"))
    assert [each.block for each in found] == list(range(MANY))
    assert [(each.values, each.cost) for each in found] == [
        *((each.values, each.cost) for each in changed),
        (None, ""),
    ]
    assert found[-1].pk == last.pk
    assert Query.objects.filter(values__isnull=True).count() == 2


def test_none_is_none(queries: list[Query]) -> None:
    query_rows.update([], ["values"])
    query_rows.insert([])
    assert Query.objects.count() == len(queries)
