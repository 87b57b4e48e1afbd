"""Sign-in: a key or a contract wallet signs the message that the server gave to this browser."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
import requests
from eth_abi.abi import encode
from eth_account.signers.local import LocalAccount
from eth_utils.address import to_checksum_address

from tests.builds import contract_for_tests
from tests.queries.contracts.wallets import wrapped
from tests.rigs.anvil import Chain, call_data
from tests.rigs.service import HOLDER
from tests.scenarios.fixtures import Install
from tests.scenarios.visitor import Visitor

pytestmark = pytest.mark.either_database

GONE = "http://127.0.0.1:9"
ORDER = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141  # of secp256k1
# The contract wallet is on chain 5 and on one of the two nodes of chain 9.
WALLET_CHAIN, DOWN_CHAIN, DIVIDED_CHAIN, UNKNOWN_CHAIN = 5, 8, 9, 7


@dataclass(frozen=True)
class SignInServer:
    """A server, its chain, and a contract wallet with its owner."""

    url: str
    chain: Chain
    owner: Visitor
    wallet: str


@pytest.fixture(scope="module")
def place(install: Install) -> Iterator[SignInServer]:
    with ExitStack() as stack:
        chain, with_wallet, without = (
            stack.enter_context(closing(Chain(chain_id))) for chain_id in (5, 9, 9)
        )
        service = stack.enter_context(install())
        service.add_chain(chain)
        nodes = f'["{with_wallet.url}", "{without.url}"]'
        service.routes.write_text(
            service.routes.read_text()
            + f'[chains.{DOWN_CHAIN}]\nname = "Gone"\nnodes = ["{GONE}"]\n'
            + f'[chains.{DIVIDED_CHAIN}]\nname = "Two"\nnodes = {nodes}\n'
        )
        service.serve()
        owner = Visitor(service.url)
        code = contract_for_tests("OwnedWallet") + encode(["address"], [owner.key.address])
        receipts = [node.send(None, f"0x{code.hex()}") for node in (chain, with_wallet)]
        addresses = [receipt["contractAddress"] for receipt in receipts]
        assert addresses[0] == addresses[1]
        yield SignInServer(service.url, chain, owner, to_checksum_address(addresses[0]))


def test_a_key_signs_in_and_gets_an_api_key(place: SignInServer) -> None:
    visitor = Visitor(place.url)
    assert visitor.get("/dashboard").headers["Location"].startswith("/sign-in")
    visitor.sign_in()
    (key,) = set(re.findall(r"tct_\w{20,}", visitor.page("/dashboard")))
    answer = requests.get(f"{place.url}/api-key", headers={"api-key": key}, timeout=30).json()
    assert (answer["owner"], answer["ownerChainId"]) == (visitor.key.address, None)


def test_a_contract_wallet_signs_in_with_the_key_of_its_owner(place: SignInServer) -> None:
    visitor = Visitor(place.url, place.owner.key).sign_in(WALLET_CHAIN, place.wallet)
    (key,) = set(re.findall(r"tct_\w{20,}", visitor.page("/dashboard")))
    answer = requests.get(f"{place.url}/api-key", headers={"api-key": key}, timeout=30).json()
    assert (answer["owner"], answer["ownerChainId"]) == (place.wallet, str(WALLET_CHAIN))


def test_a_contract_wallet_signs_in_before_it_is_deployed(place: SignInServer) -> None:
    """By ERC-6492: the signature has the call that deploys the wallet, which no one sends."""
    chain, owner = place.chain, Visitor(place.url).key
    created = chain.send(None, f"0x{contract_for_tests('Factory').hex()}")
    factory, make = str(created["contractAddress"]), "make(bytes32,address)"
    deployment = bytes.fromhex(call_data(make, bytes(32), owner.address)[2:])
    wallet = to_checksum_address(chain.call(factory, make, bytes(32), owner.address)[-20:])

    def wrap(signature: str) -> str:
        return f"0x{wrapped(factory, deployment, bytes.fromhex(signature[2:])).hex()}"

    stranger, visitor = Visitor(place.url), Visitor(place.url, owner)
    message = stranger.message(WALLET_CHAIN, wallet)
    assert_refused(stranger, message, wrap(stranger.sign(message)))
    message = visitor.message(WALLET_CHAIN, wallet)
    assert_refused(visitor, message, visitor.sign(message))
    message = visitor.message(WALLET_CHAIN, wallet)
    assert visitor.show(message, wrap(visitor.sign(message))).status_code == 200
    assert visitor.is_signed_in
    program = Program(place.url, owner)
    signed = program.signed_message(WALLET_CHAIN, wallet)
    answer = program.post("/sign-in", signed | {"signature": wrap(signed["signature"])}).json()
    assert (answer["owner"], answer["ownerChainId"]) == (wallet, str(WALLET_CHAIN))
    assert chain.rpc("eth_getCode", wallet, "latest") == "0x"


def test_one_session_or_all_sessions_are_ended(place: SignInServer) -> None:
    first = Visitor(place.url).sign_in()
    second, third = (Visitor(place.url, first.key).sign_in() for _ in range(2))
    stolen = Visitor(place.url)
    stolen.browser.cookies.update(second.browser.cookies)
    second.submit("/dashboard", "/sign-out")
    assert [visitor.is_signed_in for visitor in (first, second, third)] == [True, False, True]
    assert not stolen.is_signed_in
    first.submit("/dashboard", "/sessions/[^/]+/end")
    assert [visitor.is_signed_in for visitor in (first, third)] == [True, False]
    third.sign_in()
    first.submit("/dashboard", "/sign-out-everywhere")
    assert [visitor.is_signed_in for visitor in (first, third)] == [False, False]


def test_sign_in_is_rate_limited(place: SignInServer) -> None:
    visitor = Visitor(place.url)
    message = visitor.message()
    for _ in range(40):
        answer = visitor.show(message, f"0x{65 * '11'}")
        if answer.status_code == 429:
            break
    assert (answer.status_code, answer.json()["retryable"]) == (429, True)
    assert 0 < int(answer.headers["Retry-After"]) <= 600
    assert visitor.show(message, visitor.sign(message)).status_code == 429
    Visitor(place.url, visitor.key).sign_in()  # another browser in the same network


@dataclass(frozen=True)
class Program:
    """A script with a wallet's key that posts JSON and keeps no cookies."""

    url: str
    key: LocalAccount

    def post(self, path: str, content: dict[str, str], **headers: str) -> requests.Response:
        answer = requests.post(f"{self.url}{path}", json=content, headers=headers, timeout=60)
        assert not answer.cookies
        assert "Access-Control-Allow-Origin" not in answer.headers
        return answer

    def signed_message(self, chain: int = 1, address: str = "") -> dict[str, str]:
        body = {"address": address or self.key.address, "chainId": str(chain)}
        message = self.post("/sign-in/message", body).json()["message"]
        return {"message": message, "signature": Visitor("", self.key).sign(message)}


