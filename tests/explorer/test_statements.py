"""What a stranger sends comes to the database beside the statement, never in it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from accounts.models import Account
from tests.queries.api.served_api import HERE, make_key
from tests.queries.schema.example_batches import LEGACY

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]
SENT = 'hunter2\'); SELECT "%s" --'
BATCH = json.loads(LEGACY) | {
    "webhook": {"url": "https://hunter2.example/?q='--", "headers": {"X-Own": SENT}}
}
# Where it is kept or looked for, so that it comes to the database.
KEPT: dict[str, Callable[[Client, str], Any]] = {
    "a batch": lambda client, key: client.post(
        "/submit-batch-query",
        json.dumps(BATCH),
        content_type="application/json",
        headers={"api-key": key, "idempotency-key": "hunter2--"},
    ),
    "a key's name": lambda client, _: client.post("/keys", {"name": SENT[:20]}),
    "an operator's search": lambda client, _: client.get("/admin/accounts/account/", {"q": SENT}),
}
OTHERS: dict[str, Callable[[Client, str], Any]] = {
    "a search": lambda client, _: client.get("/search", {"q": SENT}),
    "an address": lambda client, _: client.get(f"/explorer/query/{SENT}"),
    "a filter": lambda client, _: client.get("/explorer/batches", {"status": SENT, "cursor": SENT}),
    "a parameter": lambda client, key: client.get(
        "/batch-query-status", {"batchQueryId": SENT}, headers={"api-key": key}
    ),
    "a list": lambda client, key: client.get(
        "/batch-queries", {"cursor": SENT, "status": SENT}, headers={"api-key": key}
    ),
    "an operator's filter": lambda client, _: client.get("/admin/accounts/account/", {SENT: SENT}),
}


@pytest.mark.parametrize("way", [*KEPT, *OTHERS])
def test_what_is_sent_is_in_no_statement(way: str) -> None:
    key, client = make_key(), Client()
    account = Account.objects.get()
    Account.objects.update(is_operator=True)
    client.force_login(account)
    statements, parameters = list[str](), list[str]()

    def watch(run: Any, sql: str, told: Any, many: Any, context: Any) -> Any:
        statements.append(sql)
        parameters.append(repr(told))
        return run(sql, told, many, context)

    with connection.execute_wrapper(watch):
        answer = (KEPT | OTHERS)[way](client, key)
    assert answer.status_code < 500
    assert statements
    assert [sql for sql in statements if "hunter2" in sql.lower()] == []
    assert way in OTHERS or "hunter2" in "".join(parameters)
