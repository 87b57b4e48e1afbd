"""Existing clients work with another base URL and no other change."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

import pytest
import requests

from tests.builds import contract_for_tests
from tests.rigs.anvil import Chain, RpcError
from tests.rigs.receiver import Receiver, receiver
from tests.rigs.service import (
    BALANCE,
    HOLDER,
    HOLDER_BALANCE,
    Service,
    accounts,
    request,
    wait_until,
)
from tests.scenarios.fixtures import Install
from tests.scenarios.recorded_requests import ALIASES, RECORDED_REQUESTS, KeyPlace

pytestmark = pytest.mark.either_database

YES, SLOT = (1).to_bytes(32, "big"), (1).to_bytes(32, "big")


@dataclass(frozen=True)
class LegacyService:
    """A service whose chain has the clients' aliases, and values for words in their requests."""

    service: Service
    hook: Receiver
    words: dict[str, str]

    def ask(self, method: str, path: str, where: KeyPlace, **more: Any) -> requests.Response:
        key = self.service.keys[0]
        parameters = more.pop("params", {}) | ({} if where is KeyPlace.HEADER else {"apiKey": key})
        headers = {} if where is KeyPlace.URL else {"api-key": key}
        url = f"{self.service.url}{path}"
        return requests.request(method, url, params=parameters, headers=headers, timeout=30, **more)

    def submit(self, content: Any, where: KeyPlace = KeyPlace.BOTH) -> requests.Response:
        return self.ask("POST", "/submit-batch-query", where, json=content)

    def submit_until_accepted(self, content: Any, where: KeyPlace = KeyPlace.BOTH) -> str:
        """Return the batch's id; retry while its time is later than the last known block."""

        def submit_once() -> str:
            answer = self.submit(content, where).json()
            assert "internalId" in answer or answer["code"] == "block_beyond_head", answer
            return str(answer.get("internalId", ""))

        return wait_until(submit_once)

    def status(self, batch: str, where: KeyPlace) -> requests.Response:
        return self.ask("GET", "/batch-query-status", where, params={"batchQueryId": batch})

    def wait(self, batch: str, where: KeyPlace) -> None:
        wait_until(lambda: self.status(batch, where).json()["queryStatus"] == "DONE")


@pytest.fixture(scope="module")
def place(install: Install) -> Iterator[LegacyService]:
    with ExitStack() as stack:
        chain = stack.enter_context(closing(Chain()))
        hook = stack.enter_context(receiver())
        service = stack.enter_context(install())
        service.settings["ALLOW_PRIVATE_WEBHOOKS"] = "1"
        service.add_native_chain(chain, aliases=list(ALIASES))
        contract = chain.send(None, f"0x{contract_for_tests('Holder').hex()}")["contractAddress"]
        block, timestamp = chain.head, int(chain.header("latest")["timestamp"], 16)
        chain.mine(3)  # a timestamp's block is known once the next one is mined
        service.serve()
        service.prove()
        words = {
            "CHAIN": "31337",
            "BLOCK": f"{block}",
            "TIME": f"{timestamp}",
            "HOLDER": HOLDER.lower(),
            "MISSPELLED": HOLDER.replace("0xd8dA", "0xD8Da"),
            "CONTRACT": contract,
            "HOOK": hook.url,
        }
        yield LegacyService(service, hook, words)


def test_recorded_requests_are_done_and_read_with_the_deployed_selectors(
    place: LegacyService,
) -> None:
    word_pattern = re.compile(rf"\b({'|'.join(place.words)})\b")
    submitted = {}
    for recorded in RECORDED_REQUESTS:
        content = json.loads(word_pattern.sub(lambda word: place.words[word[0]], recorded.body))
        submitted[recorded] = place.submit_until_accepted(content, recorded.key)
        assert re.fullmatch("[0-9A-HJKMNP-TV-Z]{26}", submitted[recorded])
    for recorded, batch in submitted.items():
        place.wait(batch, recorded.key)
        page = f"{place.service.url}/explorer/query/{batch}"  # which clients print
        assert requests.get(page, timeout=30).status_code == 200
    # The calls of deployed contracts: accountField and accountStorageSlotValues.
    registry, block = place.service.registries[31337, 31337], int(place.words["BLOCK"])
    balance = f"0x7177899b{HOLDER[2:]:0>64}{block:064x}{1:064x}"
    slot = f"0x7e445a26{place.words['CONTRACT'][2:]:0>64}{block:064x}{1:064x}"
    chain = place.service.chain
    read = [
        int(chain.rpc("eth_call", {"to": registry, "data": data}, "latest"), 16)
        for data in (balance, slot)
    ]
    stored = chain.rpc("eth_getStorageAt", place.words["CONTRACT"], "0x1", hex(block))
    assert read == [HOLDER_BALANCE, int(stored, 16)]
    (with_hook,) = [batch for recorded, batch in submitted.items() if "HOOK" in recorded.body]
    wait_until(
        lambda: with_hook.encode() in b"".join(received.body for received in place.hook.deliveries)
    )


