"""Sign-In with Ethereum (EIP-4361): a message is issued, signed, compared and spent.

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
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.middleware.csrf import get_token
from django.utils import timezone

from accounts.models import SignInNonce
from accounts.shared.errors import MESSAGE_REFUSED, WRONG_PLACE, Refusal
from accounts.shared.site_address import site_address
from accounts.sign_in.wallets import AskWallet, Wallet, check_signature

STATEMENT = "Sign in to Tacitus and see your API keys. This costs nothing and moves nothing."
VALID_FOR = timedelta(minutes=5)
PATH = "/sign-in"
JSON, TOKEN = "application/json", "X-CSRFToken"
NONCE_LENGTH = 16  # of 62 letters and digits: 95 bits


@cache
def siwe() -> Any:
    """The `siwe` package, loaded when it is first used: of all commands only `serve` needs it, and
    it takes long. Its own dependencies warn at import, which an operator cannot change.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import siwe as package  # noqa: PLC0415  (see above)
    return package


def issue(request: HttpRequest, address: str, chain_id: int) -> str:
    """A message for this browser or program, account and network, good for one sign-in."""
    letters = string.ascii_letters + string.digits
    issued = timezone.now().replace(microsecond=0)
    held = SignInNonce(
        nonce="".join(secrets.choice(letters) for _ in range(NONCE_LENGTH)),
        browser=browser_digest(request),
        address=address,
        chain_id=chain_id,
        issued=issued,
    )
    text = str(_message(origin(request), held).prepare_message())
    SignInNonce.objects.filter(issued__lt=issued - 2 * VALID_FOR).delete()
    held.save(force_insert=True)
    return text


def check_issued(request: HttpRequest, text: str) -> Wallet:
    """The wallet whose signature this message waits for."""
    held, _ = _issued(request, text)
    return Wallet(held.address, held.chain_id)


def verify(
    request: HttpRequest, text: str, signature: str, ask: AskWallet, before: Callable[[], None]
) -> tuple[Wallet, str]:
    """Whose wallet signed `text`, a message of ours, and its nonce, which is still to be spent."""
    held, message = _issued(request, text)
    chain_id = check_signature(message, text, signature, ask, before)
    return Wallet(held.address, chain_id), held.nonce


def spend_nonce(request: HttpRequest, nonce: str) -> None:
    """One statement, so that of two sign-ins with one nonce the second finds it used."""
    now = timezone.now()
    unspent = SignInNonce.objects.filter(
        nonce=nonce, browser=browser_digest(request), spent=None, issued__gt=now - VALID_FOR
    )
    if not unspent.update(spent=now):
        _held(request, nonce)
        raise _refused("This message was already used to sign in.")


def _message(place: str, held: SignInNonce) -> Any:
    issued, expires = (
        f"{moment:%Y-%m-%dT%H:%M:%SZ}" for moment in (held.issued, held.issued + VALID_FOR)
    )
    return siwe().SiweMessage(
        domain=place.partition("://")[2],
        address=held.address,
        statement=STATEMENT,
        uri=place + PATH,
        version="1",
        chain_id=held.chain_id,
        nonce=held.nonce,
        issued_at=issued,
        expiration_time=expires,
        not_before=issued,
    )


def _issued(request: HttpRequest, text: str) -> tuple[SignInNonce, Any]:
    """The row of this message's nonce, and the message as we issued it."""
    place = origin(request)
    nonce = re.search(rf"^Nonce: ([A-Za-z0-9]{{{NONCE_LENGTH}}})$", text, re.MULTILINE)
    if nonce is None:
        raise _refused("The message is none of ours.")
    held = _held(request, nonce[1])
    message = _message(place, held)
    if text != message.prepare_message():
        raise _refused("The message differs from the one that we issued.")
    return held, message


def _held(request: HttpRequest, nonce: str) -> SignInNonce:
    held = SignInNonce.objects.filter(pk=nonce).first()
    if held is None:
        raise _refused("We did not issue this message.")
    if held.browser != browser_digest(request):
        raise _refused(
            "This message was issued to another browser or program, or before this browser signed "
            "in or out."
        )
    if held.spent is not None:
        raise _refused("Someone has signed in with this message already.")
    if held.issued <= timezone.now() - VALID_FOR:
        raise _refused("This message has expired.")
    return held


def _refused(sentence: str) -> Refusal:
    return Refusal(MESSAGE_REFUSED, f"{sentence} Sign in again.", path="message")


COOKIES = {settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME}


def is_program(request: HttpRequest) -> bool:
    """Whether the request is JSON without a cookie or a CSRF token of ours. A page of another
    origin cannot send it, because CORS is not allowed here; and the answer signs no browser in.
    """
    has_cookie = not COOKIES.isdisjoint(request.COOKIES)
    return request.content_type == JSON and not has_cookie and TOKEN not in request.headers


def browser_digest(request: HttpRequest) -> str:
    """The browser's own session: the secret in its CSRF cookie, which signing in and out renews.

    The cookie is there anyway, and a session instead would store a row for every visitor
    of the page. Empty for a program, so that neither can use a message of the other.
    """
    if is_program(request):
        return ""
    get_token(request)  # makes the cookie where there is none
    return hashlib.sha256(str(request.META["CSRF_COOKIE"]).encode()).hexdigest()


def origin(request: HttpRequest) -> str:
    """The request's origin, if the operator allows it; the wallet and the message show it.

    It includes the port: a page on another port of this host could otherwise have its visitors
    sign messages that we accept.
    """
    place = f"{request.scheme}://{request.get_host()}"
    own_port = str(urlsplit(place).port or 80) == request.META.get("SERVER_PORT")
    if place in settings.SIGN_IN_ORIGINS or (settings.DEVELOPMENT and own_port):
        return place
    raise Refusal(
        WRONG_PLACE, f"Sign-in does not work at {place}. Open {site_address(request)}/sign-in."
    )