def test_a_program_gets_the_keys_that_the_dashboard_shows(place: SignInServer) -> None:
    visitor = Visitor(place.url)
    program = Program(place.url, visitor.key)
    answer = program.post("/sign-in", program.signed_message())
    assert answer.status_code == 200, answer.text
    assert "no-store" in answer.headers["Cache-Control"]
    content = answer.json()
    assert (content["owner"], content["ownerChainId"]) == (visitor.key.address, None)
    (key,) = content["keys"]
    assert set(re.findall(r"tct_\w{20,}", visitor.sign_in().page("/dashboard"))) == {key["key"]}
    headers = {"api-key": key["key"]}
    assert requests.get(f"{place.url}/api-key", headers=headers, timeout=30).status_code == 200
    # Without a valid key, the account gets a new one.
    visitor.submit("/dashboard", f"/keys/{key['id']}/revoke")
    (other,) = program.post("/sign-in", program.signed_message()).json()["keys"]
    assert other["id"] != key["id"]


def test_a_program_gets_the_keys_of_a_contract_wallet(place: SignInServer) -> None:
    program = Program(place.url, place.owner.key)
    answer = program.post("/sign-in", program.signed_message(WALLET_CHAIN, place.wallet)).json()
    assert (answer["owner"], answer["ownerChainId"]) == (place.wallet, str(WALLET_CHAIN))


