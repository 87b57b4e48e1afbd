"""GET and POST /ccip: which refusals send a client to the next gateway."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from eth_abi.abi import encode

from queries import contracts
from queries.api import lookups
from queries.api.lookup_questions import QuestionKind
from queries.contracts.abi import selector
from tests.queries.api.served_api import ATTESTED, HERE, SEPOLIA, WALLET

pytestmark = [pytest.mark.django_db, pytest.mark.either_database, pytest.mark.urls(HERE)]

CONTRACTS = Path(contracts.__file__).parent
QUESTION = "(uint8,address,uint256,uint256,uint256)"
BALANCE = (1, WALLET, 5, 1, 0)


def data_of(
    question: tuple[int, str, int, int, int] = BALANCE,
    registry: str = ATTESTED.address,
    chain: int = SEPOLIA,
) -> str:
    words = encode(["uint256", "address", QUESTION], [chain, registry, question])
    return f"0x{(selector(f'lookUp(uint256,address,{QUESTION})') + words).hex()}"


def get(data: str) -> Any:
    return Client().get(f"/ccip/{WALLET}/{data}")


def post(data: str) -> Any:
    body = {"sender": WALLET, "data": data}
    return Client().post("/ccip", body, content_type="application/json")


def test_kinds_of_questions_are_those_of_the_contract() -> None:
    source = (CONTRACTS / "FactsLookup.sol").read_text()
    constants = re.findall(r"uint8 private constant (\w+) = (\d+);", source)
    assert {kind.name: str(kind.value) for kind in QuestionKind} == dict(constants)


NO_QUESTIONS = {
    "not hex": "0xzz",
    "another function": f"0x{'11' * 4}{data_of()[10:]}",
    "a cut question": data_of()[:-2],
    "an address with more bytes": data_of()[:74] + "1" + data_of()[75:],
    "no kind": data_of((4, WALLET, 5, 1, 0)),
    "no field of accounts": data_of((1, WALLET, 5, 4, 0)),
    "no field of headers": data_of((3, WALLET, 5, 90, 0)),
    "no index": data_of((5, WALLET, 5, 2**200, 0)),
    "no block": data_of((1, WALLET, 2**200, 1, 0)),
}


@pytest.mark.parametrize("name", NO_QUESTIONS)
def test_what_no_gateway_could_answer_is_404(name: str) -> None:
    answer = get(NO_QUESTIONS[name])
    content = answer.json()
    assert (answer.status_code, content["code"]) == (404, "question_unknown")
    assert content["message"] == content["error"]


ELSEWHERE = {
    "a chain without nodes": data_of(),
    "a block to come": data_of((1, WALLET, 2**63, 1, 0)),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_another_gateway_could_answer_is_503(name: str) -> None:
    for answer in (get(ELSEWHERE[name]), post(ELSEWHERE[name])):
        content = answer.json()
        assert (answer.status_code, content["code"]) == (503, "lookup_unavailable")
        assert content["message"] == content["error"]
        assert (answer["Cache-Control"], content["retryable"]) == ("no-store", True)


@pytest.mark.parametrize("data", [data_of(registry=WALLET), data_of(chain=5)])
def test_a_registry_of_another_server_is_503_without_a_retry(data: str) -> None:
    for answer in (get(data), post(data)):
        content = answer.json()
        assert (answer.status_code, content["code"]) == (503, "registry_unknown")
        assert content["message"] == content["error"]
        assert not content["retryable"]
        assert "Retry-After" not in answer


def test_an_address_has_a_number_of_lookups_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookups, "LOOKUPS_PER_MINUTE", 2)
    errors = [get(data_of()).json()["error"] for _ in range(3)]
    assert ["used them up" in error for error in errors] == [False, False, True]
    other = Client(REMOTE_ADDR="192.0.2.7").get(f"/ccip/{WALLET}/{data_of()}")
    assert other.status_code == 503
    assert "used them up" not in other.json()["error"]
