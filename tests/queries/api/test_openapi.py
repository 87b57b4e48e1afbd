"""The API's description says what the API does: each endpoint, each answer and each code."""

import json
import re
from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, assume, given, settings, strategies

from accounts.shared import errors as general
from explorer.urls import API_PATHS
from queries import refusals
from queries.api import endpoints as api
from queries.config.routes import Routes
from tests.queries.api.json_schema import Schemas
from tests.queries.api.served_api import (
    ATTESTED,
    HERE,
    LIMITS,
    OPTIMISM,
    ROUTES,
    SEPOLIA,
    WALLET,
    ask,
    make_key,
    record_head,
    submit,
)
from tests.queries.schema.example_batches import LEGACY, SPECIFICATION

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]


def document() -> dict[str, Any]:
    answer = Client().get("/openapi.json")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    told: dict[str, Any] = answer.json()
    return told


def faults(value: object, name: str) -> list[str]:
    told = document()
    return Schemas(told).faults(value, told["components"]["schemas"][name])


def test_every_reference_is_held_and_every_schema_used() -> None:
    text = json.dumps(document())
    used = set(re.findall(r'"#/components/schemas/(\w+)"', text))
    assert used == set(document()["components"]["schemas"])


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
    "csrf_failed",
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
    every = [*vars(refusals).values(), *vars(general).values()]
    return {each.code for each in every if isinstance(each, general.Code)} - NOT_OF_THE_API


def test_it_has_every_code_and_no_other() -> None:
    told = document()
    assert set(told["components"]["schemas"]["Error"]["properties"]["code"]["enum"]) == (
        known_codes()
    )


TAKEN = {
    "chain": ["SN_SEPOLIA", "11155111"],
    "selector": ["block:0", f"block:{2**63 - 1}", "timestamp:0", "timestamp:9999999999"],
    "account": [WALLET, WALLET.lower(), f"0x{WALLET[2:].upper()}", "vitalik.eth", "a.b-1.c-d.xyz"],
    "slot": ["0x0", "0xAb", f"0x{64 * 'F'}"],
}
REFUSED = {
    "chain": ["", "0", "011155111", "-1", "0xaa36a7", "a b"],
    "selector": ["", "5", "block:", "block:01", "block:-1", "timestamp:10000000000", "Block:5"],
    "account": ["", "0x", WALLET[:-1], f"{WALLET}0", "vitalik", "Vitalik.eth", ".eth", "a..eth"],
    "slot": ["", "0x", "1", f"0x{65 * '0'}", "0xg"],
}


def batch_of(**named: str) -> dict[str, Any]:
    chain = named.get("chain", "11155111")
    account = {named.get("account", WALLET): {"slots": [named.get("slot", "0x1")]}}
    block = {named.get("selector", "block:5"): {"accounts": account}}
    return {"destinationChainId": chain, "fee": "0", "data": {chain: block}}


@pytest.mark.parametrize("kind", TAKEN)
def test_its_patterns_are_those_of_the_server(kind: str) -> None:
    key = make_key()
    for text in TAKEN[kind]:
        assert faults(batch_of(**{kind: text}), "BatchRequest") == [], text
        assert submit(key, batch_of(**{kind: text})).status_code == 200, text
    for text in REFUSED[kind]:
        assert faults(batch_of(**{kind: text}), "BatchRequest"), text
        assert submit(key, batch_of(**{kind: text})).status_code == 400, text


