"""The list of the owner's batches."""

from typing import Any

import pytest

from queries.statuses import BatchStatus
from tests.queries.api.batch_states import set_status
from tests.queries.api.served_api import HERE, ask, make_key, submitted
from tests.queries.schema.example_batches import SPECIFICATION

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]
ADDRESS = "/batch-queries"


def ids(response: Any) -> list[str]:
    assert response.status_code == 200, response.text
    return [batch["internalId"] for batch in response.json()["batches"]]


def test_pages_show_every_batch_once_while_new_ones_are_submitted() -> None:
    key = make_key()
    old = sorted((submitted(key, SPECIFICATION) for _ in range(7)), reverse=True)
    seen: list[str] = []
    parameters: dict[str, str | int] = {"limit": 3}
    while True:
        response = ask(key, ADDRESS, **parameters)
        assert len(ids(response)) <= 3
        seen += ids(response)
        submitted(key, SPECIFICATION)
        if not (cursor := response.json()["cursor"]):
            break
        parameters["cursor"] = cursor
    assert seen == old


def test_a_full_last_page_has_no_cursor() -> None:
    key = make_key()
    for _ in range(2):
        submitted(key, SPECIFICATION)
    assert ask(key, ADDRESS, limit=2).json()["cursor"] is None


def test_batches_are_filtered_by_status() -> None:
    key = make_key()
    for status in BatchStatus:
        set_status(submitted(key, SPECIFICATION), status)
    for status in BatchStatus:
        (result,) = ask(key, ADDRESS, status=status.value).json()["batches"]
        assert result["status"] == status
