"""Requests with the same Idempotency-Key make one batch."""

import json

import pytest

from queries.models import Batch, Query
from tests.accounts.concurrency import all_at_once
from tests.queries.api.served_api import HERE, SEPOLIA, make_key, record_head, submit, submitted
from tests.queries.schema.example_batches import BALANCE, LEGACY, block_batch

pytestmark = pytest.mark.urls(HERE)
KEY = {"idempotency-key": "0d6ff3b2-5a63-4a5c-8b5e-0f7b6f0e6c11"}


@pytest.mark.django_db
def test_the_same_key_and_batch_give_the_same_id() -> None:
    key = make_key()
    first = submit(key, LEGACY, **KEY).json()
    assert submit(key, LEGACY, **KEY).json() == first
    # With another API key of the account, in another order, and with a newer head.
    other_order = dict(reversed(json.loads(LEGACY).items()))
    record_head(SEPOLIA, number=1, timestamp=1)
    assert submitted(make_key(), other_order, **KEY) == first["internalId"]
    assert (Batch.objects.count(), Query.objects.count()) == (1, 3)


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["", "ä", 256 * "k"])
def test_a_malformed_key_is_refused(text: str) -> None:
    response = submit(make_key(), LEGACY, **{"idempotency-key": text})
    assert (response.status_code, response.json()["code"]) == (400, "idempotency_key_malformed")


@pytest.mark.django_db(transaction=True)
def test_one_of_several_concurrent_batches_is_stored_and_the_others_conflict() -> None:
    key = make_key()
    bodies = [block_batch({"accounts": {f"0x{n:040x}": BALANCE}}) for n in range(10)]
    responses = all_at_once(lambda n: submit(key, bodies[n], **KEY), 10)
    assert sorted(response.status_code for response in responses) == [200] + 9 * [409]
    assert (Batch.objects.count(), Query.objects.count()) == (1, 1)