@pytest.mark.parametrize("where", KeyPlace)
def test_errors_begin_as_existing_clients_expect(place: LegacyService, where: KeyPlace) -> None:
    for account in ("0x12", "vitalik", HOLDER[2:]):
        answer = place.submit(request({31337: {1: accounts(account)}}), where)
        assert answer.status_code == 400
        assert answer.json()["error"].startswith("Invalid account address or ENS")
    for batch in ("01J2VM6JSA6VKKZ0ENWGYYPR18", "x", ""):
        answer = place.status(batch, where)
        assert answer.status_code == 404
        assert answer.json()["error"] == "No query found"


def test_unknown_fields_are_accepted_only_at_the_top_level(place: LegacyService) -> None:
    content = request({31337: {1: accounts(HOLDER)}}, chainId="1", type="batch")
    answer = place.submit(content).json()
    assert "internalId" in answer
    assert all(name in str(answer["warnings"]) for name in ("chainId", "type"))
    content["data"]["31337"]["block:1"]["extra"] = 1
    assert place.submit(content).json()["code"] == "unknown_field"


def test_unknown_aliases_and_empty_entries_are_refused(place: LegacyService) -> None:
    unknown = place.submit(request({31337: {1: accounts(HOLDER)}}) | {"destinationChainId": "SN"})
    error = unknown.json()
    assert (unknown.status_code, error["code"]) == (400, "chain_unsupported")
    assert all(alias in error["error"] for alias in ("31337", "Chain 31337", *ALIASES))
    assert place.service.registries[31337, 31337] in error["detail"]
    empty: list[Any] = [{}, {"accounts": {}}, {"accounts": {HOLDER: {}}}, {"header": []}]
    for entry in empty:
        answer = place.submit(request({31337: {1: entry}}))
        assert (answer.status_code, answer.json()["code"]) == (400, "empty_request")


def test_connections_need_no_key(place: LegacyService) -> None:
    answer = requests.get(f"{place.service.url}/chain-connections", timeout=30)
    (connection,) = answer.json()["connections"]
    assert connection["originChainId"] == connection["destinationChainId"] == "31337"
    chain = {"name": "Chain 31337", "aliases": list(ALIASES)}
    assert connection["origin"] == connection["destination"] == chain
    registry = place.service.registries[31337, 31337]
    assert (connection["kind"], connection["registry"]) == ("native", registry)


def test_a_rejected_batch_has_no_top_level_error(place: LegacyService) -> None:
    """A client throws if there is one, before it reads `queryStatus`."""
    batch = place.service.submit({31337: {"timestamp:1": accounts(HOLDER)}})
    rejection = place.service.rejection(batch)
    assert rejection["code"] == "time_too_early"
    status = place.status(batch, KeyPlace.HEADER).json()
    assert "error" not in status
    assert (status["queryStatus"], status["info"]) == ("REJECTED", [rejection["message"]])


def test_get_batch_queries_id_has_status_and_values(place: LegacyService) -> None:
    batch = place.service.submit_balance(2)
    place.service.wait(batch)
    content = place.ask("GET", f"/batch-queries/{batch}", KeyPlace.HEADER).json()
    assert content["queryStatus"] == content["batchQuery"]["status"] == "DONE"
    word = content["results"]["31337"]["block:2"]["accounts"][HOLDER]["BALANCE"]
    assert int(word, 16) == place.service.chain.balance(HOLDER, 2)


