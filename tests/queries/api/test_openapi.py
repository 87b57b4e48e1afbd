"""The API's description matches its endpoints, responses and error codes."""

import json
import re
from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, assume, given, settings, strategies

from accounts.http.errors import ErrorCode
from explorer.urls import API_PATHS
from queries.selectors import NAMED_BLOCK
from tests.queries.api.json_schema import Schemas
from tests.queries.api.served_api import HERE, WALLET, ask, make_key, submit
from tests.queries.schema.example_batches import LEGACY, LONG, NOT_NUMBERS, SPECIFICATION, without

pytestmark = [pytest.mark.django_db, pytest.mark.either_database, pytest.mark.urls(HERE)]


def document() -> dict[str, Any]:
    response = Client().get("/openapi.json")
    assert (response.status_code, response["Content-Type"]) == (200, "application/json")
    result: dict[str, Any] = response.json()
    return result


def faults(value: object, name: str) -> list[str]:
    result = document()
    return Schemas(result).faults(value, result["components"]["schemas"][name])


def test_it_has_exactly_the_paths_and_methods_of_the_server() -> None:
    result = document()["paths"]
    assert set(result) == API_PATHS
    for path, operations in result.items():
        refused = Client().generic("PROPFIND", path)
        assert refused.status_code == 405
        allowed = set(refused["Allow"].split(", ")) - {"HEAD"}
        assert allowed == {method.upper() for method in operations}


CODES_OF_PAGES = {
    "not_allowed", "csrf_failed", "too_many_keys", "too_many_key_changes", "key_changed",
    "request_malformed", "wrong_origin", "message_refused", "signature_refused",
    "wallet_unreachable", "too_many_attempts",
}  # fmt: skip


def test_it_has_exactly_the_codes_of_the_api() -> None:
    """Those in the sources, without those of pages and sign-in."""
    codes = {code.code for group in ErrorCode.__subclasses__() for code in group}
    error = document()["components"]["schemas"]["ErrorResponse"]
    assert set(error["properties"]["code"]["enum"]) == codes - CODES_OF_PAGES


ACCEPTED = {
    "chain": ["SN_SEPOLIA", "11155111"],
    "selector": ["block:0", f"block:{2**63 - 1}", "timestamp:0", "timestamp:9999999999"],
    "account": [
        WALLET, WALLET.lower(), f"0x{WALLET[2:].upper()}", "vitalik.eth", "a.b-1.c-d.xyz",
        "a.--b.1-", f"{'a' * 63}.eth", ".".join(["a" * 63] * 4),
    ],
    "slot": ["0x0", "0xAb", f"0x{64 * 'F'}"],
}  # fmt: skip
REFUSED = {
    "chain": [
        "", "0", "011155111", "-1", "+10", " 10", "10\n", "1.0", "0xaa36a7", "\u0661\u0660",
        "a b", " " * 10_000,
    ],
    "selector": [
        "", "5", "block:latest", "Block:5", "block:5:6", f"block:{2**64}", "timestamp:-1",
        "timestamp:10000000000", "timestamp:2024-01-01",
        *(f"block:{number}" for number in NOT_NUMBERS),
    ],
    # Also names that have another normal form, or none, or one that takes tables to find.
    "account": [
        "", "0x", WALLET[2:], WALLET[:-1], f"{WALLET}0", f"0X{WALLET[2:]}", f"{WALLET}\n",
        f"0x{LONG}", f"0x{chr(0x661) * 40}", "vitalik", "Vitalik.eth", "vitalik..eth", ".", ".eth",
        "\u00e9.eth", "a_b.eth", "vitalik.eth\n", f"{'a' * 64}.eth", f"{LONG}.eth",
        f"{'.'.join(['a' * 63] * 4)}.e",
    ],
    "slot": [
        "", "0x", "1", f"0x{0:065x}", "0xg", "0X1", " 0x1", "0x1 ", "0x1\n", "-0x1", "0x-1",
        "0x1_0", "x1", "ff", "0x\u0661", LONG, f"0x{LONG}",
    ],
}  # fmt: skip


CODES = {
    "chain": {"number_malformed", "chain_unsupported"},
    "selector": {"selector_malformed"},
    "account": {"account_malformed"},
    "slot": {"slot_malformed"},
}


def batch_of(**named: str) -> dict[str, Any]:
    chain = named.get("chain", "11155111")
    account = {named.get("account", WALLET): {"slots": [named.get("slot", "0x1")]}}
    block = {named.get("selector", "block:5"): {"accounts": account}}
    return {"destinationChainId": chain, "fee": "0", "data": {chain: block}}


@pytest.mark.parametrize("kind", ACCEPTED)
def test_the_openapi_patterns_agree_with_the_server(kind: str) -> None:
    key, schemas = make_key(), Schemas(document())
    schema = schemas.document["components"]["schemas"]["BatchRequest"]
    for is_valid, texts in ((True, ACCEPTED[kind]), (False, REFUSED[kind])):
        for text in texts:
            body = batch_of(**{kind: text})
            answer = submit(key, body)
            assert (schemas.faults(body, schema) == []) is is_valid, text[:40]
            assert answer.status_code == (200 if is_valid else 400), text[:40]
            codes = {None} if is_valid else CODES[kind]
            assert answer.json().get("code") in codes, text[:40]


def test_values_that_match_the_openapi_patterns_are_not_malformed() -> None:
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
        unnamed = {"missing_field"} if selector == NAMED_BLOCK else set()
        allowed = {None, "block_beyond_head", *unnamed}
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


def test_the_limit_of_slots_is_enforced_with_repetitions() -> None:
    account = document()["components"]["schemas"]["AccountBody"]["properties"]
    limit, body = account["slots"]["maxItems"], batch_of()
    slots = body["data"]["11155111"]["block:5"]["accounts"][WALLET]["slots"]
    slots *= limit
    assert (faults(body, "BatchRequest"), submit(make_key(), body).status_code) == ([], 200)
    slots.append("0x1")
    assert faults(body, "BatchRequest")
    result = submit(make_key(), body).json()
    assert (result["code"], result["path"]) == (
        "too_many_slots",
        f"data.11155111.block:5.accounts.{WALLET}.slots",
    )


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
            # The path keeps its placeholders, which no parameter of a path accepts.
            in_path = set(re.findall(r"\{(\w+)\}", path))
            if "call_data" in in_path:
                in_path.add("data")  # as ERC-3668 calls it, and so errors
            for text in ("\x00", "٣"):
                refused = ask(key, path, **{"batchQueryId": "x", name: text}).json()
                assert refused["path"] in (in_path if name in in_path else {name})
            default = parameter["schema"].get("default")
            if default is not None:
                response = ask(key, path, **{"batchQueryId": "x", name: default})
                assert response.json().get("path") != name
