"""Sign-ins that someone made up, each with the code it is to be refused with."""

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from accounts.models import SignInNonce
from accounts.siwe import VALID_FOR
from accounts.wallets import LONGEST_SIGNATURE, ORDER
from tests.accounts.signers import Signer


@dataclass(frozen=True)
class Shown:
    """What is posted to sign in."""

    message: str
    signature: str


Forger = Callable[[Signer], Shown]


def signed(change: Callable[[str], str]) -> Forger:
    """Our message changed, and signed by its rightful owner as it then is."""

    def forge(signer: Signer) -> Shown:
        message = change(signer.message())
        return Shown(message, signer.sign(message))

    return forge


def replaced(pattern: str, by: str) -> Forger:
    def change(message: str) -> str:
        changed = re.sub(pattern, by, message, count=1)
        assert changed != message
        return changed

    return signed(change)


def unsigned_change(pattern: str, by: str) -> Forger:
    """Our message signed as it was, and changed afterwards."""

    def forge(signer: Signer) -> Shown:
        message = signer.message()
        return Shown(re.sub(pattern, by, message, count=1), signer.sign(message))

    return forge


def resigned(change: Callable[[bytes], bytes | str]) -> Forger:
    """Our message, and its signature changed."""

    def forge(signer: Signer) -> Shown:
        message = signer.message()
        changed = change(bytes.fromhex(signer.sign(message)[2:]))
        return Shown(message, changed if isinstance(changed, str) else f"0x{changed.hex()}")

    return forge


def moved(hours: float, *labels: str) -> Forger:
    """Our message with times that are so much later, or earlier."""

    def change(message: str) -> str:
        for label in labels:
            held = re.search(f"{label}: (.*)", message)
            assert held
            later = datetime.fromisoformat(held[1]) + timedelta(hours=hours)
            message = message.replace(held[0], f"{label}: {later:%Y-%m-%dT%H:%M:%SZ}")
        return message

    return signed(change)


def high_s(signature: bytes) -> bytes:
    r, s, v = signature[:32], int.from_bytes(signature[32:64]), signature[64]
    return r + (ORDER - s).to_bytes(32) + bytes([55 - v])


def of_another_account(signer: Signer) -> Shown:
    message = signer.message()
    return Shown(message, Signer().sign(message))


def issued_to_another(signer: Signer) -> Shown:
    """A message that another account asked for in the same browser."""
    other = Signer(client=signer.client)
    message = other.message().replace(other.address, signer.address)
    return Shown(message, signer.sign(message))


def used_before(signer: Signer) -> Shown:
    message = signer.message()
    cookie = copy.copy(signer.client.cookies)
    shown = Shown(message, signer.sign(message))
    assert signer.show(shown.message, shown.signature).status_code == 200
    # The thief had the cookie of before the sign-in; with today's it is another browser's.
    signer.client.cookies = cookie
    return shown


def of_another_browser(signer: Signer) -> Shown:
    message = Signer(key=signer.key).message()
    return Shown(message, signer.sign(message))


def after_signing_in(signer: Signer) -> Shown:
    """Signing in makes the browser another one, so what was issued before is of no use to it."""
    message = signer.message()
    assert signer.sign_in().status_code == 200
    return Shown(message, signer.sign(message))


def too_late(signer: Signer) -> Shown:
    """Its own times were moved too, so that only what we remember tells that it is old."""
    message = signer.message()
    SignInNonce.objects.update(issued=datetime.now(UTC) - VALID_FOR - timedelta(seconds=1))
    return Shown(message, signer.sign(message))


def lower_case_address(message: str) -> str:
    held = re.search("0x[0-9a-fA-F]{40}", message)
    assert held
    return message.replace(held[0], held[0].lower())


def on_chain(chain_id: str, signature: bytes) -> Forger:
    """Of a contract wallet, as the chains below answer."""

    def forge(signer: Signer) -> Shown:
        return Shown(signer.message(chain_id), f"0x{signature.hex()}")

    return forge


