"""Requests that the API refuses, by error code: HTTP status, path and how to send them."""

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import Any

import requests
from eth_abi.abi import encode
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_utils.crypto import keccak

from tests.rigs.anvil import Chain
from tests.rigs.faulty_node import Node
from tests.rigs.service import HOLDER, Service, accounts, request, wait_until
from tests.scenarios.production import PROXY
from tests.scenarios.test_keys import ACCOUNTS, shown_keys
from tests.scenarios.visitor import Visitor

SIGNERS = [Account.from_key(32 * bytes([number])) for number in (1, 2)]


@dataclass(frozen=True)
class ServerUnderTest:
    """A server with chain 5, attested by two signers, and chain 10, which is not free and down.

    `production` is the URL of a server in production without routes; `broken` has no database.
    """

    service: Service
    five: Chain
    node: Node  # of chain 5
    operator: Visitor
    production: str
    broken: str


Send = Callable[[ServerUnderTest], requests.Response]


def new_key_header(place: ServerUnderTest) -> dict[str, str]:
    """A header with the key of a new account, whose limits are unused."""
    return {"api-key": shown_keys(Visitor(place.service.url).sign_in())[0]}


def post(content: Any, **headers: str) -> Send:
    """POST a batch, as text or as JSON values."""

    def send(place: ServerUnderTest) -> requests.Response:
        if isinstance(content, str):
            sent = {"Content-Type": "application/json", "api-key": place.service.keys[0], **headers}
            address = f"{place.service.url}/submit-batch-query"
            return requests.post(address, content, headers=sent, timeout=60)
        return place.service.post("/submit-batch-query", content, **headers)

    return send


def batch(data: Any, **more: Any) -> Send:
    return post({"destinationChainId": "31337", "fee": "0", "data": data, **more})


def block(entry: Any, selector: str = "block:5") -> Send:
    return batch({"31337": {selector: entry}})


def account(entry: Any, address: str = HOLDER) -> Send:
    return block({"accounts": {address: entry}})


def webhook(**more: Any) -> Send:
    return post(request({31337: {5: {"header": ["NONCE"]}}}) | {"webhook": more})


def feed_body(chain: int = 31337, **more: Any) -> dict[str, Any]:
    batch = request({chain: {"block:$due": NONCE}}, to=chain, fee="10")
    return {"every": "10000 blocks", "batch": batch, **more}


def feed(chain: int = 31337, **more: Any) -> Send:
    return lambda place: place.service.post("/feeds", feed_body(chain, **more))


def resume_ended_feed(place: ServerUnderTest) -> requests.Response:
    feed = place.service.post("/feeds", feed_body()).json()["id"]
    address, headers = f"{place.service.url}/feeds/{feed}", {"api-key": place.service.keys[0]}
    requests.delete(address, headers=headers, timeout=30)
    return requests.patch(address, json={"state": "ACTIVE"}, headers=headers, timeout=30)


def run_feed_of_logs(place: ServerUnderTest) -> requests.Response:
    content = feed_body(on={"address": HOLDER, "event": "Moved(uint256)"})
    del content["every"]
    feed = place.service.post("/feeds", content).json()["id"]
    return place.service.post(f"/feeds/{feed}/runs")


def delivery(**more: Any) -> Send:
    call = {"to": HOLDER, "function": "f(uint256)", "args": ["5"], "gas": "50000"}
    return post(request({31337: {5: {"header": ["NONCE"]}}}) | {"deliver": [call | more]})


def get(path: str, **parameters: Any) -> Send:
    return lambda place: place.service.get(path, **parameters)


def with_key(key: str) -> Send:
    return lambda place: place.service.get("/api-key", key=key)


def get_without_database(place: ServerUnderTest) -> requests.Response:
    headers = {"api-key": place.service.keys[0]}
    return requests.get(f"{place.broken}/api-key", headers=headers, timeout=60)


def get_with_other_host(place: ServerUnderTest) -> requests.Response:
    address, headers = f"{place.service.url}/chain-connections", {"Host": "other.example"}
    return requests.get(address, headers=headers, timeout=30)


