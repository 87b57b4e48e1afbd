"""The demo's wallet, which a script shows to the sign-in page like any other.

It signs nothing but the message that this very browser was just given to sign in, and only for
this machine.
"""

import json
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from eth_utils.address import to_checksum_address

from accounts import siwe
from accounts.errors import NOT_ALLOWED, REQUEST_MALFORMED, UNAVAILABLE, Refusal, answer_of
from explorer.metrics import comes_from_this_machine
from explorer.wiring import DemoWalletGone, demo_wallet

LONGEST_MESSAGE = 10_000  # characters


@require_safe
@never_cache
def account(request: HttpRequest) -> HttpResponse:
    def shown() -> dict[str, object]:
        with demo_wallet() as wallet:
            return {"address": to_checksum_address(wallet.payer), "chainId": hex(wallet.chain_id)}

    return _answer(request, shown)


@require_POST
@never_cache
def sign(request: HttpRequest) -> HttpResponse:
    def signed() -> dict[str, object]:
        text = _message(request)
        asked = siwe.check_issued(request, text)
        with demo_wallet() as wallet:
            if asked.address != to_checksum_address(wallet.payer):
                raise Refusal(REQUEST_MALFORMED, "The demo wallet signs only for its own account.")
            return {"signature": wallet.sign_text(text)}

    return _answer(request, signed)


def _answer(request: HttpRequest, made: Callable[[], dict[str, object]]) -> HttpResponse:
    # `serve` listens at no other address then; this holds for any server.
    if not comes_from_this_machine(request):
        elsewhere = "The demo wallet is for the machine that the demo runs on."
        return answer_of(Refusal(NOT_ALLOWED, elsewhere))
    try:
        return JsonResponse(made())
    except DemoWalletGone:
        gone = "The chain that the demo wallet signs with does not answer. Start the demo again."
        return answer_of(Refusal(UNAVAILABLE, gone))
    except Refusal as refusal:
        return answer_of(refusal)


def _message(request: HttpRequest) -> str:
    try:
        content = json.loads(request.body)
        text = content["message"]
    except (ValueError, KeyError, TypeError, RecursionError):
        text = None
    if not isinstance(text, str) or len(text) > LONGEST_MESSAGE:
        raise Refusal(
            REQUEST_MALFORMED, "The request needs a string named message.", path="message"
        )
    return text
