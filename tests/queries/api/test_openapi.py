"""The API's description says what the API does: each endpoint, each answer and each code."""

import json
import re
from typing import Any

import pytest
from django.test import Client

from accounts import errors as general
from explorer.urls import API_PATHS
from queries import errors
from tests.queries.api.json_schema import Schemas
from tests.queries.api.served_api import HERE, ask, make_key, submit
from tests.queries.schema.example_batches import LEGACY, SPECIFICATION

pytestmark = pytest.mark.urls(HERE)


def document() -> dict[str, Any]:
    answer = Client().get("/openapi.json")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    told: dict[str, Any] = answer.json()
    return told


def faults(value: object, name: str) -> list[str]:
    told = document()
    return Schemas(told).faults(value, told["components"]["schemas"][name])


@pytest.mark.no_database
def test_every_reference_is_held_and_every_schema_used() -> None:
    text = json.dumps(document())
    used = set(re.findall(r'"#/components/schemas/(\w+)"', text))
    assert used == set(document()["components"]["schemas"])


@pytest.mark.no_database
def test_it_has_every_address_and_method_and_no_other() -> None:
    told = document()["paths"]
    assert set(told) == API_PATHS
    for path, operations in told.items():
        refused = Client().generic("PROPFIND", path)
        assert refused.status_code == 405
        allowed = set(refused["Allow"].split(", ")) - {"HEAD"}
        assert allowed == {method.upper() for method in operations}


NOT_OF_THE_API = {
    "not_allowed",
    "too_many_keys",
    "too_many_key_changes",
    "key_gone",
    "request_malformed",
    "wrong_place",
    "message_refused",
    "signature_refused",
    "wallet_unreachable",
    "too_many_attempts",
}


def known_codes() -> set[str]:
    """Of every refusal that the code of the API knows."""
    every = [*vars(errors).values(), *vars(general).values()]
    return {each.code for each in every if isinstance(each, general.Code)} - NOT_OF_THE_API


@pytest.mark.no_database
def test_it_has_every_code_and_no_other() -> None:
    told = document()
    assert set(told["components"]["schemas"]["Error"]["properties"]["code"]["enum"]) == (
        known_codes()
    )


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["One balance", "All that can be asked for"])
def test_its_examples_are_accepted(name: str) -> None:
    operation = document()["paths"]["/submit-batch-query"]["post"]
    example = operation["requestBody"]["content"]["application/json"]["examples"][name]["value"]
    assert faults(example, "BatchRequest") == []
    answer = submit(make_key(), example)
    assert (answer.status_code, answer.json()["warnings"]) == (200, [])


@pytest.mark.no_database
def test_its_examples_of_answers_are_such_answers() -> None:
    told = document()
    for operations in told["paths"].values():
        for operation in operations.values():
            content = operation["responses"]["200"]["content"]["application/json"]
            assert Schemas(told).faults(content["example"], content["schema"]) == []


@pytest.mark.no_database
def test_what_existing_clients_send_fits_it() -> None:
    for body in (SPECIFICATION, LEGACY):
        assert faults(json.loads(body), "BatchRequest") == []
    wrong = json.loads(SPECIFICATION)
    wrong["data"]["11155111"]["block:5"] = {"Header": []}
    (fault,) = faults(wrong, "BatchRequest")
    assert fault.startswith("data.11155111.block:5: ")
    assert "Header" in fault


@pytest.mark.django_db
def test_every_parameter_is_read() -> None:
    """A value that the schema forbids is refused, naming the parameter; its default is not."""
    key = make_key()
    for path, operations in document()["paths"].items():
        for each in operations.get("get", {}).get("parameters", ()):
            named = {each["name"]: "\x00"}
            if each["name"] != "batchQueryId":
                named |= {"batchQueryId": "x"}
            refused = ask(key, path, **named).json()
            assert refused["path"] == each["name"]
            default = each["schema"].get("default")
            if default is not None:
                answer = ask(key, path, **{"batchQueryId": "x", each["name"]: default})
                assert answer.json().get("path") != each["name"]