def get_without_https(place: ServerUnderTest) -> requests.Response:
    address, headers = f"{place.production}/chain-connections", {"Host": PROXY["Host"]}
    return requests.get(address, headers=headers, timeout=30)


def submit_without_fee(place: ServerUnderTest) -> requests.Response:
    content = {"destination_chain_id": "10", "data": {"10": {"block:5": NONCE}}}
    return place.service.post("/submit-request", content)


def repeat_until_refused(
    send: Callable[[], requests.Response], max_tries: int
) -> requests.Response:
    """Return the first answer with another status than the first one."""
    first = send()
    for _ in range(max_tries):
        if (answer := send()).status_code != first.status_code:
            return answer
    raise AssertionError(f"all answers are like the first: {first.text}")


def use_revoked_key(place: ServerUnderTest) -> requests.Response:
    visitor = Visitor(place.service.url).sign_in()
    (key,) = shown_keys(visitor)
    visitor.submit("/dashboard/keys", "/keys/[^/]+/revoke")
    return place.service.get("/api-key", key=key)


def use_disabled_account(place: ServerUnderTest) -> requests.Response:
    visitor = Visitor(place.service.url).sign_in()
    (key,) = shown_keys(visitor)
    place.operator.choose(ACCOUNTS, visitor.key.address, "disable")
    return place.service.get("/api-key", key=key)


def use_up_requests(place: ServerUnderTest) -> requests.Response:
    headers = PROXY | new_key_header(place)
    address = f"{place.production}/api-key"
    return repeat_until_refused(partial(requests.get, address, headers=headers, timeout=30), 3)


def use_up(method: str, path: str, content: Any = None) -> Send:
    """Repeat a request with a new key until it is refused."""

    def send_until_refused(place: ServerUnderTest) -> requests.Response:
        with requests.Session() as session:
            session.headers.update(new_key_header(place))
            address = f"{place.service.url}{path}"
            send = partial(session.request, method, address, json=content, timeout=60)
            return repeat_until_refused(send, 150)

    return send_until_refused


def use_up_facts(place: ServerUnderTest) -> requests.Response:
    many = accounts(*(f"0x{number:040x}" for number in range(1, 161)))
    content, headers = request({31337: {5: many}}), new_key_header(place)
    submit = partial(place.service.post, "/submit-batch-query", content, **headers)
    assert submit().status_code == 200
    return submit()


def reuse_idempotency_key(place: ServerUnderTest) -> requests.Response:
    for props in (["NONCE"], ["BALANCE"]):
        content = request({31337: {5: accounts(HOLDER, props=props)}})
        answer = place.service.post("/submit-batch-query", content, Idempotency_Key="one")
    return answer


def estimate(chain: int) -> Send:
    content = request({chain: {5: accounts(HOLDER)}}, to=31337 if chain == 5 else chain)
    return lambda place: place.service.post("/estimate", content, **new_key_header(place))


def witness(block: int | str) -> Send:
    content = request({5: {block: accounts(HOLDER)}})
    return lambda place: place.service.post("/witness", content, **new_key_header(place))


def overload_estimates(place: ServerUnderTest) -> requests.Response:
    """Request two estimates at once with one key while a node is slow."""
    place.node.delay_answers(60)
    content, headers = request({5: {5: accounts(HOLDER)}}), new_key_header(place)
    with ThreadPoolExecutor(2) as pool:
        send = partial(place.service.post, "/estimate", content, **headers)
        first, _ = wait([pool.submit(send) for _ in range(2)], return_when=FIRST_COMPLETED)
        place.node.recover()
    return first.pop().result()


def get_proof(place: ServerUnderTest, batch: str) -> requests.Response:
    return place.service.get(f"/batch-queries/{batch}/proof")


def unattested_batch(place: ServerUnderTest) -> str:
    """Submit a batch that waits for attestations."""
    batch = place.service.submit({5: {5: accounts(HOLDER)}})
    place.service.wait_for(batch, "not_attested")
    return batch