def test_a_programs_message_works_once_and_in_no_browser(place: SignInServer) -> None:
    visitor = Visitor(place.url)
    program = Program(place.url, visitor.key)
    signed = program.signed_message()
    refused = visitor.show(**signed)
    assert (refused.status_code, visitor.is_signed_in) == (400, False)
    assert program.post("/sign-in", signed).status_code == 200
    again = program.post("/sign-in", signed)
    assert (again.status_code, again.json()["code"]) == (400, "message_refused")
    message = visitor.message()
    browser_message = {"message": message, "signature": visitor.sign(message)}
    assert program.post("/sign-in", browser_message).json()["code"] == "message_refused"
    assert visitor.show(**browser_message).status_code == 200


def test_a_page_of_another_origin_cannot_sign_in_as_a_program(place: SignInServer) -> None:
    """Without CORS a page can only send text or a form, or a preflight request."""
    program = Program(place.url, Visitor(place.url).key)
    signed = json.dumps(program.signed_message())
    for kind in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
    ):
        headers = {"Content-Type": kind, "Accept": "application/json"}
        answer = requests.post(f"{place.url}/sign-in", signed, headers=headers, timeout=30)
        assert answer.status_code in {403, 415}, kind
    preflight = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    preflight["Access-Control-Request-Headers"] = "content-type"
    for path in ("/sign-in", "/sign-in/message"):
        answer = requests.options(f"{place.url}{path}", headers=preflight, timeout=30)
        assert "Access-Control-Allow-Origin" not in answer.headers
    # With a cookie it is a browser's request, and CSRF is checked.
    for cookie in ("visit", "session"):
        answer = program.post("/sign-in", json.loads(signed), Cookie=f"{cookie}={32 * 'x'}")
        assert (answer.status_code, answer.json()["code"]) == (403, "csrf_failed")
        assert "A program sends neither" in answer.json()["error"]
    assert program.post("/sign-in", json.loads(signed)).status_code == 200


# Forgeries

SignedMessage = tuple[str, str]  # a message and its signature
Forger = Callable[[Visitor], SignedMessage]


def change_and_sign(change: Callable[[str], str]) -> Forger:
    """Change the server's message, then sign it with the right key."""

    def forge(visitor: Visitor) -> SignedMessage:
        message = change(visitor.message())
        return message, visitor.sign(message)

    return forge


def replace(pattern: str, by: str) -> Forger:
    def change(message: str) -> str:
        changed = re.sub(pattern, by, message, count=1)
        assert changed != message
        return changed

    return change_and_sign(change)


def sign_and_change(pattern: str, by: str) -> Forger:
    """Sign the server's message, then change it."""

    def forge(visitor: Visitor) -> SignedMessage:
        message = visitor.message()
        return re.sub(pattern, by, message, count=1), visitor.sign(message)

    return forge


def change_signature(change: Callable[[bytes], bytes | str]) -> Forger:
    """Sign the server's message, then change the signature."""

    def forge(visitor: Visitor) -> SignedMessage:
        message = visitor.message()
        changed = change(bytes.fromhex(visitor.sign(message)[2:]))
        return message, changed if isinstance(changed, str) else f"0x{changed.hex()}"

    return forge


def move_times(hours: float, *labels: str) -> Forger:
    """Move these times of the server's message, then sign it."""

    def change(message: str) -> str:
        for label in labels:
            stamp = re.findall(f"{label}: (.*)", message)[0]
            later = datetime.fromisoformat(stamp) + timedelta(hours=hours)
            message = re.sub(f"{label}: .*", f"{label}: {later:%Y-%m-%dT%H:%M:%SZ}", message)
        return message

    return change_and_sign(change)


def malleated(signature: bytes) -> bytes:
    """The signature with the other s, which is valid on the curve (EIP-2)."""
    s = ORDER - int.from_bytes(signature[32:64])
    return signature[:32] + s.to_bytes(32) + bytes([55 - signature[64]])


