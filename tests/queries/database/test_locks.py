"""Locks that database transactions hold until they end."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from queries.models import Batch, Query
from queries.transactions.costs import lock_batches
from tests.queries.api.batch_states import send_transaction
from tests.queries.api.served_api import HERE, SEPOLIA, make_key, submitted

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls(HERE)]


@pytest.mark.skipif(
    connection.vendor == "sqlite",  # it has one writer at a time
    reason="needs PostgreSQL (apt-get install postgresql), named in DATABASE_URL",
)
def test_queries_of_a_locked_batch_can_be_updated() -> None:
    """An update of a row that the same transaction has changed checks its foreign keys at COMMIT.
    If it waited there for a batch, two workers could wait for each other.
    """
    data = {str(SEPOLIA): {"block:5186021": {"header": ["NONCE"]}}}
    content = {"destinationChainId": str(SEPOLIA), "fee": "0", "data": data}
    batch = submitted(make_key(), content)
    sent = send_transaction(batch)

    def update_twice() -> None:
        try:
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute("SET LOCAL lock_timeout = '5s'")
                Query.objects.filter(batch=batch).update(header_transaction=None)
                Query.objects.filter(batch=batch).update(header_transaction=sent)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        assert lock_batches([batch]) == [Batch.objects.get()]
        pool.submit(update_twice).result()