def cancel(place: ServerUnderTest, batch: str) -> requests.Response:
    return place.service.post(f"/batch-queries/{batch}/cancel")


def cancel_done_batch(place: ServerUnderTest) -> requests.Response:
    batch = place.service.submit_balance(4)
    place.service.wait(batch)
    return cancel(place, batch)


def cancel_signed_batch(place: ServerUnderTest) -> requests.Response:
    chain = place.service.chain
    chain.automine(on=False)
    batch = place.service.submit_balance(3)
    place.service.wait_for(batch, "transaction_pending")
    answer = cancel(place, batch)
    chain.automine(on=True)
    chain.mine()
    place.service.wait(batch)
    return answer


def get_proof_of_rejected_batch(place: ServerUnderTest) -> requests.Response:
    batch = place.service.submit({31337: {"timestamp:1": accounts(HOLDER)}})
    place.service.wait(batch, end="REJECTED")
    return get_proof(place, batch)


def get_proof_without_route(place: ServerUnderTest) -> requests.Response:
    batch = place.service.submit_balance(5)
    place.service.wait(batch)
    address = f"{place.production}/batch-queries/{batch}/proof"
    return requests.get(address, headers=PROXY | new_key_header(place), timeout=30)


def overload_proofs(place: ServerUnderTest) -> requests.Response:
    many = accounts(*(f"0x{number:040x}" for number in range(1, 201)))
    batch = place.service.submit({31337: {5: many}})
    place.service.wait(batch)
    refused: list[requests.Response] = []

    def get_once(_: int) -> None:
        if (answer := get_proof(place, batch)).status_code != 200:
            refused.append(answer)

    with ThreadPoolExecutor(8) as pool:
        wait_until(lambda: list(pool.map(get_once, range(8))) and refused, what="proofs are busy")
    return refused[0]


def attestation(by: int = 0, **other: Any) -> Callable[[ServerUnderTest], dict[str, str]]:
    """A signer's attestation of block 5 of chain 5, or of `other` values."""

    def build(place: ServerUnderTest) -> dict[str, str]:
        registry = place.service.registries[5, 31337]
        content = {"block": 5, "hash": place.five.header(5)["hash"]} | other
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
        number, block_hash = content["block"], content["hash"]
        message = {"sourceChainId": 5, "blockNumber": number, "blockHash": block_hash}
        key = [*SIGNERS, Account.from_key(32 * b"\3")][by]
        signed = key.sign_message(encode_typed_data(domain, types, message))
        return {
            "originChainId": "5",
            "destinationChainId": "31337",
            "registry": registry,
            "block": str(number),
            "blockHash": block_hash,
            "signature": f"0x{bytes(signed.signature).hex()}",
        }

    return build


def post_attestation(place: ServerUnderTest, body: Any) -> requests.Response:
    return requests.post(f"{place.service.url}/attestations", json=body, timeout=30)


def post_own_attestation(**options: Any) -> Send:
    return lambda place: post_attestation(place, attestation(**options)(place))


def contradict_attestation(place: ServerUnderTest) -> requests.Response:
    unattested_batch(place)
    assert post_attestation(place, attestation()(place)).status_code == 200
    return post_attestation(place, attestation(hash=f"0x{32 * '07'}")(place))


def use_up_attestations(place: ServerUnderTest) -> requests.Response:
    with requests.Session() as session:
        session.headers.update(PROXY)
        address = f"{place.production}/attestations/wanted"
        return repeat_until_refused(partial(session.get, address, timeout=30), 150)


LOOKUP_TYPES = ("uint256", "address", "(uint8,address,uint256,uint256,uint256)")