def use_others_message(visitor: Visitor) -> SignedMessage:
    """Use the message of another account in the same browser."""
    message = visitor.message(address=HOLDER).replace(HOLDER, visitor.key.address)
    return message, visitor.sign(message)


def use_twice(visitor: Visitor) -> SignedMessage:
    """With the cookies of before the sign-in."""
    message = visitor.message()
    cookies = visitor.browser.cookies.copy()
    assert visitor.show(message, visitor.sign(message)).status_code == 200
    visitor.browser.cookies = cookies
    return message, visitor.sign(message)


def use_after_sign_in(visitor: Visitor) -> SignedMessage:
    message = visitor.message()
    visitor.sign_in().submit("/dashboard", "/sign-out")
    return message, visitor.sign(message)


def use_other_browsers_message(visitor: Visitor) -> SignedMessage:
    message = Visitor(visitor.url, visitor.key).message()
    return message, visitor.sign(message)


def contract_signature(chain: int, signature: bytes, address: str = "") -> Forger:
    return lambda visitor: (visitor.message(chain, address), f"0x{signature.hex()}")


FORGED: dict[str, Forger] = {
    "another domain": replace("^[0-9.:]+", "proofs.example.org"),
    "another port": replace("^([0-9.]+):[0-9]+", r"\1:1"),
    "a longer domain": replace("^([0-9.:]+)", r"\1.evil.example"),
    "user information before the domain": replace("^", "evil@"),
    "a scheme before the domain": replace("^", "https://"),
    "another URI": replace("URI: .*", "URI: http://evil.example/"),
    "another page of ours": replace("URI: (.*)/sign-in", r"URI: \1/dashboard"),
    "https instead of http": replace("URI: http:", "URI: https:"),
    "a tampered statement": replace("moves nothing", "moves everything"),
    "a statement changed after signing": sign_and_change("nothing", "little"),
    "no statement": replace("\n\nSign in to.*\n", "\n\n"),
    "another account": use_others_message,
    "an address changed after signing": sign_and_change("0x[0-9a-fA-F]{40}", HOLDER),
    "a lower-case address": change_and_sign(
        lambda message: re.sub("0x[0-9a-fA-F]{40}", lambda match: match[0].lower(), message)
    ),
    "another network": replace("Chain ID: 1", "Chain ID: 10"),
    "network zero": replace("Chain ID: 1", "Chain ID: 0"),
    "a chain id with a zero before it": replace("Chain ID: 1", "Chain ID: 01"),
    "another version": replace("Version: 1", "Version: 2"),
    "a nonce that was never issued": replace("Nonce: .*", "Nonce: abcdefgh12345678"),
    "a short nonce": replace("Nonce: .*", "Nonce: abc"),
    "another browser's nonce": use_other_browsers_message,
    "a nonce of before signing in": use_after_sign_in,
    "a used nonce": use_twice,
    "an expired message": move_times(-1, "Expiration Time"),
    "a message from an hour ago": move_times(-1, "Issued At", "Expiration Time", "Not Before"),
    "a message that lasts longer": move_times(24, "Expiration Time"),
    "a message that was issued earlier": move_times(-1, "Issued At"),
    "a message that never expires": replace("\nExpiration Time: .*", ""),
    "a message without a beginning": replace("\nNot Before: .*", ""),
    "a message that is not valid yet": move_times(1, "Not Before"),
    "a message that is valid three minutes from now": move_times(0.06, "Not Before"),
    "a message from the future": move_times(1, "Issued At"),
    "a message from three minutes ahead": move_times(0.06, "Issued At"),
    "an impossible time": replace("Issued At: ....-..", "Issued At: 2026-13"),
    "a time in another zone": replace("(Issued At: .*)Z", r"\1+00:00"),
    "resources": replace("$", "\nResources:\n- https://evil.example/"),
    "a request id": replace("$", "\nRequest ID: 7"),
    "Windows line endings": replace("\nURI", "\r\nURI"),
    "a line at the end": replace("$", "\n"),
    "a second URI": replace("\nVersion", "\nURI: http://evil.example\nVersion"),
    "fields in another order": replace("(Version: 1)\n(Chain ID: 1)", r"\2\n\1"),
    "no message": lambda visitor: ("", visitor.sign("")),
    "letters that look alike": replace("Sign", "\N{CYRILLIC CAPITAL LETTER DZE}ign"),
    "a NUL": replace("moves", "mo\0ves"),
    "a lone surrogate": lambda _: ("\ud800", f"0x{65 * '11'}"),
    "a message that is too long": replace("$", 1_000 * "\n"),
    "a line that is too long": replace("^", 1_000 * "x"),
    "another account's signature": lambda visitor: (
        message := visitor.message(),
        Visitor(visitor.url).sign(message),
    ),
    "the signature of another message": lambda visitor: (visitor.message(), visitor.sign("other")),
    "a signature without 0x": change_signature(lambda signature: signature.hex()),
    "an odd signature": change_signature(lambda signature: f"0x{signature.hex()[:-1]}"),
    "an empty signature": change_signature(lambda _: "0x"),
    "a signature of other letters": change_signature(lambda _: f"0x{65 * 'gg'}"),
    "a signature of zeros": change_signature(lambda _: bytes(65)),
    "an r beyond the curve": change_signature(lambda signature: b"\xff" * 32 + signature[32:]),
    "an invalid recovery id": change_signature(lambda signature: signature[:64] + b"\x25"),
    "a malleated signature": change_signature(malleated),
    "a signature that is too long": change_signature(lambda _: bytes(20_000)),
    "a compact signature of no contract": contract_signature(WALLET_CHAIN, bytes(64)),
    "a contract wallet that does not exist": contract_signature(WALLET_CHAIN, b"\1" * 65),
    "a long signature without a wallet": contract_signature(WALLET_CHAIN, b"\1" * 96),
    "a contract wallet on an unknown chain": contract_signature(UNKNOWN_CHAIN, b"\1" * 96),
    "a contract wallet whose node is down": contract_signature(DOWN_CHAIN, b"\1" * 96),
}


