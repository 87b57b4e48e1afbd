"""Every refusal of the API that a client can provoke: its status, its code and its place."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
import requests
from eth_account import Account
from eth_account.messages import encode_typed_data

from tests.rigs.anvil import Chain
from tests.rigs.faulty_node import Node
from tests.rigs.service import HOLDER, Service, accounts, request, until
from tests.scenarios.production import PROXY, serve_in_production
from tests.scenarios.test_keys import ACCOUNTS, shown_keys
from tests.scenarios.visitor import Visitor

SETTINGS = {
    "BATCH_BODY_BYTES": "30000",
    "BATCH_BLOCKS": "2",
    "BATCH_ACCOUNTS": "200",
    "BATCH_SLOTS": "4",
    "FACTS_PER_DAY": "300",
}
GONE = "http://127.0.0.1:9"
SIGNERS = [Account.from_key(32 * bytes([number])) for number in (1, 2)]
# A fault of the code itself: nothing that a client does provokes it.
NOT_PROVOKED = {"fault_of_ours"}


@dataclass(frozen=True)
class Place:
    """A server whose chain 5 is attested by two signers, and whose chain 10 is not free and gone.

    At `production` is the same in production and without routes; `broken` reaches no database.
    """

    service: Service
    five: Chain
    node: Node  # of chain 5
    operator: Visitor
    production: str
    broken: str


@pytest.fixture(scope="module")
def place(install: Callable[[], AbstractContextManager[Service]]) -> Iterator[Place]:
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
        service.serve(DATABASE_URL=no_database(service.database))
        broken = service.url
        service.serve(OPERATORS=operator.key.address, **SETTINGS)
        service.prove()
        operator.url = service.url
        yield Place(service, five, node, operator.sign_in(), production, broken)


def no_database(address: str) -> str:
    """A database of the same kind that is not there."""
    if address.startswith("sqlite"):
        return "sqlite:////nowhere/at/all.sqlite3"
    return f"{address}_that_is_not_there"


# How it is asked

Ask = Callable[[Place], requests.Response]


def of_a_visitor(place: Place) -> dict[str, str]:
    """The header with the key of someone new, whose limits are untouched."""
    return {"api-key": shown_keys(Visitor(place.service.url).sign_in())[0]}


def posted(content: Any, **headers: str) -> Ask:
    """A batch, as text or as what JSON is made of."""

    def ask(place: Place) -> requests.Response:
        if isinstance(content, str):
            sent = {"Content-Type": "application/json", "api-key": place.service.keys[0], **headers}
            address = f"{place.service.url}/submit-batch-query"
            return requests.post(address, content, headers=sent, timeout=60)
        return place.service.post("/submit-batch-query", content, **headers)

    return ask


def batch(data: Any, **more: Any) -> Ask:
    return posted({"destinationChainId": "31337", "fee": "0", "data": data, **more})


def block(entry: Any, selector: str = "block:5") -> Ask:
    return batch({"31337": {selector: entry}})


def account(entry: Any, address: str = HOLDER) -> Ask:
    return block({"accounts": {address: entry}})


def webhook(**more: Any) -> Ask:
    return posted(request({31337: {5: {"header": ["NONCE"]}}}) | {"webhook": more})


def got(path: str, **parameters: Any) -> Ask:
    return lambda place: place.service.get(path, **parameters)


def with_key(key: str) -> Ask:
    return lambda place: place.service.get("/api-key", key=key)


def again_and_again(ask: Callable[[], requests.Response], most: int) -> requests.Response:
    """The first answer that is another than the very first."""
    first = ask()
    for _ in range(most):
        if (answer := ask()).status_code != first.status_code:
            return answer
    raise AssertionError(f"all like the first: {first.text}")


def revoked(place: Place) -> requests.Response:
    visitor = Visitor(place.service.url).sign_in()
    (key,) = shown_keys(visitor)
    visitor.submit("/dashboard", "/keys/[^/]+/revoke")
    return place.service.get("/api-key", key=key)


def disabled(place: Place) -> requests.Response:
    visitor = Visitor(place.service.url).sign_in()
    (key,) = shown_keys(visitor)
    place.operator.choose(ACCOUNTS, visitor.key.address, "disable")
    return place.service.get("/api-key", key=key)


def requests_used_up(place: Place) -> requests.Response:
    headers = PROXY | of_a_visitor(place)
    address = f"{place.production}/api-key"
    return again_and_again(partial(requests.get, address, headers=headers, timeout=30), 3)


def used_up(method: str, path: str, content: Any = None, most: int = 150) -> Ask:
    """By someone new, who asks until it is too often."""

    def ask(place: Place) -> requests.Response:
        with requests.Session() as session:
            session.headers.update(of_a_visitor(place))
            address = f"{place.service.url}{path}"
            send = partial(session.request, method, address, json=content, timeout=60)
            return again_and_again(send, most)

    return ask


def facts_used_up(place: Place) -> requests.Response:
    many = accounts(*(f"0x{number:040x}" for number in range(1, 161)))
    content, headers = request({31337: {5: many}}), of_a_visitor(place)
    submit = partial(place.service.post, "/submit-batch-query", content, **headers)
    assert submit().status_code == 200
    return submit()


def reused(place: Place) -> requests.Response:
    for props in (["NONCE"], ["BALANCE"]):
        content = request({31337: {5: accounts(HOLDER, props=props)}})
        answer = place.service.post("/submit-batch-query", content, Idempotency_Key="one")
    return answer


def estimated(chain: int) -> Ask:
    content = request({chain: {5: accounts(HOLDER)}}, to=31337 if chain == 5 else chain)
    return lambda place: place.service.post("/estimate", content, **of_a_visitor(place))


def witnessed(block: int | str) -> Ask:
    content = request({5: {block: accounts(HOLDER)}})
    return lambda place: place.service.post("/witness", content, **of_a_visitor(place))


def busy_estimates(place: Place) -> requests.Response:
    """Two at once of one account, while a node takes its time."""
    place.node.delay_answers(60)
    content, headers = request({5: {5: accounts(HOLDER)}}), of_a_visitor(place)
    with ThreadPoolExecutor(2) as pool:
        ask = partial(place.service.post, "/estimate", content, **headers)
        first, _ = wait([pool.submit(ask) for _ in range(2)], return_when=FIRST_COMPLETED)
        place.node.recover()
    return first.pop().result()


def proof_of(place: Place, batch: str) -> requests.Response:
    return place.service.get(f"/batch-queries/{batch}/proof")


def waiting(place: Place) -> str:
    """A batch that waits for its block to be attested."""
    batch = place.service.submit({5: {5: accounts(HOLDER)}})
    place.service.wait_for(batch, "not_attested")
    return batch


def cancelled(place: Place, batch: str) -> requests.Response:
    return place.service.post(f"/batch-queries/{batch}/cancel")


def cancelled_when_done(place: Place) -> requests.Response:
    batch = place.service.submit_balance(4)
    place.service.wait(batch)
    return cancelled(place, batch)


def cancelled_when_signed(place: Place) -> requests.Response:
    chain = place.service.chain
    chain.automine(on=False)
    batch = place.service.submit_balance(3)
    place.service.wait_for(batch, "transaction_on_its_way")
    answer = cancelled(place, batch)
    chain.automine(on=True)
    chain.mine()
    place.service.wait(batch)
    return answer


def proof_of_a_rejected_one(place: Place) -> requests.Response:
    batch = place.service.submit({31337: {"timestamp:1": accounts(HOLDER)}})
    place.service.wait(batch, end="REJECTED")
    return proof_of(place, batch)


def proof_without_a_route(place: Place) -> requests.Response:
    batch = place.service.submit_balance(5)
    place.service.wait(batch)
    address = f"{place.production}/batch-queries/{batch}/proof"
    return requests.get(address, headers=PROXY | of_a_visitor(place), timeout=30)


def busy_proofs(place: Place) -> requests.Response:
    many = accounts(*(f"0x{number:040x}" for number in range(1, 201)))
    batch = place.service.submit({31337: {5: many}})
    place.service.wait(batch)
    refused: list[requests.Response] = []

    def ask(_: int) -> None:
        if (answer := proof_of(place, batch)).status_code != 200:
            refused.append(answer)

    with ThreadPoolExecutor(8) as pool:
        until(lambda: list(pool.map(ask, range(8))) and refused, what="proofs are busy")
    return refused[0]


def attested(by: int = 0, **other: Any) -> Callable[[Place], dict[str, str]]:
    """What a signer says of block 5 of chain 5, or of something `other`."""

    def word(place: Place) -> dict[str, str]:
        registry = place.service.registries[5, 31337]
        told = {"block": 5, "hash": place.five.header(5)["hash"]} | other
        types = {
            "BlockHash": [
                {"name": "sourceChainId", "type": "uint256"},
                {"name": "blockNumber", "type": "uint256"},
                {"name": "blockHash", "type": "bytes32"},
            ]
        }
        domain = {
            "name": "Tacitus block hashes",
            "version": "1",
            "chainId": 31337,
            "verifyingContract": registry,
        }
        message = {"sourceChainId": 5, "blockNumber": told["block"], "blockHash": told["hash"]}
        key = [*SIGNERS, Account.from_key(32 * b"\3")][by]
        signed = key.sign_message(encode_typed_data(domain, types, message))
        return {
            "originChainId": "5",
            "destinationChainId": "31337",
            "registry": registry,
            "block": str(told["block"]),
            "blockHash": told["hash"],
            "signature": f"0x{bytes(signed.signature).hex()}",
        }

    return word


def given(place: Place, word: Any) -> requests.Response:
    return requests.post(f"{place.service.url}/attestations", json=word, timeout=30)


def contradicted(place: Place) -> requests.Response:
    waiting(place)
    assert given(place, attested()(place)).status_code == 200
    return given(place, attested(hash=f"0x{32 * '07'}")(place))


def attestations_used_up(place: Place) -> requests.Response:
    with requests.Session() as session:
        session.headers.update(PROXY)
        address = f"{place.production}/attestations/wanted"
        return again_and_again(partial(session.get, address, timeout=30), 150)


SLOTS = [hex(slot) for slot in range(5)]
TOO_MANY = {f"0x{number:040x}": {"props": ["NONCE"]} for number in range(201)}
NONCE = {"header": ["NONCE"]}
OK_BATCH = request({31337: {5: NONCE}})
BLOCKS = {f"block:{number}": NONCE for number in range(3)}
TEXT = {"Content-Type": "text/plain"}
HOOK, LONG = "https://example.org/hook", {"x": 4_096 * "a"}
BLOCK = "data.31337.block:5"
ACCOUNT = f"{BLOCK}.accounts.{HOLDER}"
REFUSED: dict[str, tuple[int, str, Ask]] = {
    "key_missing": (401, "api-key", with_key("")),
    "key_unknown": (401, "api-key", with_key("tct_nonsense")),
    "key_revoked": (401, "api-key", revoked),
    "account_disabled": (401, "api-key", disabled),
    "too_many_requests": (429, "", requests_used_up),
    "unavailable": (
        503,
        "",
        lambda place: requests.get(
            f"{place.broken}/api-key", headers={"api-key": place.service.keys[0]}, timeout=60
        ),
    ),
    "host_unknown": (
        400,
        "",
        lambda place: requests.get(
            f"{place.service.url}/chain-connections", headers={"Host": "other.example"}, timeout=30
        ),
    ),
    "https_needed": (
        403,
        "",
        lambda place: requests.get(
            f"{place.production}/chain-connections", headers={"Host": PROXY["Host"]}, timeout=30
        ),
    ),
    "nothing_here": (404, "", got("/batch-querys")),
    "method_not_allowed": (405, "", got("/submit-batch-query")),
    "bad_request": (
        400,
        "",
        got("/batch-queries", **{f"a{number}": "" for number in range(1_001)}),
    ),
    "body_too_large": (413, "", posted("{" + 40_000 * " ")),
    "content_type_unsupported": (
        415,
        "Content-Type",
        posted("{}", **{"Content-Type": "text/plain"}),
    ),
    "not_json": (400, "", posted("{'")),
    "nested_too_deeply": (400, 32 * "[0]", posted(40 * "[" + 40 * "]")),
    "duplicate_key": (400, "", posted('{"fee": "0", "fee": "1"}')),
    "text_not_storable": (400, "fee", posted('{"fee": "\\u0000"}')),
    "wrong_type": (400, "data", batch(5)),
    "missing_field": (400, "fee", posted({"destinationChainId": "31337", "data": {}})),
    "unknown_field": (400, f"{ACCOUNT}.prop", account({"prop": ["NONCE"]})),
    "number_malformed": (400, "data.-1", batch({"-1": {"block:5": NONCE}})),
    "chain_unsupported": (
        400,
        "destinationChainId",
        posted(OK_BATCH | {"destinationChainId": "6"}),
    ),
    "route_unsupported": (400, "data.10", batch({"10": {"block:5": NONCE}})),
    "fee_malformed": (400, "fee", posted(OK_BATCH | {"fee": "1.5"})),
    "fee_missing": (
        400,
        "destination_chain_id",
        lambda place: place.service.post(
            "/submit-request", {"destination_chain_id": "10", "data": {"10": {"block:5": NONCE}}}
        ),
    ),
    "fee_too_low": (400, "fee", posted(request({10: {5: NONCE}}, to=10))),
    "selector_malformed": (400, "data.31337.latest", block(NONCE, "latest")),
    "block_beyond_head": (400, "data.31337.block:100000", block(NONCE, "block:100000")),
    "account_malformed": (400, ACCOUNT[:-1], account({"props": ["NONCE"]}, HOLDER[:-1])),
    "unknown_prop": (400, f"{ACCOUNT}.props[0]", account({"props": ["balance"]})),
    "unknown_header_field": (400, f"{BLOCK}.header[0]", block({"header": ["HASH"]})),
    "slot_malformed": (400, f"{ACCOUNT}.slots[0]", account({"slots": ["1"]})),
    "webhook_malformed": (400, "webhook.url", webhook(url="ftp://example.org")),
    "nothing_asked": (400, "data", batch({})),
    "too_many_blocks": (
        400,
        "data.31337.block:2",
        batch({"31337": {f"block:{n}": NONCE for n in range(3)}}),
    ),
    "too_many_accounts": (400, f"{BLOCK}.accounts.0x{200:040x}", block({"accounts": TOO_MANY})),
    "too_many_slots": (400, f"{ACCOUNT}.slots[4]", account({"slots": SLOTS})),
    "too_many_facts": (429, "", facts_used_up),
    "more_facts_than_a_day": (
        400,
        "data",
        block(accounts(*list(TOO_MANY)[:200], props=["NONCE", "BALANCE"])),
    ),
    "too_many_webhook_headers": (
        400,
        "webhook.headers",
        webhook(url=HOOK, headers={f"x-{number}": "" for number in range(11)}),
    ),
    "webhook_headers_too_large": (
        400,
        "webhook.headers",
        webhook(url=HOOK, headers={"x": 4_096 * "a"}),
    ),
    "idempotency_key_malformed": (400, "Idempotency-Key", posted(OK_BATCH, Idempotency_Key="a b")),
    "idempotency_key_reused": (409, "Idempotency-Key", reused),
    "chain_unavailable": (503, "", estimated(10)),
    "too_many_estimates": (429, "", used_up("POST", "/estimate", OK_BATCH)),
    "not_provable_now": (409, "", witnessed(5)),
    "not_provable": (400, "", witnessed("timestamp:5")),
    "batch_unknown": (404, "batchQueryId", got("/batch-query-status", batchQueryId="x")),
    "batch_ended": (409, "batch", cancelled_when_done),
    "batch_signed": (409, "batch", cancelled_when_signed),
    "batch_not_done": (409, "", lambda place: proof_of(place, waiting(place))),
    "batch_rejected": (409, "", proof_of_a_rejected_one),
    "proof_unavailable": (409, "", proof_without_a_route),
    "proofs_busy": (503, "", busy_proofs),
    "attestation_malformed": (400, "originChainId", lambda place: given(place, {})),
    "attestation_untrusted": (400, "signature", lambda place: given(place, attested(by=2)(place))),
    "attestation_contradicted": (409, "blockHash", contradicted),
    "attestation_unwanted": (409, "block", lambda place: given(place, attested(block=4)(place))),
    "too_many_attestations": (429, "", attestations_used_up),
    "delivery_unknown": (
        404,
        "event",
        lambda place: place.service.post("/webhook-deliveries/x/replay"),
    ),
    "too_many_replays": (429, "", used_up("POST", "/webhook-deliveries/x/replay")),
    "parameter_malformed": (400, "limit", got("/batch-queries", limit="x")),
    "estimates_busy": (503, "", busy_estimates),
}


@pytest.mark.parametrize("code", REFUSED)
def test_each_refusal_has_its_status_code_and_path(place: Place, code: str) -> None:
    status, path, ask = REFUSED[code]
    answer = ask(place)
    told = answer.json()
    assert (answer.status_code, told["code"], told["path"]) == (status, code, path), told
    assert set(told) - {"detail"} == {"error", "code", "path", "retryable"}
    assert told.get("detail", told["error"]).endswith(".")
    assert not told["retryable"] or status in {400, 409, 429, 503}
    assert (status in {429, 503}) <= told["retryable"]


def test_every_documented_error_code_is_provoked(place: Place) -> None:
    described = requests.get(f"{place.service.url}/openapi.json", timeout=30).json()
    codes = described["components"]["schemas"]["Error"]["properties"]["code"]["enum"]
    assert set(codes) - NOT_PROVOKED == set(REFUSED)
    page = requests.get(f"{place.service.url}/docs/api", timeout=30).text
    assert [code for code in codes if code not in page] == []


def test_every_answer_has_rate_limit_headers(place: Place) -> None:
    headers = PROXY | of_a_visitor(place)
    address = f"{place.production}/api-key"
    answers = [requests.get(address, headers=headers, timeout=30) for _ in range(3)]
    told = [(answer.status_code, answer.headers["RateLimit-Remaining"]) for answer in answers]
    assert told == [(200, "1"), (200, "0"), (429, "0")]
    for answer in answers:
        assert answer.headers["RateLimit-Limit"] == "2"
        assert 0 < int(answer.headers["RateLimit-Reset"]) <= 60
        assert ("Retry-After" in answer.headers) == (answer.status_code == 429)


def test_a_batch_at_the_limits_is_accepted(place: Place) -> None:
    most = {1: accounts(HOLDER, slots=SLOTS[:4]), 2: accounts(*list(TOO_MANY)[:199])}
    answer = place.service.post(
        "/submit-batch-query", request({31337: most}), **of_a_visitor(place)
    )
    assert answer.status_code == 200, answer.text


def test_chunked_bodies_have_the_same_limit(place: Place) -> None:
    address = f"{place.service.url}/submit-batch-query"
    headers = of_a_visitor(place) | {"Content-Type": "application/json"}
    content = json.dumps(OK_BATCH).encode()
    for chunks, status in ((content[:10], content[10:]), 200), ((content, 40_000 * b" "), 413):
        answer = requests.post(address, data=iter(chunks), headers=headers, timeout=30)
        assert answer.status_code == status, answer.text
