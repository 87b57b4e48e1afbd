"""Every refusal of the API that a client can provoke: HTTP status, code and path."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest
import requests

from tests.rigs.anvil import Chain
from tests.rigs.faulty_node import Node
from tests.rigs.service import HOLDER, accounts, request
from tests.scenarios.fixtures import Install
from tests.scenarios.production import PROXY, serve_in_production
from tests.scenarios.refused_requests import (
    OK_BATCH,
    REFUSED,
    SIGNERS,
    SLOTS,
    TOO_MANY,
    ServerUnderTest,
    new_key_header,
)
from tests.scenarios.visitor import Visitor

pytestmark = pytest.mark.either_database

SETTINGS = {
    "BATCH_BODY_BYTES": "30000",
    "BATCH_BLOCKS": "2",
    "BATCH_ACCOUNTS": "200",
    "BATCH_SLOTS": "4",
    "BATCH_EVENTS": "4",
    "FACTS_PER_DAY": "300",
}
GONE = "http://127.0.0.1:9"
# Only another server may answer; 503 sends clients of a lookup there.
FOR_ANOTHER_GATEWAY = {"registry_unknown", "fact_not_provable"}
# Clients cannot provoke a bug.
NOT_PROVOKED = {"internal_error"}


@pytest.fixture(scope="module")
def place(install: Install) -> Iterator[ServerUnderTest]:
    with ExitStack() as stack:
        chain, five = (stack.enter_context(closing(Chain(chain_id))) for chain_id in (31337, 5))
        node = stack.enter_context(closing(Node(five)))
        service, operator = stack.enter_context(install()), Visitor("")
        chain.mine(12)
        five.mine(12)
        service.add_chain(chain)
        service.add_chain(five, node)
        service.add_registry("native", chain, chain)
        signers = [signer.address for signer in SIGNERS]
        service.add_registry("attested", five, chain, signers=signers, threshold=2)
        service.routes.write_text(
            f"""{service.routes.read_text()}
            [chains.10]
            name = "Gone"
            nodes = ["{GONE}"]
            [[registries]]
            kind = "native"
            source = 10
            destination = 10
            address = "{HOLDER}"
            """
        )
        (empty := service.folder / "empty.toml").touch()
        settings = dict(service.settings)
        serve_in_production(service, ROUTES_FILE=str(empty), REQUESTS_PER_MINUTE="2")
        service.settings, service.headers, production = settings, {}, service.url
        service.serve(DATABASE_URL="sqlite:////nowhere/at/all.sqlite3")
        broken = service.url
        service.serve(OPERATORS=operator.key.address, **SETTINGS)
        service.prove()
        operator.url = service.url
        yield ServerUnderTest(service, five, node, operator.sign_in(), production, broken)


@pytest.mark.parametrize("code", REFUSED)
def test_each_refusal_has_its_status_code_and_path(place: ServerUnderTest, code: str) -> None:
    status, path, send = REFUSED[code]
    answer = send(place)
    error = answer.json()
    assert (answer.status_code, error["code"], error["path"]) == (status, code, path), error
    assert set(error) - {"detail", "message"} == {"error", "code", "path", "retryable"}
    assert error.get("detail", error["error"]).endswith(".")
    assert answer.headers["Link"] == f'</docs/status#{code}>; rel="help"'
    assert not error["retryable"] or status in {400, 409, 429, 503}
    if status in {429, 503}:
        assert error["retryable"] == (code not in FOR_ANOTHER_GATEWAY)
        assert ("Retry-After" in answer.headers) == error["retryable"]


def test_every_documented_error_code_is_provoked(place: ServerUnderTest) -> None:
    document = requests.get(f"{place.service.url}/openapi.json", timeout=30).json()
    codes = document["components"]["schemas"]["ErrorResponse"]["properties"]["code"]["enum"]
    assert set(codes) - NOT_PROVOKED == set(REFUSED)
    page = requests.get(f"{place.service.url}/docs/status", timeout=30).text
    assert [code for code in codes if f'id="{code}"' not in page] == []


def test_every_answer_has_rate_limit_headers(place: ServerUnderTest) -> None:
    headers = PROXY | new_key_header(place)
    address = f"{place.production}/api-key"
    answers = [requests.get(address, headers=headers, timeout=30) for _ in range(3)]
    remaining = [(answer.status_code, answer.headers["RateLimit-Remaining"]) for answer in answers]
    assert remaining == [(200, "1"), (200, "0"), (429, "0")]
    for answer in answers:
        assert answer.headers["RateLimit-Limit"] == "2"
        assert 0 < int(answer.headers["RateLimit-Reset"]) <= 60
        assert ("Retry-After" in answer.headers) == (answer.status_code == 429)


def test_a_batch_at_the_limits_is_accepted(place: ServerUnderTest) -> None:
    largest = {1: accounts(HOLDER, slots=SLOTS[:4]), 2: accounts(*list(TOO_MANY)[:199])}
    answer = place.service.post(
        "/submit-batch-query", request({31337: largest}), **new_key_header(place)
    )
    assert answer.status_code == 200, answer.text


def test_chunked_bodies_have_the_same_limit(place: ServerUnderTest) -> None:
    address = f"{place.service.url}/submit-batch-query"
    headers = new_key_header(place) | {"Content-Type": "application/json"}
    content = json.dumps(OK_BATCH).encode()
    for chunks, status in ((content[:10], content[10:]), 200), ((content, 40_000 * b" "), 413):
        answer = requests.post(address, data=iter(chunks), headers=headers, timeout=30)
        assert answer.status_code == status, answer.text
