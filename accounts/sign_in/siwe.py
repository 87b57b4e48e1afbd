"""Sign-In with Ethereum (EIP-4361): issue a message, compare the signed one, spend its nonce.

The service writes the whole message, so a signed message must equal the issued one exactly.
"""

import hashlib
import re
import secrets
import string
import warnings
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.middleware.csrf import get_token
from django.utils import timezone

from accounts.http.errors import PageCode, RefusalError
from accounts.http.site_address import site_address
from accounts.models import SignInNonce
from accounts.sign_in.signatures import check_signature
from accounts.wallets import AskWallet, Wallet

STATEMENT = "Sign in to Tacitus and see your API keys. This costs nothing and moves nothing."
VALIDITY = timedelta(minutes=5)
PATH = "/sign-in"
JSON, TOKEN_HEADER = "application/json", "X-CSRFToken"
NONCE_LENGTH = 16  # of 62 letters and digits: 95 bits


@cache
def load_siwe() -> Any:
    """Import `siwe` on first use, because it loads slowly, without its dependencies' warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module("siwe")


def issue(request: HttpRequest, address: str, chain_id: int) -> str:
    """A message for this browser or program, account and network, good for one sign-in."""
    alphabet = string.ascii_letters + string.digits
    now = timezone.now().replace(microsecond=0)
    nonce = SignInNonce(
        nonce="".join(secrets.choice(alphabet) for _ in range(NONCE_LENGTH)),
        browser=browser_digest(request),
        address=address,
        chain_id=chain_id,
        issued_at=now,
    )
    text = str(_message(request_origin(request), nonce).prepare_message())
    SignInNonce.objects.filter(issued_at__lt=now - 2 * VALIDITY).delete()
    nonce.save(force_insert=True)
    return text


def expected_signer(request: HttpRequest, text: str) -> Wallet:
    """Return the wallet that has to sign this message."""
    nonce, _ = _issued_message(request, text)
    return Wallet(nonce.address, nonce.chain_id)


def verify(
    request: HttpRequest, text: str, signature: str, ask: AskWallet, before_call: Callable[[], None]
) -> tuple[Wallet, str]:
    """Return the wallet that signed this issued message, and the nonce to spend."""
    nonce, message = _issued_message(request, text)
    chain_id = check_signature(message, text, signature, ask, before_call)
    return Wallet(nonce.address, chain_id), nonce.nonce


def spend_nonce(request: HttpRequest, nonce: str) -> None:
    """Mark the nonce as used in one statement, so that concurrent sign-ins cannot share it."""
    now = timezone.now()
    unspent_nonces = SignInNonce.objects.filter(
        nonce=nonce, browser=browser_digest(request), spent_at=None, issued_at__gt=now - VALIDITY
    )
    if not unspent_nonces.update(spent_at=now):
        _usable_nonce(request, nonce)  # raises the specific refusal
        raise _message_refusal("This message was already used to sign in.")


def _message(site: str, nonce: SignInNonce) -> Any:
    issued_at, expires_at = (
        f"{moment:%Y-%m-%dT%H:%M:%SZ}" for moment in (nonce.issued_at, nonce.issued_at + VALIDITY)
    )
    return load_siwe().SiweMessage(
        domain=site.partition("://")[2],
        address=nonce.address,
        statement=STATEMENT,
        uri=site + PATH,
        version="1",
        chain_id=nonce.chain_id,
        nonce=nonce.nonce,
        issued_at=issued_at,
        expiration_time=expires_at,
        not_before=issued_at,
    )


def _issued_message(request: HttpRequest, text: str) -> tuple[SignInNonce, Any]:
    """The row of this message's nonce, and the message as it was issued."""
    site = request_origin(request)
    match = re.search(rf"^Nonce: ([A-Za-z0-9]{{{NONCE_LENGTH}}})$", text, re.MULTILINE)
    if match is None:
        raise _message_refusal("This server did not issue the message.")
    nonce = _usable_nonce(request, match[1])
    message = _message(site, nonce)
    if text != message.prepare_message():
        raise _message_refusal("The signed message does not match the one we issued.")
    return nonce, message


def _usable_nonce(request: HttpRequest, nonce: str) -> SignInNonce:
    row = SignInNonce.objects.filter(pk=nonce).first()
    if row is None:
        raise _message_refusal("This server did not issue the message.")
    if row.browser != browser_digest(request):
        raise _message_refusal(
            "This message was issued to another browser or program, or before this browser signed "
            "in or out."
        )
    if row.spent_at is not None:
        raise _message_refusal("This message was already used to sign in.")
    if row.issued_at <= timezone.now() - VALIDITY:
        raise _message_refusal("This message has expired.")
    return row


def _message_refusal(sentence: str) -> RefusalError:
    return RefusalError(PageCode.MESSAGE_REFUSED, f"{sentence} Sign in again.", path="message")


def is_program(request: HttpRequest) -> bool:
    """Whether the request is JSON with neither our cookies nor a CSRF token.

    CORS is not allowed here, so no page of another origin can send it.
    """
    if {settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME} & request.COOKIES.keys():
        return False
    return request.content_type == JSON and TOKEN_HEADER not in request.headers


def browser_digest(request: HttpRequest) -> str:
    """Identify the browser by the secret in its CSRF cookie, which signing in and out renews.

    Empty for a program. Not by a session, which would store a row for each visitor.
    """
    if is_program(request):
        return ""
    get_token(request)  # sets the cookie if there is none
    return hashlib.sha256(str(request.META["CSRF_COOKIE"]).encode()).hexdigest()


def request_origin(request: HttpRequest) -> str:
    """The request's origin, if the operator allows it; the wallet and the message show it.

    It includes the port, because another program on this host may serve a page there.
    """
    site = f"{request.scheme}://{request.get_host()}"
    is_own_port = str(urlsplit(site).port or 80) == request.META.get("SERVER_PORT")
    if site in settings.SIGN_IN_ORIGINS or (settings.DEVELOPMENT and is_own_port):
        return site
    raise RefusalError(
        PageCode.WRONG_ORIGIN,
        f"Sign-in does not work at {site}. Open {site_address(request)}/sign-in.",
    )
