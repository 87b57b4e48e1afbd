"""Sign-In with Ethereum: a message is issued, signed, checked, and its nonce used up."""

import hashlib
import secrets
import string
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.middleware.csrf import get_token
from django.utils import timezone

from accounts import sign_in_refusals as refusals
from accounts.contract_wallets import AskWallet
from accounts.models import SignInNonce
from accounts.sign_in_message import (
    VALID_FOR,
    SignInMessage,
    compare_places,
    compare_times,
    compare_with_issued,
    read_message,
)
from accounts.site_address import site_address
from accounts.wallet_signatures import check_signature, signature_bytes
from accounts.wallets import Wallet

NONCE_LENGTH = 16  # of 62 letters and digits: 95 bits


@dataclass(frozen=True, slots=True)
class SignedIn:
    """What a valid signature says."""

    wallet: Wallet
    nonce: str


def issue(request: HttpRequest, address: str, chain_id: int) -> SignInMessage:
    """A message for this browser, account and network, good for one sign-in."""
    message = SignInMessage(
        origin=origin(request),
        address=address,
        chain_id=chain_id,
        nonce="".join(
            secrets.choice(string.ascii_letters + string.digits) for _ in range(NONCE_LENGTH)
        ),
        issued=timezone.now().replace(microsecond=0),
    )
    SignInNonce.objects.filter(issued__lt=message.issued - 2 * VALID_FOR).delete()
    SignInNonce.objects.create(
        nonce=message.nonce,
        browser=browser_digest(request),
        address=address,
        chain_id=chain_id,
        issued=message.issued,
    )
    return message


def check_issued(request: HttpRequest, text: str) -> Wallet:
    """Whose signature the text waits for; it is the very message that this browser was given."""
    _, held = _issued(request, text)
    return Wallet(held.address, held.chain_id)


def verify(
    request: HttpRequest, text: str, signature: str, ask: AskWallet, before: Callable[[], None]
) -> SignedIn:
    """Whose wallet signed `text`, which is one of ours; its nonce is still to be spent."""
    message, held = _issued(request, text)
    chain_id = check_signature(message, text, signature_bytes(signature), ask, before)
    return SignedIn(Wallet(held.address, chain_id), held.nonce)


def _issued(request: HttpRequest, text: str) -> tuple[SignInMessage, SignInNonce]:
    """What the text says, and what is kept of it; refused where it is not one of ours, unused."""
    now = timezone.now()
    place = origin(request)
    message = read_message(text, place)
    compare_places(message, place)
    compare_times(message, now)
    held = _held(message.nonce, browser_digest(request), now)
    issued = SignInMessage(place, held.address, held.chain_id, held.nonce, held.issued)
    compare_with_issued(message, text, issued)
    return message, held


def spend_nonce(request: HttpRequest, nonce: str) -> None:
    """One statement, so that of two sign-ins with one nonce the second finds it used."""
    now = timezone.now()
    spent = SignInNonce.objects.filter(
        nonce=nonce,
        browser=browser_digest(request),
        spent=None,
        issued__gt=now - VALID_FOR,
    ).update(spent=now)
    if not spent:
        _held(nonce, browser_digest(request), now)
        raise _used()


def _held(nonce: str, browser: str, now: datetime) -> SignInNonce:
    held = SignInNonce.objects.filter(pk=nonce).first()
    if held is None:
        raise refusals.NonceUnknown("We did not issue this message. Sign in again.", path="message")
    if held.browser != browser:
        raise refusals.NonceOfAnother(
            "This message was issued to another browser, or before it signed in or out. "
            "Sign in again.",
            path="message",
        )
    if held.spent is not None:
        raise _used()
    if held.issued <= now - VALID_FOR:
        raise refusals.NonceExpired("This message was not used in time. Sign in again.")
    return held


def _used() -> refusals.NonceUsed:
    return refusals.NonceUsed("Someone has signed in with this message already. Sign in again.")


def browser_digest(request: HttpRequest) -> str:
    """The browser's own session: the secret in its CSRF cookie, which signing in and out renews.

    A visitor's browser carries that anyway, and a session of its own would be a row for everyone
    who looks at the page.
    """
    get_token(request)  # makes the cookie where there is none
    return hashlib.sha256(str(request.META["CSRF_COOKIE"]).encode()).hexdigest()


def origin(request: HttpRequest) -> str:
    """Where the browser is, if the operator says so: what the wallet shows and the message names.

    With the port, because on one machine another program's page may be at the next one and have
    its visitors sign for ours.
    """
    place = f"{request.scheme}://{request.get_host()}"
    own_port = str(urlsplit(place).port or 80) == request.META.get("SERVER_PORT")
    if place in settings.SIGN_IN_ORIGINS or (settings.DEVELOPMENT and own_port):
        return place
    raise refusals.WrongPlace(f"Nobody signs in at {place}. Open {site_address(request)}/sign-in.")
