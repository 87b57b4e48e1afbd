"""The status of a batch, without and with its queries."""

from typing import Any

import pytest

from queries.models import BlockJob, Query
from queries.statuses import BatchStatus
from tests.queries.api.batch_states import set_status
from tests.queries.api.served_api import (
    HERE,
    OTHER_WALLET,
    SEPOLIA,
    ask,
    make_key,
    submit,
    submitted,
)
from tests.queries.schema.example_batches import BALANCE, LEGACY, SPECIFICATION, block_batch

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]
ADDRESS = "/batch-query-status"


def status(key: str, batch_id: str, **parameters: str | int) -> Any:
    return ask(key, ADDRESS, batchQueryId=batch_id, **parameters)


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        (BatchStatus.RECEIVED, "IN_PROGRESS"),
        (BatchStatus.ACCEPTED, "IN_PROGRESS"),
        (BatchStatus.IN_PROGRESS, "IN_PROGRESS"),
        (BatchStatus.DONE, "DONE"),
        (BatchStatus.REJECTED, "REJECTED"),
    ],
)
@pytest.mark.parametrize("details", [{}, {"details": "0"}])
def test_existing_clients_see_three_of_the_five_states(
    stored: BatchStatus, shown: str, details: dict[str, str]
) -> None:
    key = make_key()
    batch_id = submitted(key, SPECIFICATION)
    set_status(batch_id, stored)
    response = status(key, batch_id, **details)
    assert response.status_code == 200
    assert response["Cache-Control"] == "no-store"
    assert (response.json()["queryStatus"], response.json()["status"]) == (shown, stored)
    assert ("queries" in response.json()) is (not details)
    listed = {
        each: ask(key, "/batch-queries", status=each).json()["batches"] for each in BatchStatus
    }
    assert [each for each, batches in listed.items() if batches] == [stored]


def test_any_key_may_read_a_batch_without_its_webhook() -> None:
    batch_id = submitted(make_key(), LEGACY)
    response = status(make_key(OTHER_WALLET), batch_id)
    assert response.status_code == 200
    assert "example.org" not in response.text  # the webhook is its owner's


def test_a_batch_waits_for_the_reason_of_its_first_waiting_job() -> None:
    key = make_key()
    batch_id = submitted(key, LEGACY)
    first, second = (
        BlockJob.objects.create(
            source=SEPOLIA,
            destination=SEPOLIA,
            block=number,
            waits_for=f"Block {number} waits.",
            wait_code=code,
        )
        for number, code in ((1, "block_not_final"), (2, "confirming"))
    )
    queries = Query.objects.filter(batch=batch_id)
    queries.update(job=second)
    queries.filter(position=0).update(job=first)

    def reason(shown: dict[str, Any]) -> tuple[str | None, str | None]:
        return shown["waitCode"], shown["waitsFor"]

    def reasons(status_now: BatchStatus) -> list[tuple[str | None, str | None]]:
        """The wait reasons of the batch and of its queries."""
        set_status(batch_id, status_now)
        answer = status(key, batch_id)
        shown = answer.json()
        code = shown["waitCode"]
        link = f'</docs/status#{code}>; rel="help"' if code else None
        assert answer.headers.get("Link") == link
        listed = ask(key, "/batch-queries").json()["batches"][0]
        polled = status(key, batch_id, details=0).json()
        assert reason(shown) == reason(listed) == reason(polled)
        return [reason(shown), *map(reason, shown["queries"])]

    not_final, confirming = ("block_not_final", "Block 1 waits."), ("confirming", "Block 2 waits.")
    none = (None, None)
    assert reasons(BatchStatus.ACCEPTED) == [not_final, not_final, confirming, confirming]
    queries.filter(position=0).update(has_ended=True)
    assert reasons(BatchStatus.IN_PROGRESS) == [confirming, none, confirming, confirming]
    BlockJob.objects.update(waits_for="", wait_code="")
    assert reasons(BatchStatus.IN_PROGRESS) == 4 * [none]
    BlockJob.objects.update(waits_for="It waits.", wait_code="confirming")
    queries.update(has_ended=True)
    assert reasons(BatchStatus.REJECTED) == 4 * [none]


def big_batch(count: int) -> dict[str, object]:
    return block_batch({"accounts": {f"0x{number:040x}": BALANCE for number in range(count)}})


def test_the_queries_of_a_large_batch_are_paginated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queries.api.batches.QUERIES_PER_PAGE", 3)
    key = make_key()
    batch_id = submitted(key, big_batch(7))
    seen, following = [], 0
    while following is not None:
        result = status(key, batch_id, fromQuery=following).json()
        assert len(result["queries"]) <= 3
        seen += [query["account"].lower() for query in result["queries"]]
        following = result["nextQuery"]
    assert seen == [f"0x{number:040x}" for number in range(7)]
    assert status(key, batch_id, fromQuery=7).json()["queries"] == []


def test_warnings_are_not_shown_to_others() -> None:
    key = make_key()
    response = submit(key, {**big_batch(1), "secretNote": 1}).json()
    assert "secretNote" in response["warnings"][0]["sentence"]
    assert "secretNote" not in status(key, response["internalId"]).text