def test_data_and_results_have_the_keys_of_the_request(place: LegacyService) -> None:
    """In the spelling of the request, because clients look up the keys that they sent."""
    block, timestamp, contract = (place.words[word] for word in ("BLOCK", "TIME", "CONTRACT"))
    lower, odd, slots = HOLDER.lower(), place.words["MISSPELLED"], ["0x1", f"0x{'01':>064}"]
    data: dict[str, Any] = {
        "SN_SEPOLIA": {
            f"block:{block}": {
                "header": ["STATE_ROOT", "PROPOSER"],
                "accounts": {
                    HOLDER: {"props": ["BALANCE"], "slots": []},
                    contract: {"props": [], "slots": [*slots, "0xA", f"0x{3:064X}"]},
                },
            },
            f"timestamp:{timestamp}": {
                "accounts": {
                    lower: {"props": ["BALANCE"], "slots": ["0x0"]},
                    odd: {"props": ["BALANCE"], "slots": ["0x00"]},
                }
            },
        }
    }
    batch = place.submit_until_accepted(request({}) | {"data": data})
    path = f"/batch-queries/{batch}"

    def get_batch(**parameters: Any) -> Any:
        return place.ask("GET", path, KeyPlace.BOTH, params=parameters).json()

    assert get_batch()["batchQuery"]["data"] == data
    place.service.wait(batch)
    assert get_batch()["batchQuery"]["data"] == data
    registries = {query["registry"] for query in get_batch()["queries"]}
    assert registries == {place.service.registries[31337, 31337]}  # checksummed
    (results,) = get_batch()["results"].values()
    first, second = results[f"block:{block}"], results[f"timestamp:{timestamp}"]
    header, chain = place.service.chain.header(int(block)), place.service.chain
    assert first["header"].keys() == {"PROPOSER", "STATE_ROOT"}
    assert first["header"]["STATE_ROOT"] == header["stateRoot"]
    assert first["accounts"][HOLDER] == {"BALANCE": f"0x{HOLDER_BALANCE:064x}"}
    assert first["accounts"][contract] == {
        slot: chain.rpc("eth_getStorageAt", contract, hex(int(slot, 16)), hex(int(block)))
        for slot in data["SN_SEPOLIA"][f"block:{block}"]["accounts"][contract]["slots"]
    }
    assert second["accounts"] == {
        lower: {"BALANCE": f"0x{HOLDER_BALANCE:064x}", "0x0": f"0x{0:064x}"},
        odd: {"BALANCE": f"0x{HOLDER_BALANCE:064x}", "0x00": f"0x{0:064x}"},
    }
    brief = get_batch(details=0)
    assert (brief["batchQuery"]["data"], brief["results"]) == ({}, {})


def test_the_key_may_be_a_bearer_token(place: LegacyService) -> None:
    url = f"{place.service.url}/api-key"
    for key, status in ((place.service.keys[0], 200), ("tct_nonsense", 401)):
        headers = {"Authorization": f"Bearer {key}"}
        assert requests.get(url, headers=headers, timeout=30).status_code == status


