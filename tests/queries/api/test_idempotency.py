"""An Idempotency-Key makes one batch of one request, however often it is sent."""

import json

import pytest

from queries.models import Batch, Query
from tests.accounts.concurrency import all_at_once
from tests.queries.api.served_api import (
    HERE,
    OTHER_WALLET,
    SEPOLIA,
    make_key,
    record_head,
    submit,
    submitted,
)
from tests.queries.schema.example_batches import BALANCE, LEGACY, SPECIFICATION, block_batch

pytestmark = pytest.mark.urls(HERE)
KEY = {"idempotency-key": "0d6ff3b2-5a63-4a5c-8b5e-0f7b6f0e6c11"}


@pytest.mark.django_db
def test_the_same_key_and_batch_is_the_same_id() -> None:
    key = make_key()
    first = submit(key, LEGACY, **KEY).json()
    assert submit(key, LEGACY, **KEY).json() == first
    # Of the same account with another key, spelled in another way, and after the chain moved on.
    spelled = json.loads(LEGACY)
    spelled["data"] = {"SN_SEPOLIA": spelled["data"]["11155111"]}
    record_head(SEPOLIA, number=1, timestamp=1)
    assert submitted(make_key(), spelled, **KEY) == first["internalId"]
    assert (Batch.objects.count(), Query.objects.count()) == (1, 3)


@pytest.mark.django_db
def test_the_same_key_with_another_batch_is_a_conflict() -> None:
    key = make_key()
    first = submitted(key, LEGACY, **KEY)
    answer = submit(key, SPECIFICATION, **KEY)
    told = answer.json()
    assert (answer.status_code, told["code"]) == (409, "idempotency_key_reused")
    assert (told["path"], told["retryable"]) == ("Idempotency-Key", False)
    assert first in told["error"]
    assert Batch.objects.count() == 1


@pytest.mark.django_db
def test_anothers_key_is_another() -> None:
    first = submitted(make_key(), LEGACY, **KEY)
    assert submitted(make_key(OTHER_WALLET), SPECIFICATION, **KEY) != first


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["", "a b", "ä", 256 * "k"])
def test_another_text_is_no_key(text: str) -> None:
    answer = submit(make_key(), SPECIFICATION, **{"idempotency-key": text})
    assert (answer.status_code, answer.json()["code"]) == (400, "idempotency_key_malformed")
    assert not Batch.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_of_many_different_at_once_one_is_stored_and_the_others_conflict() -> None:
    key = make_key()
    bodies = [block_batch({"accounts": {f"0x{n:040x}": BALANCE}}) for n in range(10)]
    answers = all_at_once(lambda n: submit(key, bodies[n], **KEY), 10)
    assert sorted(each.status_code for each in answers) == [200] + 9 * [409]
    assert (Batch.objects.count(), Query.objects.count()) == (1, 1)