def look_up(block: int, source: int = 31337, registry: str = "") -> Send:
    """Ask the gateway for the holder's balance; `registry` may be one that the server lacks."""

    def send(place: ServerUnderTest) -> requests.Response:
        address = registry or place.service.registries[source, 31337]
        question = encode(LOOKUP_TYPES, [31337, address, (1, HOLDER, block, 1, 0)])
        call = keccak(text=f"lookUp({','.join(LOOKUP_TYPES)})")[:4] + question
        return place.service.get(f"/ccip/{HOLDER}/0x{call.hex()}")

    return send


SLOTS = [hex(slot) for slot in range(5)]
TOO_MANY = {f"0x{number:040x}": {"props": ["NONCE"]} for number in range(201)}
NONCE = {"header": ["NONCE"]}
OK_BATCH = request({31337: {5: NONCE}})
BLOCKS = {f"block:{number}": NONCE for number in range(3)}
FOUR_HUNDRED_FACTS = accounts(*list(TOO_MANY)[:200], props=["NONCE", "BALANCE"])
HOOK, LONG_HEADER = "https://example.org/hook", {"x": 4_096 * "a"}
ELEVEN_HEADERS = {f"x-{n}": "" for n in range(11)}
REPLAY = "/webhook-deliveries/x/replay"
BLOCK = "data.31337.block:5"
ACCOUNT = f"{BLOCK}.accounts.{HOLDER}"
REFUSED: dict[str, tuple[int, str, Send]] = {
    "key_missing": (401, "api-key", with_key("")),
    "key_unknown": (401, "api-key", with_key("tct_nonsense")),
    "key_revoked": (401, "api-key", use_revoked_key),
    "account_disabled": (401, "api-key", use_disabled_account),
    "too_many_requests": (429, "", use_up_requests),
    "unavailable": (503, "", get_without_database),
    "host_unknown": (400, "", get_with_other_host),
    "https_needed": (403, "", get_without_https),
    "not_found": (404, "", get("/batch-querys")),
    "method_not_allowed": (405, "", get("/submit-batch-query")),
    "bad_request": (400, "", get("/batch-queries", **{f"a{n}": "" for n in range(1_001)})),
    "body_too_large": (413, "", post("{" + 40_000 * " ")),
    "content_type_unsupported": (415, "Content-Type", post("{}", **{"Content-Type": "text/plain"})),
    "not_json": (400, "", post("{'")),
    "nested_too_deeply": (400, 32 * "[0]", post(40 * "[" + 40 * "]")),
    "duplicate_key": (400, "", post('{"fee": "0", "fee": "1"}')),
    "text_not_storable": (400, "fee", post('{"fee": "\\u0000"}')),
    "wrong_type": (400, "data", batch(5)),
    "event_malformed": (400, f"{BLOCK}.logs[0]", block({"logs": [{"transaction": 0}]})),
    "too_many_events": (400, f"{BLOCK}.logs", block({"logs": [{"logIndex": n} for n in range(5)]})),
    "question_unknown": (404, "data", get(f"/ccip/{HOLDER}/0x00")),
    "registry_unknown": (503, "", look_up(5, registry=HOLDER)),
    "fact_not_provable": (503, "", look_up(0)),
    "lookup_unavailable": (503, "", look_up(5, source=5)),
    "missing_field": (400, "fee", post({"destinationChainId": "31337", "data": {}})),
    "unknown_field": (400, f"{ACCOUNT}.prop", account({"prop": ["NONCE"]})),
    "number_malformed": (400, "data.-1", batch({"-1": {"block:5": NONCE}})),
    "chain_unsupported": (400, "destinationChainId", post(OK_BATCH | {"destinationChainId": "6"})),
    "route_unsupported": (400, "data.10", batch({"10": {"block:5": NONCE}})),
    "fee_malformed": (400, "fee", post(OK_BATCH | {"fee": "1.5"})),
    "fee_missing": (400, "destination_chain_id", submit_without_fee),
    "fee_too_low": (400, "fee", post(request({10: {5: NONCE}}, to=10))),
    "selector_malformed": (400, "data.31337.latest", block(NONCE, "latest")),
    "block_beyond_head": (400, "data.31337.block:100000", block(NONCE, "block:100000")),
    "account_malformed": (400, ACCOUNT[:-1], account({"props": ["NONCE"]}, HOLDER[:-1])),
    "list_too_long": (400, f"{ACCOUNT}.props", account({"props": 101 * ["NONCE"]})),
    "unknown_prop": (400, f"{ACCOUNT}.props[0]", account({"props": ["balance"]})),
    "unknown_header_field": (400, f"{BLOCK}.header[0]", block({"header": ["HASH"]})),
    "slot_malformed": (400, f"{ACCOUNT}.slots[0]", account({"slots": ["1"]})),
    "webhook_malformed": (400, "webhook.url", webhook(url="ftp://example.org")),
    "delivery_malformed": (400, "deliver[0].to", delivery(to="vitalik.eth")),
    "function_malformed": (400, "deliver[0].function", delivery(function="f(uint7)")),
    "argument_malformed": (400, "deliver[0].args[0]", delivery(args=["x"])),
    "unknown_placeholder": (400, "deliver[0].args[0]", delivery(args=["$value(GAS_USED)"])),
    "feed_malformed": (400, "every", feed(every={})),
    "feed_unknown": (404, "feed", get("/feeds/x")),
    "feed_ended": (409, "feed", resume_ended_feed),
    "feed_not_runnable": (409, "feed", run_feed_of_logs),
    "head_unknown": (409, "batch.data.10", feed(10)),
    "too_many_feeds": (409, "", use_up("POST", "/feeds", feed_body())),
    "empty_request": (400, "data", batch({})),
    "too_many_blocks": (400, "data.31337.block:2", batch({"31337": BLOCKS})),
    "too_many_accounts": (400, f"{BLOCK}.accounts.0x{200:040x}", block({"accounts": TOO_MANY})),
    "too_many_slots": (400, f"{ACCOUNT}.slots[4]", account({"slots": SLOTS})),
    "too_many_facts": (429, "", use_up_facts),
    "batch_exceeds_daily_limit": (400, "data", block(FOUR_HUNDRED_FACTS)),
    "too_many_webhook_headers": (400, "webhook.headers", webhook(url=HOOK, headers=ELEVEN_HEADERS)),
    "webhook_headers_too_large": (400, "webhook.headers", webhook(url=HOOK, headers=LONG_HEADER)),
    "idempotency_key_malformed": (400, "Idempotency-Key", post(OK_BATCH, Idempotency_Key="a b")),
    "idempotency_key_reused": (409, "Idempotency-Key", reuse_idempotency_key),
    "chain_unavailable": (503, "", estimate(10)),
    "too_many_estimates": (429, "", use_up("POST", "/estimate", OK_BATCH)),
    "not_provable_now": (409, "", witness(5)),
    "not_provable": (400, "", witness("timestamp:5")),
    "batch_unknown": (404, "batchQueryId", get("/batch-query-status", batchQueryId="x")),
    "batch_ended": (409, "batch", cancel_done_batch),
    "transaction_signed": (409, "batch", cancel_signed_batch),
    "batch_not_done": (409, "", lambda place: get_proof(place, unattested_batch(place))),
    "batch_rejected": (409, "", get_proof_of_rejected_batch),
    "proof_unavailable": (409, "", get_proof_without_route),
    "proofs_busy": (503, "", overload_proofs),
    "attestation_malformed": (400, "originChainId", lambda place: post_attestation(place, {})),
    "attestation_untrusted": (400, "signature", post_own_attestation(by=2)),
    "attestation_contradicted": (409, "blockHash", contradict_attestation),
    "attestation_unwanted": (409, "block", post_own_attestation(block=4)),
    "too_many_attestations": (429, "", use_up_attestations),
    "delivery_unknown": (404, "event", lambda place: place.service.post(REPLAY)),
    "too_many_replays": (429, "", use_up("POST", REPLAY)),
    "parameter_malformed": (400, "limit", get("/batch-queries", limit="x")),
    "estimates_busy": (503, "", overload_estimates),
}