def test_the_second_generation_api_submits_and_polls(place: LegacyService) -> None:
    alive = requests.get(f"{place.service.url}/is-alive", timeout=30)
    assert alive.json() == {"message": "Alive!"}

    def call(method: str, path: str, **more: Any) -> Any:
        answer = place.ask(method, path, KeyPlace.HEADER, **more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def submit(selector: str) -> str:
        entry = accounts(HOLDER) | {"header": ["PARENT_HASH"]}
        content = {"destination_chain_id": "31337", "data": {"31337": {selector: entry}}}
        return str(call("POST", "/submit-request", json=content)["request_id"])

    def statuses(request_id: str) -> set[str]:
        return {query["status"] for query in call("GET", f"/get_queries/{request_id}")["queries"]}

    done = submit("block:3")
    wait_until(lambda: statuses(done) == {"COMPLETED"})
    queries = call("GET", f"/get_queries/{done}")["queries"]
    assert sorted(query["typ"] for query in queries) == ["ACCOUNT", "HEADER"]
    assert all(query["completed_at"] >= query["created_at"] for query in queries)
    actions = call("GET", f"/get_actions/{queries[-1]['internal_id']}")["actions"]
    assert {action["status"] for action in actions} == {"COMPLETED"}
    assert len(actions) in {3, 4}
    failed = submit("timestamp:1")
    # Clients poll until COMPLETED or FAILED.
    wait_until(lambda: statuses(failed) == {"FAILED"})
    rejection = place.service.rejection(failed)
    for query in call("GET", f"/get_queries/{failed}")["queries"]:
        assert {name: query[name] for name in ("message", "code", "retryable")} == {
            name: rejection[name] for name in ("message", "code", "retryable")
        }
        assert query["completed_at"] >= query["created_at"]
        first, *others = call("GET", f"/get_actions/{query['internal_id']}")["actions"]
        assert (first["status"], first["code"]) == ("FAILED", "time_too_early")
        assert first["completed_at"] == query["completed_at"]
        assert {(other["status"], other["completed_at"]) for other in others} == {("PENDING", None)}
        assert not any("code" in other for other in others)
    # A query that ends only with its batch can be submitted again.
    data = {
        selector: accounts(HOLDER)
        for selector in ("timestamp:1", f"block:{place.service.chain.head + 9}")
    }
    content = {"destination_chain_id": "31337", "data": {"31337": data}}
    mixed = str(call("POST", "/submit-request", json=content)["request_id"])
    wait_until(lambda: statuses(mixed) == {"FAILED"})
    queries = call("GET", f"/get_queries/{mixed}")["queries"]
    assert sorted(query["retryable"] for query in queries) == [False, True]
    assert sum(query["message"].startswith("Another query failed: ") for query in queries) == 1


def test_the_second_generation_api_answers_with_page_and_warnings(place: LegacyService) -> None:
    content = {"destination_chain_id": "31337", "data": {"31337": {"block:1": accounts(HOLDER)}}}
    answer = place.ask("POST", "/submit-request", KeyPlace.HEADER, json=content | {"label": "x"})
    content = answer.json()
    assert content["page"] == f"{place.service.url}/explorer/query/{content['request_id']}"
    assert "label" in str(content["warnings"])


def test_get_queries_has_all_queries_unless_pages_are_requested(place: LegacyService) -> None:
    """Existing clients do not page, and poll until all queries have ended."""
    many = accounts(*(f"0x{number:040x}" for number in range(1, 251)))
    content = {"destination_chain_id": "31337", "data": {"31337": {"block:2": many}}}
    answer = place.ask("POST", "/submit-request", KeyPlace.HEADER, json=content)
    path = f"/get_queries/{answer.json()['request_id']}"

    def page(**parameters: Any) -> Any:
        return place.ask("GET", path, KeyPlace.HEADER, params=parameters).json()

    def have_ended() -> bool:
        return {query["status"] for query in page()["queries"]} == {"COMPLETED"}

    wait_until(have_ended)
    whole = page()
    assert (len(whole["queries"]), whole["next_query"]) == (250, None)
    paged, next_query = [], 0
    while next_query is not None:
        part = page(fromQuery=next_query)
        assert len(part["queries"]) <= 100
        paged += [query["internal_id"] for query in part["queries"]]
        next_query = part["next_query"]
    assert paged == [query["internal_id"] for query in whole["queries"]]
    batch = f"/batch-queries/{answer.json()['request_id']}"
    whole = place.ask("GET", batch, KeyPlace.HEADER).json()["batchQuery"]["data"]
    assert whole == {"31337": {"block:2": many}}


def test_facts_of_the_second_generation_are_read_through_the_router(place: LegacyService) -> None:
    service, chain = place.service, place.service.chain
    router = service.manage("deploy_router", "--destination", "31337", "--yes").stdout.strip()
    (connection,) = service.get("/chain-connections").json()["connections"]
    assert connection["router"] == router
    block, timestamp, contract = (place.words[word] for word in ("BLOCK", "TIME", "CONTRACT"))
    balance: dict[str, Any] = {"props": ["BALANCE"], "slots": []}
    entry = {"header": ["TIMESTAMP"], "accounts": {HOLDER: balance, contract: {"slots": ["0x1"]}}}
    content = {
        "destination_chain_id": "31337",
        "data": {"31337": {f"timestamp:{timestamp}": entry}},
    }
    sent = place.ask("POST", "/submit-request", KeyPlace.HEADER, json=content).json()

    def is_completed() -> bool:
        content = place.ask("GET", f"/get_queries/{sent['request_id']}", KeyPlace.HEADER).json()
        return {query["status"] for query in content["queries"]} == {"COMPLETED"}

    wait_until(is_completed)
    number = int(block)
    slot_value = int(chain.rpc("eth_getStorageAt", contract, "0x1", hex(number)), 16)
    facts: list[tuple[str, tuple[Any, ...], int]] = [
        (
            "accountField{}(uint256,uint256,address,uint8)",
            (number, HOLDER, BALANCE),
            HOLDER_BALANCE,
        ),
        (
            "accountField{}(uint256,address,uint256,uint8)",
            (HOLDER, number, BALANCE),
            HOLDER_BALANCE,
        ),
        ("storageSlot{}(uint256,uint256,address,bytes32)", (number, contract, SLOT), slot_value),
        ("storageSlot{}(uint256,address,uint256,bytes32)", (contract, number, SLOT), slot_value),
        ("headerField{}(uint256,uint256,uint8)", (number, 11), int(timestamp)),
        ("timestamp{}(uint256,uint256)", (int(timestamp),), number),
    ]
    for function, arguments, value in facts:
        word = value.to_bytes(32, "big")
        assert chain.call(router, function.format(""), 31337, *arguments) == word
        assert chain.call(router, function.format("Safe"), 31337, *arguments) == YES + word
        assert chain.call(router, function.format("Safe"), 1, *arguments) == bytes(64)
        with pytest.raises(RpcError):
            chain.call(router, function.format(""), 1, *arguments)


def test_a_404_has_cors_headers(place: LegacyService) -> None:
    headers = {"Origin": "https://app.example", "Accept": "application/json"}
    for path in ("/no-such-address", "/get_queries/x"):
        headers["api-key"] = place.service.keys[0]
        answer = requests.get(f"{place.service.url}{path}", headers=headers, timeout=30)
        assert (answer.status_code, answer.headers["Access-Control-Allow-Origin"]) == (404, "*")
