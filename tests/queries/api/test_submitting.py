"""A batch is submitted as existing clients do, and is stored whole, once, or not at all."""

import json
from io import BytesIO
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import DatabaseError, connection
from django.test import Client

from accounts.models import Account
from queries.models import Batch, Query
from tests.accounts.concurrency import all_at_once
from tests.queries.api.served_api import (
    HERE,
    LIMITS,
    SEPOLIA,
    WALLET,
    make_key,
    record_head,
    submit,
    submitted,
)
from tests.queries.schema.example_batches import (
    ADDRESS,
    BALANCE,
    LEGACY,
    SPECIFICATION,
    account_batch,
    batch,
    block_batch,
)

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]


def test_probable_mistakes_give_warnings() -> None:
    wrong = ADDRESS.replace("d8da", "D8da")
    response = submit(make_key(), account_batch(BALANCE, wrong) | {"version": 1})
    unknown, capitals = response.json()["warnings"]
    assert unknown["sentence"] == 'Fields that are not known here were ignored: "version".'
    assert capitals["path"] == f"data.11155111.block:5.accounts.{wrong}"
    assert Batch.objects.get().warnings == [unknown, capitals]


BEYOND_400 = "the newest block seen is 100, and blocks up to 400 are accepted."


@pytest.mark.parametrize(
    ("selector", "latest", "reason"),
    [
        ("block:401", "block:400", BEYOND_400),
        (f"block:{2**64 - 1}", "block:400", BEYOND_400),
        (
            "timestamp:8601",
            "timestamp:8600",
            (
                "the newest block seen is from 1970-01-01 01:23:20 UTC, and times up to 1970-01-01 "
                "02:23:20 UTC are accepted. It is expected in about 60 minutes."
            ),
        ),
    ],
)
def test_a_block_beyond_the_head_is_refused_with_the_latest_possible_one(
    selector: str, latest: str, reason: str
) -> None:
    record_head(SEPOLIA, number=100, timestamp=5_000)
    key = make_key()
    body = batch({"SN_SEPOLIA": {selector: {"header": ["NONCE"]}}})
    result = submit(key, body).json()
    assert (result["code"], result["retryable"]) == ("block_beyond_head", True)
    assert result["error"] == f"{selector} is not on chain {SEPOLIA} yet: {reason}"
    assert result["path"] == f"data.SN_SEPOLIA.{selector}"
    assert not Batch.objects.exists()
    submitted(key, block_batch({"header": ["NONCE"]}, latest))


def test_without_a_head_any_storable_block_is_accepted() -> None:
    key = make_key()
    for selector in (f"block:{2**63 - 1}", "timestamp:9999999999"):
        submitted(key, block_batch({"header": ["NONCE"]}, selector))
    result = submit(key, block_batch({"header": ["NONCE"]}, f"block:{2**63}")).json()
    assert result["code"] == "block_beyond_head"
    assert f"block:{2**63 - 1}." in result["error"]


def test_a_batch_is_stored_whole_or_not_at_all() -> None:
    """If the queries cannot be stored, the batch is not stored either."""

    def fail(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith('INSERT INTO "queries_query"'):
            raise DatabaseError("for this test")
        return execute(sql, *rest)

    key = make_key()
    client = Client(raise_request_exception=False)
    with connection.execute_wrapper(fail):
        response = client.post(
            "/submit-batch-query",
            SPECIFICATION,
            content_type="application/json",
            headers={"api-key": key},
        )
    assert (response.status_code, response.json()["code"]) == (500, "internal_error")
    assert not Batch.objects.exists()


def test_a_session_cookie_is_not_an_api_key(settings: LazySettings) -> None:
    """A signed-in browser needs a key too, but no CSRF token."""
    key = make_key()
    client = Client(enforce_csrf_checks=True)
    client.force_login(Account.objects.get(address=WALLET))
    assert settings.SESSION_COOKIE_NAME in client.cookies
    response = client.post("/submit-batch-query", json.loads(SPECIFICATION), "application/json")
    assert (response.status_code, response.json()["code"]) == (401, "key_missing")
    headers = {"api-key": key}
    response = client.post(
        "/submit-batch-query", json.loads(SPECIFICATION), "application/json", headers=headers
    )
    assert response.status_code == 200


# Bodies


class Unread(BytesIO):
    """A body that must not be read."""

    def read(self, *_: object) -> bytes:
        raise AssertionError("the body was read")


class CutOff(BytesIO):
    """A body whose sender disconnects."""

    def read(self, *_: object) -> bytes:
        raise OSError("the connection is gone")


def submit_stream(stream: BytesIO, length: int, address: str = "/submit-batch-query") -> Any:
    environment: dict[str, Any] = {"CONTENT_LENGTH": str(length), "wsgi.input": stream}
    return Client().generic(
        "POST",
        address,
        "{}",
        content_type="application/json",
        headers={"api-key": make_key()},
        **environment,
    )


def test_a_body_that_is_too_large_is_not_read() -> None:
    response = submit_stream(Unread(), LIMITS.body_bytes + 1)
    assert (response.status_code, response.json()["code"]) == (413, "body_too_large")
    with pytest.raises(AssertionError, match="the body was read"):
        submit_stream(Unread(), LIMITS.body_bytes)


def test_a_body_that_ends_early_is_refused() -> None:
    response = submit_stream(CutOff(), 100)
    assert (response.status_code, response.json()["code"]) == (400, "not_json")


# Idempotency keys


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
