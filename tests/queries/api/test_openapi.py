"""The API's description matches its endpoints, responses and error codes."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, assume, given, settings, strategies

from accounts.shared import errors
from explorer.urls import API_PATHS
from queries import error_codes
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
from tests.queries.schema.example_batches import LEGACY, SPECIFICATION, without

pytestmark = [pytest.mark.django_db, pytest.mark.urls(HERE)]


def document() -> dict[str, Any]:
    response = Client().get("/openapi.json")
    assert (response.status_code, response["Content-Type"]) == (200, "application/json")
    result: dict[str, Any] = response.json()
    return result


def faults(value: object, name: str) -> list[str]:
    result = document()
    return Schemas(result).faults(value, result["components"]["schemas"][name])


def test_every_reference_has_its_schema_and_every_schema_is_used() -> None:
    text = json.dumps(document())
    used = set(re.findall(r'"#/components/schemas/(\w+)"', text))
    assert used == set(document()["components"]["schemas"])


def test_it_has_exactly_the_paths_and_methods_of_the_server() -> None:
    result = document()["paths"]
    assert set(result) == API_PATHS
    for path, operations in result.items():
        refused = Client().generic("PROPFIND", path)
        assert refused.status_code == 405
        allowed = set(refused["Allow"].split(", ")) - {"HEAD"}
        assert allowed == {method.upper() for method in operations}


CODES_OF_PAGES = {
    "not_allowed",
    "csrf_failed",
    "too_many_keys",
    "too_many_key_changes",
    "key_changed",
    "request_malformed",
    "wrong_origin",
    "message_refused",
    "signature_refused",
    "wallet_unreachable",
    "too_many_attempts",
}


def known_codes() -> set[str]:
    """The codes in the sources, without those of pages and sign-in."""
    constants = [*vars(error_codes).values(), *vars(errors).values()]
    return {code.code for code in constants if isinstance(code, errors.ErrorCode)} - CODES_OF_PAGES


def test_it_has_exactly_the_codes_of_the_api() -> None:
    result = document()
    assert set(result["components"]["schemas"]["ErrorResponse"]["properties"]["code"]["enum"]) == (
        known_codes()
    )


ACCEPTED = {
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


@pytest.mark.parametrize("kind", ACCEPTED)
def test_its_patterns_agree_with_the_server(kind: str) -> None:
    key = make_key()
    for text in ACCEPTED[kind]:
        assert faults(batch_of(**{kind: text}), "BatchRequest") == [], text
        assert submit(key, batch_of(**{kind: text})).status_code == 200, text
    for text in REFUSED[kind]:
        assert faults(batch_of(**{kind: text}), "BatchRequest"), text
        assert submit(key, batch_of(**{kind: text})).status_code == 400, text


def test_values_that_match_its_patterns_are_not_malformed() -> None:
    """A number can be too large for a chain, and a name may have more hyphens than ENS allows."""
    schemas, key = document()["components"]["schemas"], make_key()
    of_data = schemas["BatchRequest"]["properties"]["data"]["additionalProperties"]
    keys = [of_data, schemas["BlockBody"]["properties"]["accounts"]]
    patterns = [key["propertyNames"]["pattern"] for key in keys]
    patterns.append(schemas["AccountBody"]["properties"]["slots"]["items"]["pattern"])

    @settings(max_examples=60, suppress_health_check=list(HealthCheck))
    @given(*(strategies.from_regex(pattern, fullmatch=True) for pattern in patterns))
    def check(selector: str, account: str, slot: str) -> None:
        assume(len(account) <= keys[1]["propertyNames"]["maxLength"])
        result = submit(key, batch_of(selector=selector, account=account, slot=slot)).json()
        allowed = {None, "block_beyond_head"}
        assert result.get("code") in allowed | ({"account_malformed"} if "--" in account else set())

    check()


@pytest.mark.parametrize(
    ("schema", "member", "name"),
    [("AccountBody", "props", "NONCE"), ("BlockBody", "header", "TIMESTAMP")],
)
def test_the_limit_of_field_names_is_enforced(schema: str, member: str, name: str) -> None:
    limit = document()["components"]["schemas"][schema]["properties"][member]["maxItems"]
    body = batch_of()
    block = body["data"]["11155111"]["block:5"]
    (block if schema == "BlockBody" else block["accounts"][WALLET])[member] = names = [name] * limit
    assert (faults(body, "BatchRequest"), submit(make_key(), body).status_code) == ([], 200)
    names.append(name)
    assert faults(body, "BatchRequest")
    result = submit(make_key(), body).json()
    assert result["code"] == "list_too_long"
    assert result["error"] == f"{result['path']} has more than 100 entries."


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for inner in value if isinstance(value, list) else ():
        yield from _objects(inner)


@pytest.mark.parametrize(
    "name",
    [
        "BlockResultsResponse",
        "BatchQueryResponse",
        "LaterQueryResponse",
        "LaterActionResponse",
        "ApiKeyResponse",
    ],
)
def test_ids_and_keys_of_maps_have_patterns(name: str) -> None:
    for schema in _objects(document()["components"]["schemas"][name]):
        if isinstance(schema.get("additionalProperties"), dict):
            assert "pattern" in schema["propertyNames"]
        for key in {"id", "internal_id"} & set(schema.get("properties", ())):
            assert "pattern" in schema["properties"][key]


def test_the_limit_of_slots_is_enforced_with_repetitions() -> None:
    account = document()["components"]["schemas"]["AccountBody"]["properties"]
    most, body = account["slots"]["maxItems"], batch_of()
    slots = body["data"]["11155111"]["block:5"]["accounts"][WALLET]["slots"]
    slots *= most
    assert (faults(body, "BatchRequest"), submit(make_key(), body).status_code) == ([], 200)
    slots.append("0x1")
    assert faults(body, "BatchRequest")
    result = submit(make_key(), body).json()
    assert (result["code"], result["path"]) == (
        "too_many_slots",
        f"data.11155111.block:5.accounts.{WALLET}.slots",
    )


ROUTE = {(OPTIMISM, SEPOLIA): ATTESTED}
urlpatterns = api.url_patterns(Routes(ROUTES.chains, ROUTE), LIMITS)


@pytest.mark.urls(__name__)
def test_its_examples_use_a_route_of_this_server() -> None:
    record_head(OPTIMISM, number=7_321, timestamp=10_000)
    paths = document()["paths"]
    content = paths["/submit-batch-query"]["post"]["requestBody"]["content"]["application/json"]
    for example in content["examples"].values():
        body = example["value"]
        assert body["destinationChainId"] == str(SEPOLIA)
        assert body["data"][str(OPTIMISM)].keys() <= {"block:7300", "timestamp:7200"}
        assert submit(make_key(), body).status_code == 200
    content = paths["/chain-connections"]["get"]["responses"]["200"]["content"]
    (result,) = content["application/json"]["example"]["connections"]
    assert (result["originChainId"], result["origin"]["name"]) == (str(OPTIMISM), "OP Mainnet")
    assert (result["destinationChainId"], result["destination"]["name"]) == (
        str(SEPOLIA),
        "Sepolia",
    )
    assert result["registry"] == ATTESTED.address


@pytest.mark.parametrize("name", ["One balance", "All that can be asked for"])
def test_its_examples_are_accepted(name: str) -> None:
    operation = document()["paths"]["/submit-batch-query"]["post"]
    example = operation["requestBody"]["content"]["application/json"]["examples"][name]["value"]
    assert faults(example, "BatchRequest") == []
    response = submit(make_key(), example)
    assert (response.status_code, response.json()["warnings"]) == (200, [])


def test_its_examples_of_responses_match_their_schemas() -> None:
    result = document()
    for operations in result["paths"].values():
        for operation in operations.values():
            content = operation["responses"]["200"]["content"]["application/json"]
            assert Schemas(result).faults(content["example"], content["schema"]) == []


def test_requests_of_existing_clients_match_it() -> None:
    for body in (SPECIFICATION, LEGACY):
        assert faults(json.loads(body), "BatchRequest") == []
    without_fee = without(json.loads(LEGACY), "fee")
    assert faults(without_fee, "EstimateRequest") == []
    assert faults(without_fee | {"fee": "1 ETH"}, "EstimateRequest")
    assert faults(without_fee, "BatchRequest")
    wrong = json.loads(SPECIFICATION)
    wrong["data"]["11155111"]["block:5"] = {"Header": []}
    (fault,) = faults(wrong, "BatchRequest")
    assert fault.startswith("data.11155111.block:5: ")
    assert "Header" in fault


def test_every_parameter_is_checked() -> None:
    """Values that the schema forbids are refused, naming the parameter; its default is not."""
    key = make_key()
    for path, operations in document()["paths"].items():
        for parameter in operations.get("get", {}).get("parameters", ()):
            name = parameter["name"]
            for text in ("\x00", "٣"):
                refused = ask(key, path, **{"batchQueryId": "x", name: text}).json()
                assert refused["path"] == name
            default = parameter["schema"].get("default")
            if default is not None:
                response = ask(key, path, **{"batchQueryId": "x", name: default})
                assert response.json().get("path") != name
