"""Who may come in: a key or a contract wallet signs the message that this browser was given."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
import requests
from eth_abi.abi import encode
from eth_account.signers.local import LocalAccount
from eth_utils.address import to_checksum_address

from tests.builds import contract_of_tests
from tests.scenarios.chain import Chain
from tests.scenarios.service import HOLDER, Service
from tests.scenarios.visitor import Visitor

pytestmark = pytest.mark.either_database

GONE = "http://127.0.0.1:9"
ORDER = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141  # of secp256k1
# The contract wallet is on chain 5 and on one of the two nodes of chain 9.
WITH_WALLET, GONE_CHAIN, TWO_MINDS, UNKNOWN = 5, 8, 9, 7


@dataclass(frozen=True)
class Place:
    """A server, and a contract wallet whose owner is `owner`."""

    url: str
    owner: Visitor
    wallet: str


@pytest.fixture(scope="module")
def place(install: Callable[[], AbstractContextManager[Service]]) -> Iterator[Place]:
    with ExitStack() as stack:
        one, with_it, without = (stack.enter_context(closing(Chain(each))) for each in (5, 9, 9))
        service = stack.enter_context(install())
        service.add_chain(one)
        service.routes.write_text(
            service.routes.read_text()
            + f'[chains.{GONE_CHAIN}]\nname = "Gone"\nnodes = ["{GONE}"]\n'
            + f'[chains.{TWO_MINDS}]\nname = "Two"\nnodes = ["{with_it.url}", "{without.url}"]\n'
        )
        service.serve()
        owner = Visitor(service.url)
        code = contract_of_tests("OwnedWallet") + encode(["address"], [owner.key.address])
        deployed = [chain.send(None, f"0x{code.hex()}") for chain in (one, with_it)]
        addresses = [each["contractAddress"] for each in deployed]
        assert addresses[0] == addresses[1]
        yield Place(service.url, owner, to_checksum_address(addresses[0]))


def test_a_key_signs_in_and_gets_an_api_key(place: Place) -> None:
    visitor = Visitor(place.url)
    assert visitor.get("/dashboard").headers["Location"].startswith("/sign-in")
    visitor.sign_in()
    (key,) = set(re.findall(r"tct_\w{20,}", visitor.page("/dashboard")))
    told = requests.get(f"{place.url}/api-key", headers={"api-key": key}, timeout=30).json()
    assert (told["owner"], told["ownerChainId"]) == (visitor.key.address, None)


def test_a_contract_wallet_signs_in_with_the_key_of_its_owner(place: Place) -> None:
    visitor = Visitor(place.url, place.owner.key).sign_in(WITH_WALLET, place.wallet)
    (key,) = set(re.findall(r"tct_\w{20,}", visitor.page("/dashboard")))
    told = requests.get(f"{place.url}/api-key", headers={"api-key": key}, timeout=30).json()
    assert (told["owner"], told["ownerChainId"]) == (place.wallet, str(WITH_WALLET))


def test_one_browser_and_all_browsers_are_signed_out(place: Place) -> None:
    first = Visitor(place.url).sign_in()
    second, third = (Visitor(place.url, first.key).sign_in() for _ in range(2))
    stolen = Visitor(place.url)
    stolen.browser.cookies.update(second.browser.cookies)
    second.submit("/dashboard", "/sign-out")
    assert [each.is_signed_in for each in (first, second, third)] == [True, False, True]
    assert not stolen.is_signed_in
    first.submit("/dashboard", "/sessions/[^/]+/end")
    assert [each.is_signed_in for each in (first, third)] == [True, False]
    third.sign_in()
    first.submit("/dashboard", "/sign-out-everywhere")
    assert [each.is_signed_in for each in (first, third)] == [False, False]


def test_sign_in_is_rate_limited(place: Place) -> None:
    visitor = Visitor(place.url)
    message = visitor.message()
    for _ in range(40):
        answer = visitor.show(message, f"0x{65 * '11'}")
        if answer.status_code == 429:
            break
    assert (answer.status_code, answer.json()["retryable"]) == (429, True)
    assert 0 < int(answer.headers["Retry-After"]) <= 600
    assert visitor.show(message, visitor.sign(message)).status_code == 429
    Visitor(place.url, visitor.key).sign_in()  # someone else in the same network


# Programs


@dataclass(frozen=True)
class Program:
    """A script with a key, which posts JSON and keeps no cookie."""

    url: str
    key: LocalAccount

    def post(self, path: str, content: dict[str, str], **headers: str) -> requests.Response:
        answer = requests.post(f"{self.url}{path}", json=content, headers=headers, timeout=60)
        assert not answer.cookies
        assert "Access-Control-Allow-Origin" not in answer.headers
        return answer

    def signed(self, chain: int = 1, address: str = "") -> dict[str, str]:
        asked = {"address": address or self.key.address, "chainId": str(chain)}
        message = self.post("/sign-in/message", asked).json()["message"]
        return {"message": message, "signature": Visitor("", self.key).sign(message)}


def test_a_program_gets_the_keys_that_the_dashboard_shows(place: Place) -> None:
    visitor = Visitor(place.url)
    program = Program(place.url, visitor.key)
    answer = program.post("/sign-in", program.signed())
    assert answer.status_code == 200, answer.text
    assert "no-store" in answer.headers["Cache-Control"]
    told = answer.json()
    assert (told["owner"], told["ownerChainId"]) == (visitor.key.address, None)
    (key,) = told["keys"]
    assert set(re.findall(r"tct_\w{20,}", visitor.sign_in().page("/dashboard"))) == {key["key"]}
    headers = {"api-key": key["key"]}
    assert requests.get(f"{place.url}/api-key", headers=headers, timeout=30).status_code == 200
    # If none works any more, it is given a new one.
    visitor.submit("/dashboard", f"/keys/{key['id']}/revoke")
    (other,) = program.post("/sign-in", program.signed()).json()["keys"]
    assert other["id"] != key["id"]


def test_a_contract_wallet_s_owner_gets_its_keys_by_a_program(place: Place) -> None:
    program = Program(place.url, place.owner.key)
    told = program.post("/sign-in", program.signed(WITH_WALLET, place.wallet)).json()
    assert (told["owner"], told["ownerChainId"]) == (place.wallet, str(WITH_WALLET))


def test_a_program_s_message_is_used_once_and_by_no_browser(place: Place) -> None:
    visitor = Visitor(place.url)
    program = Program(place.url, visitor.key)
    signed = program.signed()
    refused = visitor.show(**signed)
    assert (refused.status_code, visitor.is_signed_in) == (400, False)
    assert program.post("/sign-in", signed).status_code == 200
    again = program.post("/sign-in", signed)
    assert (again.status_code, again.json()["code"]) == (400, "message_refused")
    message = visitor.message()
    of_a_browser = {"message": message, "signature": visitor.sign(message)}
    assert program.post("/sign-in", of_a_browser).json()["code"] == "message_refused"
    assert visitor.show(**of_a_browser).status_code == 200


def test_what_a_page_of_another_origin_can_send_is_not_a_program_s(place: Place) -> None:
    """Without CORS a browser sends text or a form, and may leave cookies out; or it asks first."""
    program = Program(place.url, Visitor(place.url).key)
    signed = json.dumps(program.signed())
    for kind in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
    ):
        headers = {"Content-Type": kind, "Accept": "application/json"}
        answer = requests.post(f"{place.url}/sign-in", signed, headers=headers, timeout=30)
        assert answer.status_code in {403, 415}, kind
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    asked["Access-Control-Request-Headers"] = "content-type"
    for path in ("/sign-in", "/sign-in/message"):
        answer = requests.options(f"{place.url}{path}", headers=asked, timeout=30)
        assert "Access-Control-Allow-Origin" not in answer.headers
    # With a cookie it is a browser's request, whose token is checked.
    for cookie in ("visit", "session"):
        answer = program.post("/sign-in", json.loads(signed), Cookie=f"{cookie}={32 * 'x'}")
        assert (answer.status_code, answer.json()["code"]) == (403, "csrf_failed")
        assert "A program sends neither" in answer.json()["error"]
    assert program.post("/sign-in", json.loads(signed)).status_code == 200


# The forged ones

Shown = tuple[str, str]  # a message and its signature
Forger = Callable[[Visitor], Shown]


def signed(change: Callable[[str], str]) -> Forger:
    """Our message changed, and signed by its rightful owner as it then is."""

    def forge(visitor: Visitor) -> Shown:
        message = change(visitor.message())
        return message, visitor.sign(message)

    return forge


def replaced(pattern: str, by: str) -> Forger:
    def change(message: str) -> str:
        changed = re.sub(pattern, by, message, count=1)
        assert changed != message
        return changed

    return signed(change)


def changed_later(pattern: str, by: str) -> Forger:
    """Our message signed as it was, and changed afterwards."""

    def forge(visitor: Visitor) -> Shown:
        message = visitor.message()
        return re.sub(pattern, by, message, count=1), visitor.sign(message)

    return forge


def resigned(change: Callable[[bytes], bytes | str]) -> Forger:
    """Our message, and its signature changed."""

    def forge(visitor: Visitor) -> Shown:
        message = visitor.message()
        changed = change(bytes.fromhex(visitor.sign(message)[2:]))
        return message, changed if isinstance(changed, str) else f"0x{changed.hex()}"

    return forge


def moved(hours: float, *labels: str) -> Forger:
    """Our message with times that are so much later, or earlier."""

    def change(message: str) -> str:
        for label in labels:
            stamp = re.findall(f"{label}: (.*)", message)[0]
            later = datetime.fromisoformat(stamp) + timedelta(hours=hours)
            message = re.sub(f"{label}: .*", f"{label}: {later:%Y-%m-%dT%H:%M:%SZ}", message)
        return message

    return signed(change)


def twin(signature: bytes) -> bytes:
    """The same point with the other s, which the curve takes as well (EIP-2)."""
    s = ORDER - int.from_bytes(signature[32:64])
    return signature[:32] + s.to_bytes(32) + bytes([55 - signature[64]])


def issued_to_another(visitor: Visitor) -> Shown:
    """A message that another account asked for in the same browser."""
    message = visitor.message(address=HOLDER).replace(HOLDER, visitor.key.address)
    return message, visitor.sign(message)


def used_before(visitor: Visitor) -> Shown:
    """The thief has the cookies of before the sign-in."""
    message = visitor.message()
    cookies = visitor.browser.cookies.copy()
    assert visitor.show(message, visitor.sign(message)).status_code == 200
    visitor.browser.cookies = cookies
    return message, visitor.sign(message)


def after_signing_in(visitor: Visitor) -> Shown:
    message = visitor.message()
    visitor.sign_in().submit("/dashboard", "/sign-out")
    return message, visitor.sign(message)


def of_another_browser(visitor: Visitor) -> Shown:
    message = Visitor(visitor.url, visitor.key).message()
    return message, visitor.sign(message)


def of_a_contract(chain: int, signature: bytes, address: str = "") -> Forger:
    return lambda visitor: (visitor.message(chain, address), f"0x{signature.hex()}")


FORGED: dict[str, Forger] = {
    "another domain": replaced("^[0-9.:]+", "proofs.example.org"),
    "another port": replaced("^([0-9.]+):[0-9]+", r"\1:1"),
    "a longer domain": replaced("^([0-9.:]+)", r"\1.evil.example"),
    "user information before the domain": replaced("^", "evil@"),
    "a scheme before the domain": replaced("^", "https://"),
    "another URI": replaced("URI: .*", "URI: http://evil.example/"),
    "another page of ours": replaced("URI: (.*)/sign-in", r"URI: \1/dashboard"),
    "https instead of http": replaced("URI: http:", "URI: https:"),
    "a tampered statement": replaced("moves nothing", "moves everything"),
    "a statement changed after signing": changed_later("nothing", "little"),
    "no statement": replaced("\n\nSign in to.*\n", "\n\n"),
    "another account": issued_to_another,
    "an address changed after signing": changed_later("0x[0-9a-fA-F]{40}", HOLDER),
    "a lower-case address": signed(
        lambda message: re.sub("0x[0-9a-fA-F]{40}", lambda held: held[0].lower(), message)
    ),
    "another network": replaced("Chain ID: 1", "Chain ID: 10"),
    "network zero": replaced("Chain ID: 1", "Chain ID: 0"),
    "a chain id with a zero before it": replaced("Chain ID: 1", "Chain ID: 01"),
    "another version": replaced("Version: 1", "Version: 2"),
    "a nonce that was never issued": replaced("Nonce: .*", "Nonce: abcdefgh12345678"),
    "a short nonce": replaced("Nonce: .*", "Nonce: abc"),
    "another browser's nonce": of_another_browser,
    "a nonce of before signing in": after_signing_in,
    "a used nonce": used_before,
    "an expired message": moved(-1, "Expiration Time"),
    "a message of an hour ago": moved(-1, "Issued At", "Expiration Time", "Not Before"),
    "a message that lasts longer": moved(24, "Expiration Time"),
    "a message that was issued earlier": moved(-1, "Issued At"),
    "a message that never expires": replaced("\nExpiration Time: .*", ""),
    "a message without a beginning": replaced("\nNot Before: .*", ""),
    "a message that is not valid yet": moved(1, "Not Before"),
    "a message that is valid three minutes from now": moved(0.06, "Not Before"),
    "a message of the future": moved(1, "Issued At"),
    "a message of three minutes from now": moved(0.06, "Issued At"),
    "a time that cannot be": replaced("Issued At: ....-..", "Issued At: 2026-13"),
    "a time in another zone": replaced("(Issued At: .*)Z", r"\1+00:00"),
    "resources": replaced("$", "\nResources:\n- https://evil.example/"),
    "a request id": replaced("$", "\nRequest ID: 7"),
    "lines that end as on Windows": replaced("\nURI", "\r\nURI"),
    "a line at the end": replaced("$", "\n"),
    "a second URI": replaced("\nVersion", "\nURI: http://evil.example\nVersion"),
    "fields in another order": replaced("(Version: 1)\n(Chain ID: 1)", r"\2\n\1"),
    "no message": lambda visitor: ("", visitor.sign("")),
    "letters that look alike": replaced("Sign", "\N{CYRILLIC CAPITAL LETTER DZE}ign"),
    "a NUL": replaced("moves", "mo\0ves"),
    "a lone surrogate": lambda _: ("\ud800", f"0x{65 * '11'}"),
    "a message that is too long": replaced("$", 1_000 * "\n"),
    "a line that is too long": replaced("^", 1_000 * "x"),
    "another account's signature": lambda visitor: (
        message := visitor.message(),
        Visitor(visitor.url).sign(message),
    ),
    "the signature of another message": lambda visitor: (visitor.message(), visitor.sign("other")),
    "a signature without 0x": resigned(lambda held: held.hex()),
    "an odd signature": resigned(lambda held: f"0x{held.hex()[:-1]}"),
    "an empty signature": resigned(lambda _: "0x"),
    "a signature of other letters": resigned(lambda _: f"0x{65 * 'gg'}"),
    "a signature of zeros": resigned(lambda _: bytes(65)),
    "an r beyond the curve": resigned(lambda held: b"\xff" * 32 + held[32:]),
    "a recovery id that is none": resigned(lambda held: held[:64] + b"\x25"),
    "the signature's twin": resigned(twin),
    "a signature that is too long": resigned(lambda _: bytes(20_000)),
    "a compact signature of no contract": of_a_contract(WITH_WALLET, bytes(64)),
    "a contract wallet where there is none": of_a_contract(WITH_WALLET, b"\1" * 65),
    "a long signature where no wallet is": of_a_contract(WITH_WALLET, b"\1" * 96),
    "a contract wallet on a chain we do not know": of_a_contract(UNKNOWN, b"\1" * 96),
    "a contract wallet whose node is gone": of_a_contract(GONE_CHAIN, b"\1" * 96),
}


def assert_refused(visitor: Visitor, message: str, signature: str) -> None:
    answer = visitor.show(message, signature)
    told = answer.json()
    assert answer.status_code in {400, 503}, told
    assert set(told) == {"error", "code", "path", "retryable"}
    assert not visitor.is_signed_in


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_a_forged_sign_in_is_refused(place: Place, forge: Forger) -> None:
    visitor = Visitor(place.url)
    assert_refused(visitor, *forge(visitor))


def test_a_contract_wallet_signs_in_with_the_key_of_no_other_and_by_two_nodes(place: Place) -> None:
    stranger, owner = Visitor(place.url), Visitor(place.url, place.owner.key)
    for visitor, chain in ((stranger, WITH_WALLET), (owner, TWO_MINDS)):
        message = visitor.message(chain, place.wallet)
        assert_refused(visitor, message, visitor.sign(message))


def test_a_contract_wallet_on_another_chain_is_told_which_chains_are_configured(
    place: Place,
) -> None:
    owner = Visitor(place.url, place.owner.key)
    message = owner.message(UNKNOWN, place.wallet)
    for signature in (owner.sign(message), f"0x{96 * '11'}"):
        answer = owner.show(message, signature).json()
        assert answer["code"] == "signature_refused"
        assert f"chain {UNKNOWN}, which the message names, is not configured" in answer["error"]
        assert all(f"({each})" in answer["error"] for each in (5, GONE_CHAIN, TWO_MINDS))


def test_a_form_of_another_site_is_refused(place: Place) -> None:
    visitor = Visitor(place.url)
    message = visitor.message()
    shown = {"message": message, "signature": visitor.sign(message)}
    answer = visitor.browser.post(f"{place.url}/sign-in", json=shown, timeout=30)
    assert answer.status_code == 403
    assert not visitor.is_signed_in
