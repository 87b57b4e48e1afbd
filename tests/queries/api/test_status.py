"""The status of a batch, without and with its queries, and what it waits for."""

from datetime import UTC, timedelta
from typing import Any

import pytest
from django.utils import timezone

from queries.models import BlockJob, ChainRecord, Query
from queries.statuses import BatchStatus
from tests.queries.api.batch_states import set_status
from tests.queries.api.served_api import (
    HERE,
    OTHER_WALLET,
    SEPOLIA,
    ask,
    make_key,
    record_head,
    submit,
    submitted,
)
from tests.queries.schema.example_batches import BALANCE, LEGACY, SPECIFICATION, block_batch

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]
ADDRESS = "/batch-query-status"


def status(key: str, batch_id: str, **parameters: str | int) -> Any:
    return ask(key, ADDRESS, batchQueryId=batch_id, **parameters)


@pytest.mark.parametrize(
    ("stored", "query_status"),
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
    stored: BatchStatus, query_status: str, details: dict[str, str]
) -> None:
    key = make_key()
    batch_id = submitted(key, SPECIFICATION)
    set_status(batch_id, stored)
    response = status(key, batch_id, **details)
    assert response.status_code == 200
    assert response["Cache-Control"] == "no-store"
    assert (response.json()["queryStatus"], response.json()["status"]) == (query_status, stored)
    assert ("queries" in response.json()) is (not details)
    listed = {
        name: ask(key, "/batch-queries", status=name).json()["batches"] for name in BatchStatus
    }
    assert [name for name, batches in listed.items() if batches] == [stored]


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

    def reason(content: dict[str, Any]) -> tuple[str | None, str | None]:
        return content["waitCode"], content["waitsFor"]

    def reasons(status_now: BatchStatus) -> list[tuple[str | None, str | None]]:
        """The wait reasons of the batch and of its queries."""
        set_status(batch_id, status_now)
        answer = status(key, batch_id)
        content = answer.json()
        code = content["waitCode"]
        link = f'</docs/status#{code}>; rel="help"' if code else None
        assert answer.headers.get("Link") == link
        listed = ask(key, "/batch-queries").json()["batches"][0]
        polled = status(key, batch_id, details=0).json()
        assert reason(content) == reason(listed) == reason(polled)
        return [reason(content), *map(reason, content["queries"])]

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


def test_the_status_does_not_repeat_warnings() -> None:
    key = make_key()
    response = submit(key, {**big_batch(1), "secretNote": 1}).json()
    assert "secretNote" in response["warnings"][0]["sentence"]
    assert "secretNote" not in status(key, response["internalId"]).text


# Without a prover


def set_last_poll(ago: timedelta) -> str:
    """Set when a prover last polled, and return that time as a sentence has it."""
    moment = timezone.now() - ago
    ChainRecord.objects.update(polled_at=moment)
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def test_a_batch_says_that_it_waits_for_a_prover() -> None:
    key = make_key()
    batch_id = submitted(key, SPECIFICATION)

    def result() -> tuple[str | None, str | None]:
        (listed,) = ask(key, "/batch-queries").json()["batches"]
        polled = ask(key, "/batch-query-status", batchQueryId=batch_id, details=0)
        parts = ("waitCode", "waitsFor")
        code, sentence = (polled.json()[name] for name in parts)
        assert (code, sentence) == tuple(listed[name] for name in parts)
        return code, sentence

    start = "the operator has to start one with tacitus run_prover."
    never = f"No prover has claimed it yet, and none has been seen so far: {start}"
    assert result() == ("no_prover", never)
    record_head(SEPOLIA, number=1, timestamp=1)
    assert result() == ("not_claimed", "No prover has claimed it yet.")
    since = set_last_poll(timedelta(minutes=3))
    lately = f"No prover has claimed it yet, and none has been seen since {since}: {start}"
    assert result() == ("no_prover", lately)
    set_status(batch_id, BatchStatus.RECEIVED, lease_token="x")
    assert result() == ("no_prover", f"No prover has been seen since {since}: {start}")
    set_last_poll(timedelta(seconds=60))
    assert result() == (None, None)
    waits = {"waits_for": "It waits.", "wait_code": "concurrent_prover", "lease_token": ""}
    set_status(batch_id, BatchStatus.IN_PROGRESS, **waits)
    assert result() == ("concurrent_prover", "It waits.")
    since = set_last_poll(timedelta(minutes=3))
    assert result() == ("no_prover", f"No prover has been seen since {since}: {start}")
    set_status(batch_id, BatchStatus.DONE)
    assert result() == (None, None)