def assert_refused(visitor: Visitor, message: str, signature: str) -> None:
    answer = visitor.show(message, signature)
    error = answer.json()
    assert answer.status_code in {400, 503}, error
    assert set(error) == {"error", "code", "path", "retryable"}
    assert not visitor.is_signed_in


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_a_forged_sign_in_is_refused(place: SignInServer, forge: Forger) -> None:
    visitor = Visitor(place.url)
    assert_refused(visitor, *forge(visitor))


def test_both_nodes_must_confirm_a_contract_wallets_signature(place: SignInServer) -> None:
    stranger, owner = Visitor(place.url), Visitor(place.url, place.owner.key)
    for visitor, chain in ((stranger, WALLET_CHAIN), (owner, DIVIDED_CHAIN)):
        message = visitor.message(chain, place.wallet)
        assert_refused(visitor, message, visitor.sign(message))


def test_an_unknown_wallet_chain_is_refused_with_the_configured_ones(place: SignInServer) -> None:
    owner = Visitor(place.url, place.owner.key)
    message = owner.message(UNKNOWN_CHAIN, place.wallet)
    for signature in (owner.sign(message), f"0x{96 * '11'}"):
        answer = owner.show(message, signature).json()
        assert answer["code"] == "signature_refused"
        assert (
            f"chain {UNKNOWN_CHAIN}, which the message names, is not configured" in answer["error"]
        )
        assert all(
            f"({chain_id})" in answer["error"] for chain_id in (5, DOWN_CHAIN, DIVIDED_CHAIN)
        )


def test_a_form_of_another_site_is_refused(place: SignInServer) -> None:
    visitor = Visitor(place.url)
    message = visitor.message()
    body = {"message": message, "signature": visitor.sign(message)}
    answer = visitor.browser.post(f"{place.url}/sign-in", json=body, timeout=30)
    assert answer.status_code == 403
    assert not visitor.is_signed_in
