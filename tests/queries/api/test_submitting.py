"""A batch goes in as existing clients send it, and is stored whole or not at all."""

import json
import re
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import DatabaseError, connection
from django.test import Client

from accounts.models import Account
from queries.models import Batch
from tests.queries.api.served_api import (
    HERE,
    OPTIMISM,
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


@pytest.mark.parametrize("body", [SPECIFICATION, LEGACY])
@pytest.mark.parametrize("place", ["header", "parameter", "both"])
def test_what_existing_clients_send(body: str, place: str) -> None:
    key = make_key()
    address = "/submit-batch-query" + (f"?apiKey={key}" if place != "header" else "")
    headers = {"api-key": key} if place != "parameter" else {}
    answer = Client().post(address, body, content_type="application/json", headers=headers)
    told = answer.json()
    assert answer.status_code == 200
    assert re.fullmatch("[0-7][0-9A-HJKMNP-TV-Z]{25}", told["internalId"])
    assert answer["RateLimit-Remaining"] == "599"
    assert Batch.objects.get().id == told["internalId"]


def test_what_is_probably_a_mistake_is_reported() -> None:
    wrong = ADDRESS.replace("d8da", "D8da")
    answer = submit(make_key(), account_batch(BALANCE, wrong) | {"version": 1})
    unknown, capitals = answer.json()["warnings"]
    assert unknown["sentence"] == 'Fields that are not known here were ignored: "version".'
    assert capitals["path"] == f"data.11155111.block:5.accounts.{wrong}"
    assert Batch.objects.get().warnings == [unknown, capitals]


@pytest.mark.parametrize("free", [True, False])
def test_no_fee_is_taken_where_proving_is_free(*, free: bool) -> None:
    to = SEPOLIA if free else OPTIMISM
    body = batch({"11155111": {"block:5": {"header": ["NONCE"]}}}, destinationChainId=str(to))
    answer = submit(make_key(), body)
    assert (answer.status_code == 200) is free
    if not free:
        told = answer.json()
        assert (told["code"], told["path"], told["retryable"]) == ("fee_too_low", "fee", False)
        submitted(make_key(), body | {"fee": "1"})


@pytest.mark.parametrize(
    ("selector", "latest"),
    [("block:401", "block:100"), ("timestamp:8601", "timestamp:5000"),
     (f"block:{2**64 - 1}", "block:100")],
)  # fmt: skip
def test_a_block_beyond_the_last_head_is_reported_with_the_latest_that_works(
    selector: str, latest: str
) -> None:
    record_head(SEPOLIA, number=100, timestamp=5_000)
    key = make_key()
    body = batch({"SN_SEPOLIA": {selector: {"header": ["NONCE"]}}})
    told = submit(key, body).json()
    assert (told["code"], told["retryable"]) == ("block_beyond_head", True)
    assert told["error"] == (
        f"{selector} is not on chain {SEPOLIA} yet: the newest one seen is {latest}."
    )
    assert told["path"] == f"data.SN_SEPOLIA.{selector}"
    assert not Batch.objects.exists()
    submitted(key, block_batch({"header": ["NONCE"]}, latest))


def test_without_a_head_whatever_can_be_kept_is_accepted() -> None:
    key = make_key()
    for selector in (f"block:{2**63 - 1}", "timestamp:9999999999"):
        submitted(key, block_batch({"header": ["NONCE"]}, selector))
    told = submit(key, block_batch({"header": ["NONCE"]}, f"block:{2**63}")).json()
    assert told["code"] == "block_beyond_head"
    assert f"block:{2**63 - 1}." in told["error"]


def test_a_batch_is_stored_whole_or_not_at_all() -> None:
    """The rows of the accounts fail, so the batch is not there either."""

    def fail(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith('INSERT INTO "queries_query"'):
            raise DatabaseError("for this test")
        return execute(sql, *rest)

    key = make_key()
    client = Client(raise_request_exception=False)
    with connection.execute_wrapper(fail):
        answer = client.post(
            "/submit-batch-query",
            SPECIFICATION,
            content_type="application/json",
            headers={"api-key": key},
        )
    assert (answer.status_code, answer.json()["code"]) == (500, "fault_of_ours")
    assert not Batch.objects.exists()


def test_a_cookie_is_no_key(settings: LazySettings) -> None:
    """Whoever is signed in shows a key like everyone else, and needs no token of a form."""
    key = make_key()
    client = Client(enforce_csrf_checks=True)
    client.force_login(Account.objects.get(address=WALLET))
    assert settings.SESSION_COOKIE_NAME in client.cookies
    answer = client.post("/submit-batch-query", json.loads(SPECIFICATION), "application/json")
    assert (answer.status_code, answer.json()["code"]) == (401, "key_missing")
    headers = {"api-key": key}
    answer = client.post(
        "/submit-batch-query", json.loads(SPECIFICATION), "application/json", headers=headers
    )
    assert answer.status_code == 200