def test_what_fits_its_patterns_is_not_refused_for_its_form() -> None:
    """A number can be too large for a chain, and a name may have more hyphens than ENS allows."""
    schemas, key = document()["components"]["schemas"], make_key()
    of_data = schemas["BatchRequest"]["properties"]["data"]["additionalProperties"]
    keys = [of_data, schemas["Block"]["properties"]["accounts"]]
    patterns = [each["propertyNames"]["pattern"] for each in keys]
    patterns.append(schemas["Account"]["properties"]["slots"]["items"]["pattern"])

    @settings(max_examples=60, suppress_health_check=list(HealthCheck))
    @given(*(strategies.from_regex(each, fullmatch=True) for each in patterns))
    def check(selector: str, account: str, slot: str) -> None:
        assume(len(account) <= keys[1]["propertyNames"]["maxLength"])
        told = submit(key, batch_of(selector=selector, account=account, slot=slot)).json()
        allowed = {None, "block_beyond_head"}
        assert told.get("code") in allowed | ({"account_malformed"} if "--" in account else set())

    check()


def test_lists_are_as_long_as_it_says() -> None:
    """Even if they repeat themselves."""
    account = document()["components"]["schemas"]["Account"]["properties"]
    most, body = account["slots"]["maxItems"], batch_of()
    slots = body["data"]["11155111"]["block:5"]["accounts"][WALLET]["slots"]
    slots *= most
    assert (faults(body, "BatchRequest"), submit(make_key(), body).status_code) == ([], 200)
    slots.append("0x1")
    assert faults(body, "BatchRequest")
    told = submit(make_key(), body).json()
    assert (told["code"], told["path"]) == (
        "too_many_slots",
        f"data.11155111.block:5.accounts.{WALLET}.slots",
    )


ROUTE = {(OPTIMISM, SEPOLIA): ATTESTED}
urlpatterns = api.addresses(Routes(ROUTES.chains, ROUTE), LIMITS)


@pytest.mark.urls(__name__)
def test_its_examples_go_from_a_chain_of_this_server_to_another() -> None:
    record_head(OPTIMISM, number=7_321, timestamp=10_000)
    paths = document()["paths"]
    content = paths["/submit-batch-query"]["post"]["requestBody"]["content"]["application/json"]
    for example in content["examples"].values():
        body = example["value"]
        assert body["destinationChainId"] == str(SEPOLIA)
        assert body["data"][str(OPTIMISM)].keys() <= {"block:7300", "timestamp:7200"}
        assert submit(make_key(), body).status_code == 200
    content = paths["/chain-connections"]["get"]["responses"]["200"]["content"]
    (told,) = content["application/json"]["example"]["connections"]
    assert (told["originChainId"], told["origin"]["name"]) == (str(OPTIMISM), "OP Mainnet")
    assert (told["destinationChainId"], told["destination"]["name"]) == (str(SEPOLIA), "Sepolia")
    assert told["registry"] == ATTESTED.address


@pytest.mark.parametrize("name", ["One balance", "All that can be asked for"])
def test_its_examples_are_accepted(name: str) -> None:
    operation = document()["paths"]["/submit-batch-query"]["post"]
    example = operation["requestBody"]["content"]["application/json"]["examples"][name]["value"]
    assert faults(example, "BatchRequest") == []
    answer = submit(make_key(), example)
    assert (answer.status_code, answer.json()["warnings"]) == (200, [])


def test_its_examples_of_answers_are_such_answers() -> None:
    told = document()
    for operations in told["paths"].values():
        for operation in operations.values():
            content = operation["responses"]["200"]["content"]["application/json"]
            assert Schemas(told).faults(content["example"], content["schema"]) == []


def test_what_existing_clients_send_fits_it() -> None:
    for body in (SPECIFICATION, LEGACY):
        assert faults(json.loads(body), "BatchRequest") == []
    without_fee = {name: each for name, each in json.loads(LEGACY).items() if name != "fee"}
    assert faults(without_fee, "EstimateRequest") == []
    assert faults(without_fee | {"fee": "1 ETH"}, "EstimateRequest")
    assert faults(without_fee, "BatchRequest")
    wrong = json.loads(SPECIFICATION)
    wrong["data"]["11155111"]["block:5"] = {"Header": []}
    (fault,) = faults(wrong, "BatchRequest")
    assert fault.startswith("data.11155111.block:5: ")
    assert "Header" in fault


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