MESSAGES: dict[str, Forger] = {
    "another domain": replaced("^testserver", "proofs.example.org"),
    "another port": replaced("^testserver", "testserver:3000"),
    "a longer domain": replaced("^testserver", "testserver.evil.example"),
    "user information before the domain": replaced("^", "evil@"),
    "a scheme before the domain": replaced("^", "https://"),
    "another URI": replaced("URI: http://testserver/sign-in", "URI: http://evil.example/"),
    "another page of ours": replaced("URI: (.*)/sign-in", r"URI: \1/dashboard"),
    "https instead of http": replaced("URI: http:", "URI: https:"),
    "a tampered statement": replaced("moves nothing", "moves everything"),
    "a statement changed after signing": unsigned_change("nothing", "little"),
    "no statement": replaced("\n\nSign in to.*\n", "\n\n"),
    "another account": issued_to_another,
    "an address changed after signing": unsigned_change(
        "0x[0-9a-fA-F]{40}", "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
    ),
    "a lower-case address": signed(lower_case_address),
    "another network": replaced("Chain ID: 1", "Chain ID: 10"),
    "network zero": replaced("Chain ID: 1", "Chain ID: 0"),
    "another version": replaced("Version: 1", "Version: 2"),
    "a nonce of nobody": replaced("Nonce: .*", "Nonce: abcdefgh12345678"),
    "a short nonce": replaced("Nonce: .*", "Nonce: abc"),
    "another browser's nonce": of_another_browser,
    "a nonce of before signing in": after_signing_in,
    "a used nonce": used_before,
    "a nonce that was not used in time": too_late,
    "an expired message": moved(-1, "Expiration Time"),
    "a message of an hour ago": moved(-1, "Issued At", "Expiration Time", "Not Before"),
    "a message that lasts longer": moved(24, "Expiration Time"),
    "a message that was issued earlier": moved(-1, "Issued At"),
    "a message that never expires": replaced("\nExpiration Time: .*", ""),
    "a message without a beginning": replaced("\nNot Before: .*", ""),
    "a message that is not valid yet": moved(1, "Not Before"),
    "a message of the future": moved(1, "Issued At"),
    "a message that is valid three minutes from now": moved(0.06, "Not Before"),
    "a message of three minutes from now": moved(0.06, "Issued At"),
    "a time that cannot be": replaced("Issued At: ....-..", "Issued At: 2026-13"),
    "a time in another zone": replaced("(Issued At: .*)Z", r"\1+00:00"),
    "resources": replaced("$", "\nResources:\n- https://evil.example/"),
    "a request id": replaced("$", "\nRequest ID: 7"),
    "lines that end as on Windows": replaced("\nURI", "\r\nURI"),
    "a line at the end": replaced("$", "\n"),
    "a second URI": replaced("\nVersion", "\nURI: http://evil.example\nVersion"),
    "fields in another order": replaced("(Version: 1)\n(Chain ID: 1)", r"\2\n\1"),
    "a chain id with a zero before it": replaced("Chain ID: 1", "Chain ID: 01"),
    "no message": lambda signer: Shown("", signer.sign("")),
    "letters that look alike": replaced("^t", "\N{CYRILLIC SMALL LETTER TE}"),
    "a NUL": replaced("moves", "mo\0ves"),
    "a lone surrogate": lambda _: Shown("\ud800", "0x" + 65 * "11"),
    "a message that is too long": replaced("$", 100 * "\n"),
    "a line that is too long": replaced("^", 100 * "x"),
}
SIGNATURES: dict[str, Forger] = {
    "another account's signature": of_another_account,
    "the signature of another message": lambda signer: Shown(
        signer.message(), signer.sign("another")
    ),
    "a signature without 0x": resigned(lambda held: held.hex()),
    "an odd signature": resigned(lambda held: "0x" + held.hex()[:-1]),
    "an empty signature": resigned(lambda _: "0x"),
    "a signature of other letters": resigned(lambda _: "0x" + 65 * "gg"),
    "a signature of zeros": resigned(lambda _: bytes(65)),
    "an r beyond the curve": resigned(lambda held: b"\xff" * 32 + held[32:]),
    "a recovery id that is none": resigned(lambda held: held[:64] + b"\x25"),
    "the signature's twin": resigned(high_s),
    "a signature that is too long": resigned(lambda _: bytes(LONGEST_SIGNATURE + 1)),
    "a compact signature of no contract": on_chain("5", bytes(64)),
    "a contract wallet that says no": on_chain("5", b"\1" * 65),
    "a contract wallet where there is none": on_chain("6", b"\1" * 65),
    "a long signature where no wallet is": on_chain("6", b"\1" * 96),
    "a contract wallet on a chain we cannot ask": on_chain("7", b"\1" * 96),
}
UNREACHABLE: dict[str, Forger] = {
    "a contract wallet whose node is gone": on_chain("8", b"\1" * 96),
    "a contract wallet whose nodes disagree": on_chain("9", b"\1" * 96),
}
# Each with the code it is refused with.
FORGED = {
    **{name: ("message_refused", forge) for name, forge in MESSAGES.items()},
    **{name: ("signature_refused", forge) for name, forge in SIGNATURES.items()},
    **{name: ("wallet_unreachable", forge) for name, forge in UNREACHABLE.items()},
}
