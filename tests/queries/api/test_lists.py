"""One's own batches in pages, and what can be proven to where."""

from typing import Any

import pytest

from queries.statuses import BatchStatus
from tests.queries.api.served_api import HERE, ask, make_key, submitted
from tests.queries.api.worked_batches import set_status
from tests.queries.schema.example_batches import SPECIFICATION

pytestmark = pytest.mark.urls(HERE)
ADDRESS = "/batch-queries"


def ids(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [each["internalId"] for each in answer.json()["batches"]]


@pytest.mark.django_db
def test_pages_show_each_once_while_new_ones_come() -> None:
    key = make_key()
    old = sorted((submitted(key, SPECIFICATION) for _ in range(7)), reverse=True)
    seen: list[str] = []
    parameters: dict[str, str | int] = {"limit": 3}
    while True:
        answer = ask(key, ADDRESS, **parameters)
        assert len(ids(answer)) <= 3
        seen += ids(answer)
        submitted(key, SPECIFICATION)
        if not (cursor := answer.json()["cursor"]):
            break
        parameters["cursor"] = cursor
    assert seen == old


@pytest.mark.django_db
def test_a_page_that_is_just_full_is_the_last() -> None:
    key = make_key()
    for _ in range(2):
        submitted(key, SPECIFICATION)
    assert ask(key, ADDRESS, limit=2).json()["cursor"] is None


@pytest.mark.django_db
def test_those_in_a_state() -> None:
    key = make_key()
    for each in BatchStatus:
        set_status(submitted(key, SPECIFICATION), each)
    for each in BatchStatus:
        (told,) = ask(key, ADDRESS, status=each.value).json()["batches"]
        assert told["status"] == each


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "value"),
    [("status", "done"), ("status", "\x00"), ("cursor", "x"), ("limit", "0"), ("limit", "1e1")],
)
def test_a_parameter_of_no_use_is_named(name: str, value: str) -> None:
    answer = ask(make_key(), ADDRESS, **{name: value})
    told = answer.json()
    assert (answer.status_code, told["code"], told["path"]) == (400, "parameter_malformed", name)
