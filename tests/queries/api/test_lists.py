"""One's own batches in pages, and what can be proven to where."""

from typing import Any

import pytest
from django.test import Client

from queries.statuses import BatchStatus
from tests.queries.api.served_api import (
    HERE,
    OTHER_WALLET,
    ROUTES,
    SEPOLIA,
    ask,
    make_key,
    submitted,
)
from tests.queries.api.worked_batches import set_status
from tests.queries.schema.example_batches import SPECIFICATION

pytestmark = pytest.mark.urls(HERE)
ADDRESS = "/batch-queries"


def ids(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [each["internalId"] for each in answer.json()["batches"]]


@pytest.mark.django_db
def test_ones_own_newest_first() -> None:
    key = make_key()
    mine = [submitted(key, SPECIFICATION) for _ in range(3)]
    submitted(make_key(OTHER_WALLET), SPECIFICATION)
    answer = ask(make_key(), ADDRESS)  # another key of the same account
    assert ids(answer) == sorted(mine, reverse=True)
    assert answer.json()["cursor"] is None
    told = answer.json()["batches"][0]
    assert (told["queryStatus"], told["status"]) == ("IN_PROGRESS", "RECEIVED")
    assert "queries" not in told


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
@pytest.mark.parametrize("status", BatchStatus)
def test_those_in_a_state(status: BatchStatus) -> None:
    key = make_key()
    for each in BatchStatus:
        set_status(submitted(key, SPECIFICATION), each)
    (told,) = ask(key, ADDRESS, status=status.value).json()["batches"]
    assert told["status"] == status


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "value"),
    [("status", "done"), ("status", ""), ("status", "\x00"), ("cursor", "x"), ("cursor", "\x00"),
     ("cursor", ""), ("limit", "0"), ("limit", "101"), ("limit", "1e1"), ("limit", " 1")],
)  # fmt: skip
def test_a_parameter_of_no_use_is_named(name: str, value: str) -> None:
    answer = ask(make_key(), ADDRESS, **{name: value})
    told = answer.json()
    assert (answer.status_code, told["code"], told["path"]) == (400, "parameter_malformed", name)


@pytest.mark.no_database
def test_connections_are_for_everyone() -> None:
    answer = Client().get("/chain-connections")
    assert answer.status_code == 200
    connections = answer.json()["connections"]
    ids = [(each["originChainId"], each["destinationChainId"]) for each in connections]
    assert ids == [
        ("10", "10"),
        ("10", "11155111"),
        ("11155111", "10"),
        ("11155111", "11155111"),
    ]
    sepolia = {"name": "Sepolia", "aliases": list(ROUTES.chains[SEPOLIA].aliases)}
    assert connections[-1]["origin"] == connections[-1]["destination"] == sepolia
    assert connections[-1]["registry"] == ROUTES.registries[SEPOLIA, SEPOLIA].address
    assert connections[-1]["kind"] == ROUTES.registries[SEPOLIA, SEPOLIA].kind
    assert all(each.keys() == connections[0].keys() for each in connections)
